// SPDX-License-Identifier: Apache-2.0
// Published tables of nccl-tests as they can be run: each with its cluster (table_cluster.h), the GPUs that take part and the times. The CSV has one
// measured row a line, with the columns of configs/validation/nccl-tests.csv. Times are out of place; where only busbw is published, the
// time is what busbw means. Rows and whole tables that cannot be run are listed with the reason.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "sim/experiment/validation.h"
#include "topology/cluster_spec.h"
#include "workloads/collectives/algorithm.h"
#include "workloads/program.h"

namespace lockstep {

// What a row may say: sizes as `lockstep collective` takes them, times that a clock can tell from nothing and someone waited for.
inline constexpr std::int64_t kMostTableBytes = std::int64_t{1} << 44;  // 16 TiB
inline constexpr std::int64_t kMostTableGpus = 131'072;                 // larger groups would take minutes a table
inline constexpr const char* kMeasurableTimes = "times are from 1 ns to 1e6 s";
[[nodiscard]] inline bool is_measurable(double seconds) { return seconds >= 1e-9 && seconds <= 1e6; }

struct MeasuredRow {
  std::int64_t bytes = 0;  // the larger per-rank buffer
  double seconds = 0;
  int line = 0;  // in the CSV, the header being 1
};

struct MeasuredTable {
  std::string name;     // table_id
  std::string source;   // who published it: the repository that the column `source` begins with
  ClusterSpec cluster;  // tables on equal clusters have equal names there
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::vector<EndpointId> members;
  Algorithm algorithm = Algorithm::kAuto;
  std::vector<MeasuredRow> rows;
};

// Errors in the CSV go to the diagnostics.
[[nodiscard]] std::vector<MeasuredTable> read_measured_tables(std::istream& csv, const std::string& file,
                                                              const ConfigLibrary& library, std::vector<SkippedRow>& skipped,
                                                              Diagnostics& diagnostics);

}  // namespace lockstep
