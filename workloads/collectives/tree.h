// SPDX-License-Identifier: Apache-2.0
// Double binary trees (Sanders, Speck, Traeff: Two-tree algorithms for full bandwidth broadcast, reduction and scan, Parallel Computing
// 2009; NCCL since 2.4). Between nodes run two binary trees, each with half of the data, built so that a node that has children
// in one is a leaf in the other; inside a node a chain hangs from the GPU next to the NIC. Chunks flow up and down all edges at once: one
// pipelined stage. With C channels every edge of either tree carries
//
//     all_reduce S/(2C) up and as much down,   broadcast S/(2C) down,   reduce S/(2C) up
//
// so a node with children sends and receives 2S for all_reduce, as in a ring; with two nodes either is the root of one tree, and S is enough:
// busbw = 2(n-1)/n algbw may then exceed the rate of the NICs. Trees of broadcast and reduce span the nodes other than the root's, which
// feeds both (is fed by both).
//
//     time = base + hops + bytes / rate      hops of all_reduce: 2 (longest chain x NVLink hop + depth x network hop); one way: half
//
// Rate: of the most loaded link, inside nodes at most `tree_inside_share` of it (tuning.h). Not modelled: trees that spread parent and
// children of a node over two GPUs and NICs; the tuner's corrections by message size.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "workloads/collectives/node_groups.h"
#include "workloads/collectives/stage.h"
#include "workloads/program.h"

namespace lockstep {

// The parent of each of n positions in one of the two trees, n for the root. In order from 1, a position's height is the number of trailing
// zeros of its number; the second tree is the first one's mirror image for even n and the first one shifted by one for odd n.
[[nodiscard]] std::vector<std::uint32_t> binary_tree(std::uint32_t n, bool is_second);

// Edges from the root of such a tree to its farthest leaf. PRE: n > 0.
[[nodiscard]] constexpr int tree_depth(std::size_t n) { return static_cast<int>(std::bit_width(n)) - 1; }

struct TreeShape {
  int ranks = 0;
  int nodes = 0;
  int channels = 0;
  int chain = 0;         // hops of the longest chain inside a node
  int depth = 0;         // network hops from a root to its farthest leaf, of the trees over all nodes
  int rooted_depth = 0;  // and of the trees over all but one, with the hop from that one
  FlowShape both;        // all_reduce; no members where nothing asked for it, as for the next two
  FlowShape down;        // broadcast
  FlowShape up;          // reduce
  bool operator==(const TreeShape&) const = default;
  [[nodiscard]] const FlowShape& flow(CollectiveKind kind) const;
};

[[nodiscard]] constexpr RouteForm tree_form(CollectiveKind kind) {
  return kind == CollectiveKind::kBroadcast ? RouteForm::kTreeDown
         : kind == CollectiveKind::kReduce  ? RouteForm::kTreeUp
                                            : RouteForm::kTree;
}

// Everything but the routes. `root`: of broadcast and reduce.
class TreeBuilder {
 public:
  // `channels` 0: one per NIC of the members. All arguments must outlive the builder.
  TreeBuilder(const Router& router, const std::vector<NodeGroup>& groups, EndpointId root, std::uint64_t channel_key,
              int channels = 0);
  // Adds the flow of `kind` (all_reduce, broadcast or reduce) to the shape and gives its route.
  void add(CollectiveKind kind, Route& out);
  [[nodiscard]] const TreeShape& shape() const { return shape_; }

 private:
  void add_chain(const NodeGroup& group, EndpointId root, int channel, CollectiveKind kind, FlowBuilder& flow) const;
  [[nodiscard]] EndpointId at(const NodeGroup& group, int channel, std::size_t i) const;
  void add_tree(bool is_second, int channel, CollectiveKind kind, FlowBuilder& flow) const;

  const Router& router_;
  const std::vector<NodeGroup>& groups_;
  EndpointId root_;
  std::uint64_t channel_key_;
  TreeShape shape_;
};

// One stage. PRE: the shape has the flow of `kind`; tuning is that of shape.nodes.
[[nodiscard]] Stage lower_tree(const TreeShape& shape, const CollectiveTuning& tuning, CollectiveKind kind, std::int64_t bytes,
                               Protocol protocol);

}  // namespace lockstep
