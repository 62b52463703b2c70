// SPDX-License-Identifier: Apache-2.0
// How far apart the partners of a placed job are: what of its communication leaves a node, a rack or a pod. Counted are the edges of one ring
// through each communicator (nodes in the order of their first ranks, as NCCL's rings visit them) and the messages from each pipeline stage
// to the next. Bytes are not weighed, and algorithms other than rings have other edges.
//
// Cost: O(ranks).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "topology/network.h"
#include "workloads/parallel/layout.h"
#include "workloads/program.h"

namespace lockstep {

// Of all groups of one kind together: of the communicators of a family, or of pipelines.
struct GroupLocality {
  std::string
      name;  // "tp", "dp" (shard groups where there are several), "dp_copies" (between them), "tie", "cp", "ep", "expert_dp", "pp"
  std::int64_t groups = 0;
  std::int64_t size = 0;   // ranks of a group
  std::int64_t nodes = 0;  // that a group spans, summed over groups; and so on
  std::int64_t racks = 0;
  std::int64_t pods = 0;
  std::int64_t edges = 0;
  std::int64_t edges_between_nodes = 0;
  std::int64_t edges_between_racks = 0;
  std::int64_t edges_between_pods = 0;

  // A sum over groups as a mean, a number of edges as a share.
  [[nodiscard]] double mean(std::int64_t sum) const { return static_cast<double>(sum) / static_cast<double>(groups); }
  [[nodiscard]] double share(std::int64_t of_edges) const { return static_cast<double>(of_edges) / static_cast<double>(edges); }
};

// Kinds with groups of one rank are left out. `program` runs on `layout`; placement: the endpoint of each rank.
[[nodiscard]] std::vector<GroupLocality> job_locality(const Program& program, const ParallelLayout& layout,
                                                      std::span<const EndpointId> placement, const Network& network);

}  // namespace lockstep
