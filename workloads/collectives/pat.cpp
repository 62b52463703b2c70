// SPDX-License-Identifier: Apache-2.0
#include "workloads/collectives/pat.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"

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
  const Network& net = router.network();
  std::vector<EndpointId> members;
  std::size_t most_on_node = 0;
  for (const NodeGroup& g : groups) {
    members.insert(members.end(), g.members.begin(), g.members.end());
    most_on_node = std::max(most_on_node, g.members.size());
  }
  const std::size_t n = members.size();
  PatShape shape{.ranks = static_cast<int>(n), .channels = groups.size() > 1 ? nics_per_gpu(net) : 1, .shifts = {}};
  for (int k = 0; (std::size_t{1} << k) < n; ++k) {
    const RouteForm form = exchange_form(k);
    FlowBuilder flow(router, hash_words({channel_key, static_cast<std::uint64_t>(form)}));
    bool leaves_node = false;
    for (std::size_t i = 0; i < n; ++i) {
      const EndpointId from = members[i];
      const EndpointId to = members[(i + (std::size_t{1} << k)) % n];
      leaves_node |= net.node_of(from) != net.node_of(to);
      for (int c = 0; c < shape.channels; ++c) {
        Hop hop{.from = from, .to = to};
        if (net.nics_per_node() > 0) {
          hop.from_nic = net.own_nic(from) + c;
          hop.to_nic = net.own_nic(to) + c;
        }
        flow.add(hop, c);
      }
    }
    const std::int64_t senders = leaves_node ? static_cast<std::int64_t>(most_on_node) : 1;
    shape.shifts.push_back(flow.finish(senders * shape.channels, out.emplace_back(FormRoute{form, {}}).route));
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
    const Duration fill = tuning.fill(flow.has_nvlink_hop, flow.has_network_hop);
    out.push_back({.form = exchange_form(k),
                   .weight = flow.weight,
                   .bytes = edge_bytes,
                   .members = flow.members,
                   .latency = base + flow.longest_hop(cost) + fill_time(fill, edge_bytes, lower_of(flow.rate, cap)),
                   .rate_cap = cap,
                   .rate = flow.rate});
    base = {};
  }
}

}  // namespace lockstep
