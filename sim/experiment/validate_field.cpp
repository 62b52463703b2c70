// SPDX-License-Identifier: Apache-2.0
// Which rows: numbers that users of real clusters reported in public, for which a shipped scenario, or a collective on a shipped cluster, can be
// written down. A row names it, the keys it changes, and the metric; with columns `per_*` the metric is a ratio to that of a second run, for
// reports whose hardware or software is known in part only. What a report leaves out is assumed where the scenario or the remark says so.
// A row with `expect` (above X, below X, X to Y) is a sign test: an inequality that must hold, and no number to be met.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/csv.h"
#include "base/field_table.h"
#include "sim/experiment/collective.h"
#include "sim/experiment/job_run.h"
#include "sim/experiment/scenario.h"
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

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    std::string_view part = text.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) out.emplace_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::optional<double> metric_of(const RunResult& r, std::string_view metric) {
  const auto gpus = static_cast<double>(r.gpus);
  if (metric == "step_time_s") return r.step_time_s;
  if (metric == "samples_per_s") return r.samples_per_s;
  if (metric == "tokens_per_s_per_gpu" && r.tokens_per_s) return *r.tokens_per_s / gpus;
  if (metric == "hardware_tflops_per_gpu" && r.hfu) return *r.hfu * r.peak_tflops;
  return std::nullopt;
}

std::optional<double> metric_of(const CollectiveRow& r, std::string_view metric) {
  if (metric == "busbw_gb_per_s") return r.busbw_gb_per_s;
  if (metric == "algbw_gb_per_s") return r.algbw_gb_per_s;
  if (metric == "time_us") return r.time_s * 1e6;
  return std::nullopt;
}

// "above 1.5", "below 0.7", "0.9 to 1.1".
struct Expectation {
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  [[nodiscard]] bool holds(double value) const { return value >= least && value <= most; }
};

std::optional<Expectation> parse_expectation(std::string_view text) {
  const auto number = [](std::string_view digits) -> std::optional<double> { return parse_double(digits).value; };
  const auto after = [&](std::string_view word) {
    return text.starts_with(word) ? number(text.substr(word.size())) : std::nullopt;
  };
  if (const auto least = after("above ")) return Expectation{.least = *least};
  if (const auto most = after("below ")) return Expectation{.most = *most};
  const std::size_t to = text.find(" to ");
  if (to == std::string_view::npos) return {};
  const auto least = number(text.substr(0, to));
  const auto most = number(text.substr(to + 4));
  return least && most && *least <= *most ? std::optional(Expectation{*least, *most}) : std::nullopt;
}

// The columns that say what runs. Of the second run, what is blank is that of the first, but its assignments are its own.
struct RunColumns {
  const char* scenario;
  const char* cluster;
  const char* collective;
  const char* gpus;
  const char* set;
};
constexpr RunColumns kFirst = {"scenario", "cluster", "collective", "gpus", "set"};
constexpr RunColumns kSecond = {"per_scenario", "per_cluster", "per_collective", "per_gpus", "per_set"};

class Predictor {
 public:
  Predictor(const CsvReader& row, const ConfigLibrary& library, Diagnostics& diagnostics)
      : row_(row), library_(library), diagnostics_(diagnostics) {}

  [[nodiscard]] std::string_view cell(std::string_view column) const { return row_[row_.column(column)]; }

  [[nodiscard]] bool is_ratio() const {
    for (const char* c : {kSecond.scenario, kSecond.cluster, kSecond.collective, kSecond.gpus, kSecond.set}) {
      if (!cell(c).empty()) return true;
    }
    return false;
  }

  // Nothing when the row is wrong; the diagnostics say why.
  std::optional<double> predict() {
    const std::optional<double> value = run(kFirst);
    if (!value || !is_ratio()) return value;
    RunColumns second = kSecond;
    if (cell(second.scenario).empty()) second.scenario = kFirst.scenario;
    if (cell(second.cluster).empty()) second.cluster = kFirst.cluster;
    if (cell(second.collective).empty()) second.collective = kFirst.collective;
    if (cell(second.gpus).empty()) second.gpus = kFirst.gpus;
    const std::optional<double> base = run(second);
    return base ? std::optional(*value / *base) : std::nullopt;
  }

  void fail(std::string_view column, std::string message) {
    diagnostics_.error(row_.position(row_.column(column)), std::string(column), std::move(message));
  }

