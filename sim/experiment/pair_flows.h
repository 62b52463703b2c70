// SPDX-License-Identifier: Apache-2.0
// Independent flows between pairs of ranks, all of which start at once: all_to_all (every rank to every other) and send_recv (every rank to
// the next, as nccl-tests' sendrecv does).
//
// Equal flows are simulated once: the flows and the links they use are a placed job without operations, and one flow of each class of its
// coarsest equitable partition (sim/symmetry/partition.h) runs for all, which gives the same integers. A thousand GPUs on a regular fabric
// under spray have a handful of classes. Without symmetry, and under ECMP and flowlets, whose hashes leave no two flows alike, every flow is its own class.
//
// Where all GPUs of a regular cluster take part they need not even be listed (pair_symmetry.h).
//
// What sends cost beyond their bytes is told in workloads/collectives/pair_tuning.h.
//
// Cost: time and memory grow with the number of pairs, n or n(n-1); with classes only once, not for every size.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/experiment/collective.h"
#include "sim/experiment/pair_symmetry.h"
#include "sim/network/network_model.h"
#include "workloads/collectives/ring.h"

namespace lockstep {

class PairFlows {
 public:
  PairFlows(const CollectiveRequest& request, const Router& router, const CollectiveTuning& tuning);

  // Of the links that flows use, or of all.
  [[nodiscard]] std::span<const Rate> link_capacities() const { return capacities_; }
  // The network's link that stands for one of these.
  [[nodiscard]] LinkId link(LinkId in_use) const { return links_.empty() ? in_use : links_[in_use.index()]; }
  // Starts all flows with so many bytes each. This must outlive the run.
  void start(NetworkModel& network, std::int64_t bytes) const;

 private:
  struct FlowClass {
    std::vector<LinkShare> all;    // of all flows of the class together
    std::vector<LinkShare> alone;  // of one; empty: as `all`
    Duration latency;
    HopKind hop = HopKind::kNetwork;
    std::int64_t size = 1;
  };
  void add_alike(const CollectiveRequest& request, const Router& router, const AlikePairs& pairs);
  void add_classes(const CollectiveRequest& request, const Router& router);
  void add_everyone(const CollectiveRequest& request, const Router& router);

  // Most sends of a GPU, and most to other nodes.
  void count_peers(const CollectiveRequest& request, const Network& net);
  [[nodiscard]] std::int64_t chunk_left_behind(HopKind hop, std::int64_t bytes) const;
  [[nodiscard]] Rate rate_cap(HopKind hop, std::int64_t bytes) const;

  CollectiveTuning tuning_;
  std::int64_t weight_ = 1;
  std::int64_t peers_ = 1;
  std::int64_t peers_elsewhere_ = 0;
  std::vector<FlowClass> classes_;
  std::vector<Rate> capacities_;
  std::vector<LinkId> links_;  // empty: all, by their own numbers
};

}  // namespace lockstep
