// SPDX-License-Identifier: Apache-2.0
#include "workloads/collectives/pat.h"

#include "base/check.h"
#include "workloads/collectives/exchange.h"

namespace lockstep {
namespace {

// Base and hops of PAT in the place of a protocol's.
ProtocolCost cost_of(const PatTuning& t, int ranks) {
  ProtocolCost cost;
  cost.base = t.base + t.per_rank * ranks;
  cost.nvlink_hop = t.nvlink_hop;
  cost.pcie_hop = t.pcie_hop;
  cost.network_hop = t.network_hop;
  return cost;
}

}  // namespace

std::int64_t pat_blocks(std::uint32_t n, int log2_distance) {
  const std::int64_t distance = std::int64_t{1} << log2_distance;
  if (distance >= n) return 0;
  return (std::int64_t{n} - 1 - distance) / (2 * distance) + 1;
}

PatShape shape_pat(const Router& router, const std::vector<NodeGroup>& groups, std::uint64_t channel_key,
                   std::vector<FormRoute>& out) {
  const ExchangeBuilder builder(router, groups, channel_key);
  const std::uint32_t n = builder.ranks();
  PatShape shape{.ranks = static_cast<int>(n), .channels = builder.channels(), .shifts = {}};
  std::vector<Exchange> round(n);
  for (int k = 0; (std::uint64_t{1} << k) < n; ++k) {
    for (std::uint32_t i = 0; i < n; ++i) {
      round[i] = {.from = i, .to = static_cast<std::uint32_t>((i + (std::uint64_t{1} << k)) % n)};
    }
    shape.shifts.push_back(builder.add(exchange_form(k), round, out));
  }
  return shape;
}

void lower_pat(const PatShape& shape, const CollectiveTuning& tuning, CollectiveKind kind, std::int64_t bytes,
               std::vector<Stage>& out) {
  LOCKSTEP_CHECK(applies(Algorithm::kPat, kind), "pat does no {}", to_text(kind));
  const ProtocolCost cost = cost_of(tuning.switches.pat, shape.ranks);
  const double share = tuning.switches.pat.share;
  Duration base = cost.base;
  const auto steps = static_cast<int>(shape.shifts.size());
  for (int i = 0; i < steps; ++i) {
    const int k = kind == CollectiveKind::kAllGather ? steps - 1 - i : i;
    const FlowShape& flow = shape.shifts[static_cast<std::size_t>(k)];
    Rate cap = share < 1 ? flow.rate.scaled(share) : Rate();
    if (flow.has_network_hop) cap = lower_of(cap, tuning.network_channel_rate);
    const Int128 sent = static_cast<Int128>(bytes) * pat_blocks(static_cast<std::uint32_t>(shape.ranks), k);
    const Int128 pieces = static_cast<Int128>(shape.ranks) * shape.channels;
    const std::int64_t edge_bytes = narrow_int64(ceil_div(sent, pieces));
    out.push_back(exchange_stage(exchange_form(k), flow, tuning, cost, base, edge_bytes, cap));
    base = {};
  }
}

}  // namespace lockstep
