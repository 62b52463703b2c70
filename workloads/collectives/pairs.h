// SPDX-License-Identifier: Apache-2.0
// all_to_all as part of a program: one coupled flow of all messages, which start together and end together. For members that are alike the
// slowest link decides when an all_to_all ends, so coupling changes nothing there: time = messages on that link x bytes / capacity.
//
//   plain          every member sends S / n to every other, n members, S what a member holds for all of them (itself included)
//   deduplicated   S holds k copies of every token, one per expert. Only one goes to each node that has any of its experts, to the GPU with
//                  the sender's number there, which hands it on over NVLink to the GPUs that want it, once each; in the sender's node
//                  likewise. Both ways flow side by side (DeepEP's normal kernels: deepseek-ai/DeepEP, docs of intranode and internode)
//
// Of E experts in equal parts on n members a token takes k different ones, all choices equally likely: a set of m members holds none of
// them with probability C(E - mE/n, k) / C(E, k), so a message to a node of m members holds S/k x (1 - that), to one GPU the same with m = 1.
//
// What plain sends cost beyond their bytes is in pair_tuning.h; deduplicated ones are written by kernels and cost no proxy.
// Not modelled: routing that is limited to some nodes per token, orders of peers, buffers.
//
// Cost: n (n - 1) hops to shape, once.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/collectives/node_groups.h"
#include "workloads/collectives/stage.h"
#include "workloads/collectives/token_routing.h"

namespace lockstep {

// Probability that a token takes one of `held` experts at least. PRE: 0 <= held <= experts, 1 <= top_k <= experts.
[[nodiscard]] double hit_probability(const TokenRouting& routing, std::int64_t held);

struct PairsShape {
  FlowShape flow;
  std::int64_t ranks = 0;
  std::int64_t peers_elsewhere = 0;  // of a member, most; 0: nobody hands messages over
  double share = 0;                  // of S in a message; 0: 1/ranks
  Rate rate_cap;  // of a message, by what the kernels of a deduplicated exchange fill of their links; 0: none
  bool operator==(const PairsShape&) const = default;
  [[nodiscard]] std::uint64_t hash() const;
};

[[nodiscard]] PairsShape shape_pairs(const Router& router, const std::vector<NodeGroup>& groups, std::uint64_t channel_key,
                                     const TokenRouting& routing, Route& out);

// `bytes`: S.
[[nodiscard]] Stage lower_pairs(const PairsShape& shape, const CollectiveTuning& tuning, std::int64_t bytes);

}  // namespace lockstep
