// SPDX-License-Identifier: Apache-2.0
// Which rows: numbers that users of real clusters reported in public, for which a shipped scenario, or a collective on a shipped cluster, can be
// written down. A row names it, the keys it changes, and the metric; with `per` keys the metric is a ratio to that of a second run (or to a
// second scenario), for reports whose hardware or software is known in part only. What a report leaves out is assumed where the scenario says so.
#include <fmt/core.h>

#include <map>

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

constexpr const char* kColumns[] = {"case",       "source", "what", "metric", "measured",     "scenario", "cluster",
                                    "collective", "gpus",   "size", "set",    "per_scenario", "per_set",  "remark"};

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
  return std::nullopt;
}

class Predictor {
 public:
  Predictor(const CsvReader& row, const ConfigLibrary& library, Diagnostics& diagnostics)
      : row_(row), library_(library), diagnostics_(diagnostics) {}

  [[nodiscard]] std::string_view cell(std::string_view column) const { return row_[row_.column(column)]; }

  [[nodiscard]] bool is_ratio() const { return !cell("per_set").empty() || !cell("per_scenario").empty(); }

  // Nothing when the row is wrong; the diagnostics say why.
  std::optional<double> predict() {
    const std::optional<double> value = run(cell("scenario"), cell("set"));
    if (!value || !is_ratio()) return value;
    const std::string_view per_scenario = cell("per_scenario");
    const std::optional<double> base = run(per_scenario.empty() ? cell("scenario") : per_scenario, cell("per_set"));
    return base ? std::optional(*value / *base) : std::nullopt;
  }

 private:
  std::optional<double> run(std::string_view scenario, std::string_view set) {
    const std::optional<double> value = scenario.empty() ? collective(set) : job(scenario, set);
    if (!value && !diagnostics_.has_errors()) fail("metric", fmt::format("'{}' is no number of such a run", cell("metric")));
    return value;
  }

  std::optional<double> job(std::string_view name, std::string_view set) {
    ReadContext context(diagnostics_, &library_);
    const std::optional<Scenario> scenario =
        load_scenario({.file = std::string(name), .assignments = split(set, ';')}, context);
    if (!scenario) return std::nullopt;
    if (!scenario->jobs.empty()) {
      fail("scenario", fmt::format("'{}' runs several jobs, and a row is about one", name));
      return std::nullopt;
    }
    return metric_of(run_job(scenario->spec.cluster, scenario->plan, {.compares_with_ideal = false}), cell("metric"));
  }

  // "all_reduce ring", on the first GPUs of a cluster.
  std::optional<double> collective(std::string_view set) {
    const std::optional<ClusterSpec> spec = cluster(set);
    const Parsed<std::int64_t> gpus = parse_int(cell("gpus"));
    const Parsed<Bytes> size = parse_bytes(cell("size"));
    if (!gpus || *gpus.value < 2) fail("gpus", "the number of GPUs of a collective is expected");
    if (!size) fail("size", size.error);
    const std::optional<Algorithm> algorithm = all_reduce_algorithm();
    if (!spec || diagnostics_.has_errors()) return std::nullopt;
    const PreparedCluster prepared(*spec, 0);
    if (static_cast<std::size_t>(*gpus.value) > prepared.network.endpoint_count()) {
      fail("gpus", fmt::format("{} GPUs, but the cluster has {}", *gpus.value, prepared.network.endpoint_count()));
      return std::nullopt;
    }
    CollectiveRequest request{.kind = CollectiveKind::kAllReduce, .sizes = {size.value->count()}, .algorithm = *algorithm};
    for (std::uint32_t i = 0; i < *gpus.value; ++i) request.members.push_back(EndpointId(i));
    return metric_of(run_collective(request, prepared.router, prepared.tunings, NetworkKind::kFlow).front(), cell("metric"));
  }

  std::optional<Algorithm> all_reduce_algorithm() {
    for (const Algorithm a : kAlgorithms) {
      if (applies(a, CollectiveKind::kAllReduce) && cell("collective") == fmt::format("all_reduce {}", to_text(a))) return a;
    }
    fail("collective", fmt::format("'{}' is no all_reduce and its algorithm, like all_reduce ring", cell("collective")));
    return std::nullopt;
  }

  std::optional<ClusterSpec> cluster(std::string_view set) {
    std::optional<Document> document =
        library_.open("cluster", std::string(cell("cluster")), row_.position(row_.column("cluster")), {}, diagnostics_);
    if (!document) return std::nullopt;
    for (const std::string& assignment : split(set, ';')) document->set(assignment, diagnostics_);
    ReadContext context(diagnostics_, &library_);
    ClusterSpec spec;
    if (!cluster_fields().read_document(*document, spec, context)) return std::nullopt;
    return spec;
  }

  void fail(std::string_view column, std::string message) {
    diagnostics_.error(row_.position(row_.column(column)), std::string(column), std::move(message));
  }

  const CsvReader& row_;
  const ConfigLibrary& library_;
  Diagnostics& diagnostics_;
};

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
  while (reader.next()) {
    Predictor row(reader, library, diagnostics);
    const Parsed<double> measured = parse_double(row.cell("measured"));
    if (!measured || *measured.value <= 0) {
      diagnostics.error(reader.position(reader.column("measured")), "measured", "a positive number is expected");
      continue;
    }
    const std::optional<double> predicted = row.predict();
    if (!predicted) continue;
    result.predictions.push_back({.source = std::string(row.cell("source")),
                                  .row = reader.line(),
                                  .what = fmt::format("case {}: {}", row.cell("case"), row.cell("what")),
                                  .metric = fmt::format("{}{}", row.is_ratio() ? "ratio of " : "", row.cell("metric")),
                                  .measured = *measured.value,
                                  .predicted = *predicted,
                                  .remark = std::string(row.cell("remark"))});
  }
  return result;
}

}  // namespace lockstep
