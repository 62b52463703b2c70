// SPDX-License-Identifier: Apache-2.0
// Collisions and their cure: the same collective, or the same flows, under several routings and hash seeds, beside an even spread.
//
//   collision   load of the busiest link between switches over what that link carries when everything is spread evenly (spray): 1 where no
//               two connections get in each other's way, 2 where the busiest link carries twice its share. Of collectives by the same algorithm
//   loss        time over that under spray, less 1
//
// Where paths are hashed a routing runs once for every seed, and medians and the worst are told. What is not hashed runs once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/experiment/cluster_run.h"
#include "sim/experiment/collective.h"
#include "sim/experiment/traffic_table.h"

namespace lockstep {

struct RoutingTrial {
  std::vector<Routing> routings;
  std::uint64_t first_seed = 0;
  int seeds = 1;
};

struct RoutingRow {
  std::string routing;          // "ecmp:4"
  int seeds = 1;                // that were run
  std::int64_t size_bytes = 0;  // of a collective
  std::string algorithm;        // of a collective, with the first seed
  double time_s = 0;            // median; of flows the makespan
  double worst_time_s = 0;
  double busbw_gb_per_s = 0;  // of a collective, at the median time
  double worst_busbw_gb_per_s = 0;
  double mean_fct_s = 0;  // of flows, medians
  double slowest_fct_s = 0;
  std::optional<double> collision;  // median; nothing where no link between switches is used
  double loss = 0;                  // of the median
};

// Sizes one after another, each with a row for every routing. Throws as run_collective() does.
[[nodiscard]] std::vector<RoutingRow> compare_routings(const CollectiveRequest& request, const ClusterSpec& cluster,
                                                       const RoutingTrial& trial, NetworkKind kind);
// A row for every routing. PRE: the table was read for this cluster and has flows.
[[nodiscard]] std::vector<RoutingRow> compare_routings(const TrafficTable& table, const ClusterSpec& cluster,
                                                       const RoutingTrial& trial, NetworkKind kind);

}  // namespace lockstep
