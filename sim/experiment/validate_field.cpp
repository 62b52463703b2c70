// SPDX-License-Identifier: Apache-2.0
// Which rows: numbers that users of real clusters reported in public, for which a shipped scenario, or a collective on a shipped cluster, can be
// written down. A row names it, the keys it changes, and the metric; with columns `per_*` the metric is a ratio to that of a second run, for
// reports whose hardware or software is known in part only. What a report leaves out is assumed where the scenario or the remark says so.
// A row with `expect` (above X, below X, X to Y) is a sign test: an inequality that must hold, and no number to be met.
#include <fmt/core.h>

#include <algorithm>

#include "base/csv.h"
#include "base/quantity.h"
#include "sim/experiment/expectation.h"
#include "sim/experiment/reported_run.h"
#include "sim/experiment/validation_suites.h"

namespace lockstep {
namespace {

constexpr const char* kRule =
    "reports of users of real clusters that a shipped scenario or cluster describes; ratios where hardware or software is "
    "known in "
    "part";

constexpr const char* kColumns[] = {
    "case", "grade", "source", "what",         "metric",      "measured",       "expect",   "scenario", "cluster", "collective",
    "gpus", "size",  "set",    "per_scenario", "per_cluster", "per_collective", "per_gpus", "per_set",  "remark"};

void add_row(const CsvReader& reader, const ConfigLibrary& library, Diagnostics& diagnostics, SuiteResult& result) {
  ReportedRun row(reader, library, diagnostics);
  const std::string_view expect = row.cell("expect");
  const std::optional<Expectation> expectation = parse_expectation(expect);
  const Parsed<double> measured = parse_double(row.cell("measured"));
  if (!expect.empty() && !expectation) return row.fail("expect", kExpectationForm);
  if (expect.empty() && (!measured || *measured.value <= 0)) return row.fail("measured", "a positive number is expected");
  const std::optional<double> predicted = row.predict();
  if (!predicted) return;
  const std::string what = fmt::format("case {}: {}", row.cell("case"), row.cell("what"));
  const std::string metric = row.metric();
  if (expectation) {
    result.signs.push_back({.source = std::string(row.cell("source")),
                            .row = reader.line(),
                            .what = what,
                            .metric = metric,
                            .expected = std::string(expect),
                            .predicted = *predicted,
                            .holds = expectation->holds(*predicted),
                            .measured = std::string(row.cell("measured")),
                            .remark = std::string(row.cell("remark"))});
    return;
  }
  result.predictions.push_back({.source = std::string(row.cell("source")),
                                .row = reader.line(),
                                .what = what,
                                .metric = metric,
                                .measured = *measured.value,
                                .predicted = *predicted,
                                .remark = std::string(row.cell("remark"))});
}

}  // namespace

SuiteResult run_field_suite(std::istream& csv, const std::string& file, const ConfigLibrary& library,
                            Diagnostics& diagnostics) {
  SuiteResult result{.suite = "field", .rule = kRule};
  CsvReader reader(csv, file, diagnostics);
  for (const char* column : kColumns) {
    if (reader.column(column) == CsvReader::npos) {
      diagnostics.error({file, 1, 1}, {}, fmt::format("the column '{}' is missing", column));
    }
  }
  if (diagnostics.has_errors()) return result;
  while (reader.next()) add_row(reader, library, diagnostics, result);
  if (!result.signs.empty()) {
    const auto held = std::count_if(result.signs.begin(), result.signs.end(), [](const SignTest& s) { return s.holds; });
    result.limits.push_back(
        {"sign tests that hold", 1, static_cast<double>(held) / static_cast<double>(result.signs.size()), true});
  }
  return result;
}

}  // namespace lockstep
