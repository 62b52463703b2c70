// SPDX-License-Identifier: Apache-2.0
// Rounds in which ranks send to others far away, in the order of their nodes, over the NICs that a GPU has to itself: those of recursive halving
// and doubling, and of PAT. A round is one coupled flow.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/collectives/node_groups.h"
#include "workloads/collectives/stage.h"

namespace lockstep {

// By position among the members.
struct Exchange {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

// One round: `base` before the first, a hop, the fill of the pipeline; a member sends edge_bytes at no more than `cap` (0: none).
[[nodiscard]] Stage exchange_stage(RouteForm form, const FlowShape& flow, const CollectiveTuning& tuning,
                                   const ProtocolCost& cost, Duration base, std::int64_t edge_bytes, Rate cap);

class ExchangeBuilder {
 public:
  // The router must outlive the builder. `channel_key` tells communicators apart.
  ExchangeBuilder(const Router& router, const std::vector<NodeGroup>& groups, std::uint64_t channel_key);

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(members_.size()); }
  [[nodiscard]] int channels() const { return channels_; }  // of an exchange: NICs of a GPU, on one node 1
  // The flow of a round; appends its route.
  [[nodiscard]] FlowShape add(RouteForm form, const std::vector<Exchange>& round, std::vector<FormRoute>& out) const;

 private:
  const Router& router_;
  std::uint64_t channel_key_;
  std::vector<EndpointId> members_;
  std::size_t most_on_node_ = 0;
  int channels_ = 1;
};

}  // namespace lockstep
