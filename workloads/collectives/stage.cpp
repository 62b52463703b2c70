// SPDX-License-Identifier: Apache-2.0
#include "workloads/collectives/stage.h"

#include <algorithm>

#include "base/hash.h"
#include "workloads/collectives/ring.h"

namespace lockstep {

std::uint64_t FlowShape::hash() const {
  const auto word = [](auto v) { return static_cast<std::uint64_t>(v); };
  return hash_words({word(weight), word(members), word(rate.units()), word(inside_rate.units()), word(network_latency.picos()),
                     word(has_nvlink_hop), word(has_pcie_hop), word(has_network_hop)});
}

Duration FlowShape::inside_hop(const ProtocolCost& cost) const {
  return std::max(has_nvlink_hop ? cost.nvlink_hop : Duration{}, has_pcie_hop ? cost.pcie_hop : Duration{});
}

Duration FlowShape::longest_hop(const ProtocolCost& cost) const {
  const Duration inside = inside_hop(cost);
  return has_network_hop ? std::max(inside, cost.network_hop + network_latency) : inside;
}

void FlowBuilder::add(const Hop& hop, int channel) {
  const HopKind kind = hop_kind(router_.network(), hop.from, hop.to);
  has_nvlink_hop_ |= kind == HopKind::kNvlink;
  has_pcie_hop_ |= kind == HopKind::kPcie;
  Route& route = kind == HopKind::kNetwork ? between_ : inside_;
  router_.add(hop, hash_words({key_, static_cast<std::uint64_t>(channel), hop.from.value(), hop.to.value()}), route);
  ++members_;
}

void FlowBuilder::add_nvlink(LinkId link, std::int64_t members) {
  if (members == 0) return;
  has_nvlink_hop_ = true;
  inside_.shares.push_back({link, checked_mul(router_.weight(), members)});
  members_ += members;
}

void FlowBuilder::add_between(const Route& route, std::int64_t members) {
  between_.shares.insert(between_.shares.end(), route.shares.begin(), route.shares.end());
  between_.latency = std::max(between_.latency, route.latency);
  members_ += members;
}

Rate FlowBuilder::between_rate() const {
  if (between_.shares.empty()) return {};
  Route route = between_;
  Router::finish(route);
  return undisturbed_rate(router_.network(), route, router_.weight());
}

FlowShape FlowBuilder::finish(std::int64_t crossings, Route& out) {
  FlowShape shape{.members = members_,
                  .network_latency = between_.latency,
                  .has_nvlink_hop = has_nvlink_hop_,
                  .has_pcie_hop = has_pcie_hop_,
                  .has_network_hop = !between_.shares.empty()};
  Router::finish(inside_);
  Router::finish(between_);
  out = Router::sum(inside_, between_);
  const std::int64_t factor = std::max<std::int64_t>(1, kSharerWeight / crossings);
  for (LinkShare& s : out.shares) s.coefficient = checked_mul(s.coefficient, factor);
  shape.weight = checked_mul(router_.weight(), factor);
  shape.rate = undisturbed_rate(router_.network(), out, shape.weight);
  if (!inside_.shares.empty()) shape.inside_rate = undisturbed_rate(router_.network(), inside_, router_.weight());
  return shape;
}

}  // namespace lockstep
