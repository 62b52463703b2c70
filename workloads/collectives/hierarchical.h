// SPDX-License-Identifier: Apache-2.0
// Hierarchical collectives: rings inside every node, and rings across the nodes that join the i-th members of all nodes, all of
// them at once. With g members on each of N nodes (n = g N), stages one after another:
//
//     all_reduce      reduce_scatter of S inside, all_reduce of S/g across, all_gather of S inside
//     all_gather      all_gather of S/g across, all_gather of S inside
//     reduce_scatter  reduce_scatter of S inside, reduce_scatter of S/g across
//
// Each stage is a ring collective with latency, protocol and rate as ring.h has them; all rings of a stage carry equal bytes and are one
// coupled flow. Fewer bytes leave the node than in one long ring: 2(N-1)/N S in 2(N-1) steps, where that needs 2(n-1). Source: the two-level
// algorithm of MPI libraries and of training frameworks (Cho et al., BlueConnect, MLSys 2019, is its general form).
// Not modelled: chunks that are across while others are inside.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/collectives/node_groups.h"
#include "workloads/collectives/stage.h"
#include "workloads/program.h"

namespace lockstep {

struct HierarchicalShape {
  int per_node = 0;  // members
  int nodes = 0;
  int inside_channels = 0;  // of a ring
  int across_channels = 0;
  FlowShape inside;  // all rings together
  FlowShape across;
  bool operator==(const HierarchicalShape&) const = default;
};

// Several nodes with equally many members, at least two.
[[nodiscard]] bool has_levels(const std::vector<NodeGroup>& groups);
// PRE: has_levels(groups).
[[nodiscard]] HierarchicalShape shape_hierarchical(const Router& router, const std::vector<NodeGroup>& groups,
                                                   std::uint64_t channel_key, MeshRings& known, Route& inside, Route& across);

// Appends the stages. `tunings`: groups on one node, two nodes, more.
void lower_hierarchical(const HierarchicalShape& shape, std::span<const CollectiveTuning, 3> tunings, CollectiveKind kind,
                        std::int64_t bytes, Protocol protocol, std::vector<Stage>& out);

}  // namespace lockstep
