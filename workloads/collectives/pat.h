// SPDX-License-Identifier: Apache-2.0
// PAT, parallel aggregated trees (Jeaugey, PAT: a new algorithm for all-gather and reduce-scatter operations at scale, 2025; NCCL since 2.23).
// all_gather is Bruck's algorithm, the farthest first: for distances 2^k below n, the largest first, every rank sends to the one that far
// ahead, in the order of their nodes, the blocks it has that the other wants:
//
//     distance d   as many blocks of S/n as there are odd multiples of d below n      sum: n - 1
//
// reduce_scatter goes the other way, the nearest first. Each distance is a stage of its own; every rank sends (n-1)/n S in
// ceil(log2 n) steps. At 0.75 of the links' rate, always in Simple, with base, a term per rank and a hop per step of NCCL's tuner. A GPU uses the NICs it has
// to itself. Not modelled: the intermediate buffers that bound how many blocks are aggregated.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/collectives/node_groups.h"
#include "workloads/collectives/stage.h"
#include "workloads/program.h"

namespace lockstep {

// Blocks of S/n that every rank sends at distance 2^log2_distance.
[[nodiscard]] std::int64_t pat_blocks(std::uint32_t n, int log2_distance);

struct PatShape {
  int ranks = 0;
  int channels = 1;               // NICs of a GPU
  std::vector<FlowShape> shifts;  // by log2 of the distance
  bool operator==(const PatShape&) const = default;
};

// Appends the routes. PRE: at least two members.
[[nodiscard]] PatShape shape_pat(const Router& router, const std::vector<NodeGroup>& groups, std::uint64_t channel_key,
                                 std::vector<FormRoute>& out);

// Appends the stages. PRE: kind is all_gather or reduce_scatter.
void lower_pat(const PatShape& shape, const CollectiveTuning& tuning, CollectiveKind kind, std::int64_t bytes,
               std::vector<Stage>& out);

}  // namespace lockstep
