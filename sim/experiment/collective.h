// SPDX-License-Identifier: Apache-2.0
// One collective alone on a cluster, over a list of sizes: what nccl-tests measures. Sizes and bandwidths are defined as there:
// size is the larger per-rank buffer, algbw = size / time, busbw = algbw x the factor that makes it comparable with link rates
// (all_reduce 2(n-1)/n; all_gather, reduce_scatter (n-1)/n; others 1).
//
// A stage of an algorithm (workloads/collectives/stage.h) is one transfer alone on the network. Links of equal capacity on which it has equal coefficients then carry equal loads at
// every instant, so one of them stands for all: a few links instead of a hundred thousand, and the same time to the picosecond.
// all_to_all and send_recv are flows between pairs (pair_flows.h). Where faults come and go every link stands for itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/experiment/cluster_run.h"
#include "topology/routing/router.h"
#include "workloads/collectives/communicator.h"
#include "workloads/collectives/tuning.h"
#include "workloads/program.h"

namespace lockstep {

struct CollectiveRequest {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::vector<std::int64_t> sizes;         // bytes
  std::vector<EndpointId> members;         // at least two
  Algorithm algorithm = Algorithm::kAuto;  // kAuto: the one with the least undisturbed time
  std::optional<Protocol> protocol;        // none: the same
  std::optional<int> channels;             // of rings and trees; none: one per NIC of the members
  bool uses_symmetry = true;               // one link, one flow stands for its equals
  const Detours* detours = nullptr;  // of faults that come and go, counted from the start of each size; none: there are none
  bool explains = false;             // rows tell what they were chosen among
};

// What a row was chosen among, with the times that decided.
struct RowCandidate {
  Candidate candidate;
  bool is_chosen = false;
};

struct CollectiveRow {
  std::int64_t size_bytes = 0;
  double time_s = 0;
  double algbw_gb_per_s = 0;  // GB = 1e9 bytes
  double busbw_gb_per_s = 0;
  std::string algorithm;  // "ring", "tree", ...; send_recv and all_to_all are "direct"
  std::string protocol;   // "LL", "LL128", "Simple"
  int channels = 0;
  double hottest_link_s = 0;  // full use of the busiest link between switches (hottest_link.h), summed over the stages
  std::vector<RowCandidate> candidates;  // where asked for; none for flows between pairs
};

// Every size runs on a fresh network, so that rows do not depend on each other. Throws SimulationError when a transfer never ends, UserError when
// members are not connected or the algorithm cannot do it on them.
[[nodiscard]] std::vector<CollectiveRow> run_collective(const CollectiveRequest& request, const Router& router,
                                                        const std::array<CollectiveTuning, 3>& tunings, NetworkKind kind);

[[nodiscard]] double busbw_factor(CollectiveKind kind, std::size_t ranks);
// Seconds that a collective of this size takes at a bus bandwidth.
[[nodiscard]] double seconds_at_busbw(CollectiveKind kind, std::size_t ranks, double bytes, double busbw_gb_per_s);

// The first `per_node` GPUs of each of the first `nodes` nodes.
[[nodiscard]] std::vector<EndpointId> first_gpus(const ClusterSpec& cluster, int nodes, int per_node);

// begin, begin x factor, ... up to end, as nccl-tests steps; after 0 comes 1, for 0 x factor would stay. PRE: 0 <= begin <= end, factor >= 2.
[[nodiscard]] std::vector<std::int64_t> size_steps(std::int64_t begin, std::int64_t end, std::int64_t factor);

}  // namespace lockstep
