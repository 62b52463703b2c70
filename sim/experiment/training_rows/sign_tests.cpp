// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/training_rows/sign_tests.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>

#include "base/quantity.h"
#include "sim/experiment/reported_run.h"

namespace lockstep {
namespace {

constexpr const char* kColumns[] = {"what",   "source",   "row", "per_row",      "metric",  "measured",
                                    "expect", "scenario", "set", "per_scenario", "per_set", "remark"};
constexpr std::string_view kRowMetric = "step_time_s";

// Experts, LoRA and ZeRO-3 are sources of their own beside the rest of a table: "TABLE MoE".
const Prediction* find(const SuiteResult& result, const std::string& table, int line) {
  for (const Prediction& p : result.predictions) {
    if (p.row == line && (p.source == table || p.source.starts_with(table + " "))) return &p;
  }
  return nullptr;
}

}  // namespace

std::optional<TrainingSigns::Row> TrainingSigns::parse_row(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  const Parsed<std::int64_t> line = parse_int(text.substr(colon + 1));
  if (!line || *line.value < 2 || *line.value > 1'000'000'000) return {};
  return Row{std::string(text.substr(0, colon)), static_cast<int>(*line.value)};
}

TrainingSigns::TrainingSigns(const ConfigLibrary& library, Diagnostics& d) {
  for (const std::string& root : library.roots()) {
    const std::string file = fmt::format("{}/validation/{}.csv", root, kTrainingSigns);
    std::ifstream csv(file, std::ios::binary);
    if (!csv) continue;
    read(csv, file, library, d);
    return;
  }
  d.error({fmt::format("{}.csv", kTrainingSigns), 0, 0}, {}, "the shipped sign tests of training were not found");
}

TrainingSigns::TrainingSigns(std::istream& csv, const std::string& file, const ConfigLibrary& library, Diagnostics& d) {
  read(csv, file, library, d);
}

void TrainingSigns::read(std::istream& csv, const std::string& file, const ConfigLibrary& library, Diagnostics& d) {
  CsvReader reader(csv, file, d);
  for (const char* column : kColumns) {
    if (reader.column(column) == CsvReader::npos) d.error({file, 1, 1}, {}, fmt::format("the column '{}' is missing", column));
  }
  while (!d.has_errors() && reader.next()) {
    ReportedRun run(reader, library, d);
    const std::string_view row = run.cell("row");
    const std::string_view expect = run.cell("expect");
    const std::optional<Expectation> expectation = parse_expectation(expect);
    if (!expectation) return run.fail("expect", kExpectationForm);
    Line line{.test = {.source = kTrainingSigns,
                       .row = reader.line(),
                       .what = {},
                       .metric = run.metric(),
                       .expected = std::string(expect),
                       .measured = std::string(run.cell("measured")),
                       .remark = std::string(run.cell("remark"))},
              .expectation = *expectation,
              .row = {},
              .per_row = {}};
    std::string from(run.cell("source"));
    if (row.empty()) {
      if (run.cell("scenario").empty()) return run.fail("row", "a row TABLE:LINE or a scenario is expected");
      const std::optional<double> predicted = run.predict();
      if (!predicted) return;
      line.test.predicted = *predicted;
      line.test.holds = expectation->holds(*predicted);
    } else {
      line.row = parse_row(row);
      const std::optional<Row> per_row = parse_row(run.cell("per_row"));
      if (!line.row) return run.fail("row", "TABLE:LINE is expected, like bloom-bigscience:37");
      if (!per_row) return run.fail("per_row", "TABLE:LINE is expected, like bloom-bigscience:35");
      if (run.cell("metric") != kRowMetric) return run.fail("metric", fmt::format("rows have {}", kRowMetric));
      line.per_row = *per_row;
      line.test.metric = fmt::format("ratio of {}", kRowMetric);
      from = fmt::format("{} / {}", row, run.cell("per_row"));
    }
    line.test.what = fmt::format("{} ({})", run.cell("what"), from);
    lines_.push_back(std::move(line));
  }
}

bool TrainingSigns::names(std::string_view table, int line) const {
  return std::any_of(lines_.begin(), lines_.end(), [&](const Line& l) {
    const auto is = [&](const Row& r) { return r.table == table && r.line == line; };
    return l.row && (is(*l.row) || is(l.per_row));
  });
}

void TrainingSigns::add_to(SuiteResult& result) const {
  std::size_t held = 0;
  for (const Line& line : lines_) {
    SignTest test = line.test;
    if (line.row) {
      const Prediction* row = find(result, line.row->table, line.row->line);
      const Prediction* per_row = find(result, line.per_row.table, line.per_row.line);
      if (row != nullptr && per_row != nullptr) {
        test.measured = fmt::format("{:.3g}", row->measured / per_row->measured);
        test.predicted = row->predicted / per_row->predicted;
        test.holds = line.expectation.holds(test.predicted);
      } else {
        test.remark = fmt::format("{} is not predicted", row == nullptr ? "the first row" : "the second row");
      }
    }
    held += test.holds ? 1U : 0U;
    result.signs.push_back(std::move(test));
  }
  if (lines_.empty()) return;
  result.limits.push_back({"sign tests that hold", 1, static_cast<double>(held) / static_cast<double>(lines_.size()), true});
}

}  // namespace lockstep
