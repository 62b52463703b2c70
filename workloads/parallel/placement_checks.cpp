// SPDX-License-Identifier: Apache-2.0
#include "workloads/parallel/placement_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/wide.h"
#include "workloads/parallel/placement.h"

namespace lockstep {
namespace {

void check_named(const ReportFault& report, std::string_view what, const std::vector<IndexRange>& ranges, std::int64_t count) {
  if (index_count(ranges) > count) {
    report("placement", fmt::format("{} {}s, but the cluster has {}", index_count(ranges), what, count), "each at most once");
    return;
  }
  std::vector<std::int64_t> sorted = all_indices(ranges);
  std::sort(sorted.begin(), sorted.end());
  if (sorted.back() >= count) {
    report("placement", fmt::format("the cluster has no {} {}", what, sorted.back()),
           fmt::format("{}s are 0 to {}", what, count - 1));
  } else if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
    report("placement", fmt::format("{} {} is named twice", what, *twice), "each at most once");
  }
}

void check_rails(const JobSpec& job, const ClusterSize& cluster, std::int64_t gpus, const ReportFault& report) {
  if (job.placement.policy != PlacementPolicy::kRailAligned) return;
  if (job.rank_order) {
    report("rank_order", "placement: rail_aligned has an order of its own, tp-cp-pp-dp",
           "leave it out, or placement: rack_aware");
  }
  const std::int64_t replica = checked_mul(checked_mul(job.tp, job.cp), job.pp);
  const std::int64_t per_node = cluster.gpus_per_node;
  if (gpus <= per_node || per_node % replica == 0 || replica % per_node == 0) return;
  report("placement",
         fmt::format("a replica of tp {}{} x pp {} = {} GPUs begins on another GPU of each node of {}: its group has no rail",
                     job.tp, job.cp > 1 ? fmt::format(" x cp {}", job.cp) : "", job.pp, replica, per_node),
         "for rail_aligned tp x pp divides the GPUs of a node, or is a multiple of them");
}

}  // namespace

// How many GPUs the job takes, and whether its placement has them.
std::int64_t check_gpus(const JobSpec& job, const ClusterSize& cluster, const ReportFault& report) {
  const PlacementSpec& p = job.placement;
  const std::int64_t per_node = cluster.gpus_per_node;
  std::int64_t free = cluster.gpus;
  if (!p.hosts.empty()) {
    free = checked_mul(index_count(p.hosts), per_node);
  } else if (p.endpoints.empty()) {
    free -= taken_nodes(p.taken, cluster.nodes()) * per_node;
  }
  const std::int64_t gpus = job.gpus.value_or(free);
  if (free == 0) {
    report("placement", "others have taken every node", "a smaller share in placement.taken");
  } else if (gpus > cluster.gpus) {
    report("gpus", fmt::format("{} GPUs, but the cluster has {}", gpus, cluster.gpus), "fewer, or a larger cluster");
  } else if (p.endpoints.empty() && gpus > per_node && gpus % per_node != 0) {
    // WHY: a node's NICs would be shared with whoever has its other GPUs, and nobody is there to share them.
    report("gpus", fmt::format("{} GPUs are no whole number of nodes of {}", gpus, per_node),
           fmt::format("{} or {}; or placement: [...] to name the GPUs", gpus / per_node * per_node,
                       ceil_div(gpus, per_node) * per_node));
  } else if (p.endpoints.empty() && gpus > free) {
    report("gpus",
           fmt::format("the job needs {} nodes, but its placement has {} of {}", ceil_div(gpus, per_node), free / per_node,
                       cluster.nodes()),
           fmt::format("at most {} GPUs, or another placement", free));
  } else if (!p.hosts.empty() && index_count(p.hosts) > ceil_div(gpus, per_node)) {
    report("placement", fmt::format("{} hosts for {} GPUs", index_count(p.hosts), gpus),
           fmt::format("{} hosts, or no gpus", ceil_div(gpus, per_node)));
  }
  return gpus;
}

void check_placement(const JobSpec& job, const ClusterSize& cluster, std::int64_t gpus, const ReportFault& report) {
  check_rails(job, cluster, gpus, report);
  const PlacementSpec& p = job.placement;
  if (!p.hosts.empty()) check_named(report, "node", p.hosts, cluster.nodes());
  if (p.endpoints.empty()) return;
  const std::int64_t count = index_count(p.endpoints);
  if (count != gpus) {
    report("placement", fmt::format("{} endpoints for {} ranks", count, gpus),
           fmt::format("one endpoint per rank; gpus: {} for a job that leaves others free", count));
    return;
  }
  check_named(report, "endpoint", p.endpoints, cluster.gpus);
}

}  // namespace lockstep
