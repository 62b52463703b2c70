// SPDX-License-Identifier: Apache-2.0
// Recursive halving and doubling (Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in MPICH, 2005). Ranks,
// in the order of their nodes, exchange with the one 1, 2, 4, ... away, log2 n times, each time half as much (reduce-scatter) or twice
// as much (all-gather). Stages of all_reduce, with S bytes on n = 2^k ranks:
//
//     reduce-scatter   distance 1, 2, ..., n/2 with S/2, S/4, ..., S/n
//     all-gather       the same backwards
//
// so that the most bytes stay near. reduce_scatter alone goes from distance n/2 with S/2 to distance 1 with S/n, all_gather alone back, for
// results that lie in order. For all_reduce of other n, with p the power of two below, the first n - p ranks of even number fold all they have into
// their neighbours before, and get the result after; the p others do the above. all_gather and reduce_scatter need a power of two.
//
// A stage is one coupled flow of exchanges, both ways at once, over the NICs nearest to the GPUs (all that a GPU has to itself):
//
//     time of a stage = hop + bytes / rate      and the base once; hop is the longest of the stage
//
// with latencies and protocols of the ring. Every stage ends with a receive that is not sent on: as in a ring of two, `ring_drain` of one of two
// primitives leaves the NVLink port idle (ring.h). Not modelled: pairs of a stage that are done before others; packing of scattered blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/collectives/exchange.h"
#include "workloads/collectives/node_groups.h"
#include "workloads/collectives/stage.h"
#include "workloads/program.h"

namespace lockstep {

// One round: who sends, and how much of S.
struct ExchangeStage {
  RouteForm form = RouteForm::kExchange;
  int halvings = 0;      // bytes = S / 2^halvings
  bool reduces = false;  // what arrives is added to what is there, not put beside it (kUnfold: in its place)
};
// In order. Empty where n is not a power of two and the kind needs it.
[[nodiscard]] std::vector<ExchangeStage> exchange_stages(CollectiveKind kind, std::uint32_t n);

// The senders and receivers of a form among n positions; exchanges are there both ways.
[[nodiscard]] std::vector<Exchange> exchanges(RouteForm form, std::uint32_t n);

struct HalvingDoublingShape {
  int ranks = 0;
  int channels = 1;  // of an exchange between nodes: NICs of a GPU
  FlowShape fold;    // no members for powers of two
  FlowShape unfold;
  std::vector<FlowShape> exchange;  // by log2 of the distance
  bool operator==(const HalvingDoublingShape&) const = default;
  [[nodiscard]] const FlowShape& flow(RouteForm form) const;
};

// `folds`: for all_reduce of n that are no power of two. Appends the routes. PRE: at least two members.
[[nodiscard]] HalvingDoublingShape shape_halving_doubling(const Router& router, const std::vector<NodeGroup>& groups,
                                                          std::uint64_t channel_key, bool folds, std::vector<FormRoute>& out);

// Appends the stages; `tuning` is that of the members' nodes.
void lower_halving_doubling(const HalvingDoublingShape& shape, const CollectiveTuning& tuning, CollectiveKind kind,
                            std::int64_t bytes, Protocol protocol, std::vector<Stage>& out);

}  // namespace lockstep