 private:
  std::optional<double> run(const RunColumns& c) {
    const std::optional<double> value = cell(c.scenario).empty() ? collective(c) : job(c);
    if (!value && !diagnostics_.has_errors()) fail("metric", fmt::format("'{}' is no number of such a run", cell("metric")));
    return value;
  }

  std::optional<double> job(const RunColumns& c) {
    ReadContext context(diagnostics_, &library_);
    const std::string name(cell(c.scenario));
    const std::optional<Scenario> scenario = load_scenario({.file = name, .assignments = split(cell(c.set), ';')}, context);
    if (!scenario) return std::nullopt;
    if (!scenario->jobs.empty()) {
      fail(c.scenario, fmt::format("'{}' runs several jobs, and a row is about one", name));
      return std::nullopt;
    }
    return metric_of(run_job(scenario->spec.cluster, scenario->plan, {.compares_with_ideal = false}), cell("metric"));
  }

  // "all_reduce ring", on the first GPUs of a cluster.
  std::optional<double> collective(const RunColumns& c) {
    const std::optional<ClusterSpec> spec = cluster(c);
    const Parsed<std::int64_t> gpus = parse_int(cell(c.gpus));
    const Parsed<Bytes> size = parse_bytes(cell("size"));
    if (!gpus || *gpus.value < 2) fail(c.gpus, "the number of GPUs of a collective is expected");
    if (!size) fail("size", size.error);
    CollectiveRequest request;
    read_collective(c.collective, request);
    if (!spec || diagnostics_.has_errors()) return std::nullopt;
    const PreparedCluster prepared(*spec, 0);
    if (static_cast<std::size_t>(*gpus.value) > prepared.network.endpoint_count()) {
      fail(c.gpus, fmt::format("{} GPUs, but the cluster has {}", *gpus.value, prepared.network.endpoint_count()));
      return std::nullopt;
    }
    request.sizes = {size.value->count()};
    for (std::uint32_t i = 0; i < *gpus.value; ++i) request.members.push_back(EndpointId(i));
    return metric_of(run_collective(request, prepared.router, prepared.tunings, NetworkKind::kFlow).front(), cell("metric"));
  }

  void read_collective(const char* column, CollectiveRequest& request) {
    for (const CollectiveKind kind : kCollectiveKinds) {
      for (const Algorithm a : kAlgorithms) {
        if (!applies(a, kind) || cell(column) != fmt::format("{} {}", to_text(kind), to_text(a))) continue;
        request.kind = kind;
        request.algorithm = a;
        return;
      }
      if (cell(column) == fmt::format("{} auto", to_text(kind))) {
        request.kind = kind;
        return;
      }
    }
    fail(column, fmt::format("'{}' is no collective and its algorithm, like all_reduce ring or all_gather auto", cell(column)));
  }

  std::optional<ClusterSpec> cluster(const RunColumns& c) {
    std::optional<Document> document =
        library_.open("cluster", std::string(cell(c.cluster)), row_.position(row_.column(c.cluster)), {}, diagnostics_);
    if (!document) return std::nullopt;
    for (const std::string& assignment : split(cell(c.set), ';')) document->set(assignment, diagnostics_);
    ReadContext context(diagnostics_, &library_);
    ClusterSpec spec;
    if (!cluster_fields().read_document(*document, spec, context)) return std::nullopt;
    return spec;
  }

  const CsvReader& row_;
  const ConfigLibrary& library_;
  Diagnostics& diagnostics_;
};

void add_row(const CsvReader& reader, const ConfigLibrary& library, Diagnostics& diagnostics, SuiteResult& result) {
  Predictor row(reader, library, diagnostics);
  const std::string_view expect = row.cell("expect");
  const std::optional<Expectation> expectation = parse_expectation(expect);
  const Parsed<double> measured = parse_double(row.cell("measured"));
  if (!expect.empty() && !expectation) return row.fail("expect", "above X, below X or X to Y is expected");
  if (expect.empty() && (!measured || *measured.value <= 0)) return row.fail("measured", "a positive number is expected");
  const std::optional<double> predicted = row.predict();
  if (!predicted) return;
  const std::string what = fmt::format("case {}: {}", row.cell("case"), row.cell("what"));
  const std::string metric = fmt::format("{}{}", row.is_ratio() ? "ratio of " : "", row.cell("metric"));
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
