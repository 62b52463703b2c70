// SPDX-License-Identifier: Apache-2.0
// Which rows: all of a CSV of nccl-tests tables whose cluster the words describe (table_cluster.h says by which rule). Algorithm and protocol are left to their
// cost, as `lockstep collective` does, unless the table names the algorithm.
//
// Limits from 1 MiB up are on the error of busbw. Below, where times are of microseconds and launch overheads of the benchmark and
// its host count, on the factor between predicted and measured time.
#include <fmt/core.h>

#include <map>
#include <memory>

#include "sim/experiment/cluster_run.h"
#include "sim/experiment/collective.h"
#include "sim/experiment/measured_tables.h"
#include "sim/experiment/validation_suites.h"

namespace lockstep {
namespace {

constexpr const char* kRule =
    "all rows of nccl-tests tables whose GPU, server and network are described by their columns "
    "(sim/experiment/table_cluster.h)";

// What issue 5 asks for.
constexpr double kMedianLimit = 0.12;
constexpr double kP90Limit = 0.30;
constexpr double kWithinTwoShare = 0.75;

std::string size_text(std::int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  while (unit < 3 && bytes % 1024 == 0 && bytes > 0) bytes /= 1024, ++unit;
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

void predict(const MeasuredTable& table, const PreparedCluster& cluster, SuiteResult& result) {
  CollectiveRequest request{.kind = table.kind, .members = table.members, .algorithm = table.algorithm};
  for (const MeasuredRow& row : table.rows) request.sizes.push_back(row.bytes);
  const std::vector<CollectiveRow> rows = run_collective(request, cluster.router, cluster.tunings, NetworkKind::kFlow);
  const double factor = busbw_factor(table.kind, table.members.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const MeasuredRow& row = table.rows[i];
    result.predictions.push_back({.source = table.name,
                                  .row = row.line,
                                  .what = fmt::format("{} {} GPUs {}, {}", to_text(table.kind), table.members.size(),
                                                      size_text(row.bytes), table.cluster.name),
                                  .metric = "busbw_gb_per_s",
                                  .measured = factor * static_cast<double>(row.bytes) / row.seconds * 1e-9,
                                  .predicted = rows[i].busbw_gb_per_s,
                                  .publisher = table.source,
                                  .size_bytes = row.bytes});
  }
}

}  // namespace

SuiteResult run_collectives_suite(std::istream& csv, const std::string& file, const ConfigLibrary& library,
                                  Diagnostics& diagnostics) {
  SuiteResult result{.suite = "collectives", .rule = kRule};
  const std::vector<MeasuredTable> tables = read_measured_tables(csv, file, library, result.skipped, diagnostics);
  if (diagnostics.has_errors()) return result;
  std::map<std::string, std::unique_ptr<PreparedCluster>> clusters;
  for (const MeasuredTable& table : tables) {
    if (table.rows.empty()) continue;
    std::unique_ptr<PreparedCluster>& cluster = clusters[table.cluster.name];
    if (!cluster) cluster = std::make_unique<PreparedCluster>(table.cluster, 0);
    try {
      predict(table, *cluster, result);
    } catch (const UserError& error) {
      for (const MeasuredRow& row : table.rows) result.skipped.push_back({table.name, row.line, error.what()});
    }
  }
  const SizeStatistics s = size_statistics(result, [](const Prediction&) { return true; });
  if (s.large.rows > 0) {
    result.limits.push_back({"median error of busbw from 1 MiB up", kMedianLimit, s.large.median_abs_error, false});
    result.limits.push_back({"90th percentile of it", kP90Limit, s.large.p90_abs_error, false});
  }
  if (s.small_rows > 0) {
    result.limits.push_back({"share within a factor of 2 below 1 MiB", kWithinTwoShare, s.within_two_share(), true});
  }
  return result;
}

}  // namespace lockstep
