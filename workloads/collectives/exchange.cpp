// SPDX-License-Identifier: Apache-2.0
#include "workloads/collectives/exchange.h"

#include <algorithm>

#include "base/hash.h"

namespace lockstep {

ExchangeBuilder::ExchangeBuilder(const Router& router, const std::vector<NodeGroup>& groups, std::uint64_t channel_key)
    : router_(router), channel_key_(channel_key), channels_(groups.size() > 1 ? nics_per_gpu(router.network()) : 1) {
  for (const NodeGroup& g : groups) {
    members_.insert(members_.end(), g.members.begin(), g.members.end());
    most_on_node_ = std::max(most_on_node_, g.members.size());
  }
}

FlowShape ExchangeBuilder::add(RouteForm form, const std::vector<Exchange>& round, std::vector<FormRoute>& out) const {
  const Network& net = router_.network();
  FlowBuilder flow(router_, hash_words({channel_key_, static_cast<std::uint64_t>(form)}));
  bool leaves_node = false;
  for (const Exchange& x : round) {
    const EndpointId from = members_[x.from];
    const EndpointId to = members_[x.to];
    leaves_node |= net.node_of(from) != net.node_of(to);
    for (int c = 0; c < channels_; ++c) {
      Hop hop{.from = from, .to = to};
      if (net.nics_per_node() > 0) {
        hop.from_nic = net.own_nic(from) + c;
        hop.to_nic = net.own_nic(to) + c;
      }
      flow.add(hop, c);
    }
  }
  const std::int64_t senders = leaves_node ? static_cast<std::int64_t>(most_on_node_) : 1;
  return flow.finish(senders * channels_, out.emplace_back(FormRoute{form, {}}).route);
}

Stage exchange_stage(RouteForm form, const FlowShape& flow, const CollectiveTuning& tuning, const ProtocolCost& cost,
                     Duration base, std::int64_t edge_bytes, Rate cap) {
  const Duration fill = tuning.fill(flow.has_nvlink_hop, flow.has_network_hop);
  return {.form = form,
          .weight = flow.weight,
          .bytes = edge_bytes,
          .members = flow.members,
          .latency = base + flow.longest_hop(cost) + fill_time(fill, edge_bytes, lower_of(flow.rate, cap)),
          .rate_cap = cap,
          .rate = flow.rate};
}

}  // namespace lockstep
