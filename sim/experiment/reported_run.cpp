// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/reported_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/field_table.h"
#include "sim/experiment/collective.h"
#include "sim/experiment/job_run.h"
#include "sim/experiment/scenario.h"

namespace lockstep {
namespace {

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

}  // namespace

std::string_view ReportedRun::cell(std::string_view column) const {
  const std::size_t at = row_.column(column);
  return at == CsvReader::npos ? std::string_view() : row_[at];
}

bool ReportedRun::is_ratio() const {
  for (const char* c : {kSecond.scenario, kSecond.cluster, kSecond.collective, kSecond.gpus, kSecond.set}) {
    if (!cell(c).empty()) return true;
  }
  return false;
}

std::string ReportedRun::metric() const { return fmt::format("{}{}", is_ratio() ? "ratio of " : "", cell("metric")); }

std::optional<double> ReportedRun::predict() {
  const std::optional<double> value = run(kFirst);
  if (!value || !is_ratio()) return value;
  Columns second = kSecond;
  if (cell(second.scenario).empty()) second.scenario = kFirst.scenario;
  if (cell(second.cluster).empty()) second.cluster = kFirst.cluster;
  if (cell(second.collective).empty()) second.collective = kFirst.collective;
  if (cell(second.gpus).empty()) second.gpus = kFirst.gpus;
  const std::optional<double> base = run(second);
  return base ? std::optional(*value / *base) : std::nullopt;
}

void ReportedRun::fail(std::string_view column, std::string message) {
  diagnostics_.error(row_.position(row_.column(column)), std::string(column), std::move(message));
}

std::optional<double> ReportedRun::run(const Columns& c) {
  const std::optional<double> value = cell(c.scenario).empty() ? collective(c) : job(c);
  if (!value && !diagnostics_.has_errors()) fail("metric", fmt::format("'{}' is no number of such a run", cell("metric")));
  return value;
}

std::optional<double> ReportedRun::job(const Columns& c) {
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
std::optional<double> ReportedRun::collective(const Columns& c) {
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

void ReportedRun::read_collective(const char* column, CollectiveRequest& request) {
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

std::optional<ClusterSpec> ReportedRun::cluster(const Columns& c) {
  std::optional<Document> document =
      library_.open("cluster", std::string(cell(c.cluster)), row_.position(row_.column(c.cluster)), {}, diagnostics_);
  if (!document) return std::nullopt;
  for (const std::string& assignment : split(cell(c.set), ';')) document->set(assignment, diagnostics_);
  ReadContext context(diagnostics_, &library_);
  ClusterSpec spec;
  if (!cluster_fields().read_document(*document, spec, context)) return std::nullopt;
  return spec;
}

}  // namespace lockstep
