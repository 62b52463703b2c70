// SPDX-License-Identifier: Apache-2.0
#include "topology/fabric/graph_fabric.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "topology/link_shares.h"

namespace lockstep {
std::int64_t most_ports_used(const GraphShape& shape) {
  std::vector<std::int64_t> used(std::visit([](const auto& layout) { return layout.switches(); }, shape.layout), 0);
  for (const std::uint32_t s : shape.switch_of_port) ++used[s];
  for (const SwitchCable& c : std::visit([](const auto& layout) { return layout.cables(); }, shape.layout)) {
    ++used[c.from];
    ++used[c.to];
  }
  return *std::max_element(used.begin(), used.end());
}

GraphFabric::GraphFabric(GraphShape shape, std::uint32_t nodes, NodeBlock node)
    : shape_(std::move(shape)),
      nodes_(nodes),
      node_(std::move(node)),
      ports_per_node_(static_cast<std::uint32_t>(node_.ports.size())),
      first_device_(nodes * node_.devices),
      first_link_(nodes * node_.links) {
  std::visit(
      [this](const auto& layout) {
        switches_ = layout.switches();
        cables_ = layout.cables();
        sorts_ = layout.sorts();
      },
      shape_.layout);
  const std::uint64_t ports = std::uint64_t{nodes} * ports_per_node_;
  LOCKSTEP_CHECK(nodes > 0 && ports > 0, "{} nodes of {} ports on a graph", nodes, ports_per_node_);
  LOCKSTEP_CHECK(shape_.switch_of_port.size() == ports, "{} of {} ports are attached", shape_.switch_of_port.size(), ports);
  for (const std::uint32_t s : shape_.switch_of_port) LOCKSTEP_CHECK(s < switches_, "a port on switch {} of {}", s, switches_);
  constexpr std::uint64_t kIds = std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t devices = std::uint64_t{nodes} * node_.devices + switches_;
  const std::uint64_t links = std::uint64_t{nodes} * node_.links + link_count();
  LOCKSTEP_CHECK(devices < kIds && links < kIds, "{} devices and {} links need wider ids", devices, links);
  first_trunk_ = first_link_ + static_cast<std::uint32_t>(2 * ports);
  number_parallel_cables();
  racks_ = number_places([](const auto& layout, std::uint32_t s) { return layout.rack_of(s); });
  pods_ = number_places([](const auto& layout, std::uint32_t s) { return layout.pod_of(s); });
}

template <class PlaceOfSwitch>
GraphFabric::Places GraphFabric::number_places(const PlaceOfSwitch& place_of) const {
  Places places;
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (std::uint32_t n = 0; n < nodes_; ++n) {
    const std::uint32_t s = switch_of({n, 0});
    const std::uint32_t place = std::visit([&](const auto& layout) { return place_of(layout, s); }, shape_.layout);
    places.of_node.push_back(numbers.emplace(place, static_cast<std::uint32_t>(numbers.size())).first->second);
  }
  places.count = static_cast<std::uint32_t>(numbers.size());
  return places;
}

void GraphFabric::number_parallel_cables() {
  const auto ends = [this](std::uint32_t c) { return std::minmax(cables_[c].from, cables_[c].to); };
  std::vector<std::uint32_t> by_ends(cables_.size());
  std::iota(by_ends.begin(), by_ends.end(), 0u);
  std::stable_sort(by_ends.begin(), by_ends.end(), [&ends](std::uint32_t a, std::uint32_t b) {
    return std::pair<std::uint32_t, std::uint32_t>(ends(a)) < std::pair<std::uint32_t, std::uint32_t>(ends(b));
  });
  parallel_.assign(cables_.size(), 0);
  for (std::size_t i = 1; i < by_ends.size(); ++i) {
    if (ends(by_ends[i - 1]) != ends(by_ends[i])) continue;
    std::uint32_t& before = parallel_[by_ends[i - 1]];
    if (before == 0) before = 1;
    parallel_[by_ends[i]] = before + 1;
  }
}

int GraphFabric::tier_of(DeviceId device) const {
  return std::visit([&](const auto& layout) { return layout.tier_of(device.value() - first_device_); }, shape_.layout);
}

std::string GraphFabric::name(DeviceId device) const {
  return std::visit([&](const auto& layout) { return layout.name(device.value() - first_device_); }, shape_.layout);
}

std::optional<std::uint32_t> GraphFabric::cable_number(LinkId link) const {
  if (link.value() < first_trunk_) return std::nullopt;
  const std::uint32_t number = parallel_[(link.value() - first_trunk_) / 2];
  return number == 0 ? std::nullopt : std::optional(number - 1);
}

Link GraphFabric::link(LinkId id) const {
  const bool is_first = (id.value() - first_link_) % 2 == 0;
  const auto joined = [is_first](DeviceId a, DeviceId b, const Wire& wire, LinkTier tier) {
    return Link{is_first ? a : b, is_first ? b : a, wire.capacity, wire.nominal, wire.latency, tier};
  };
  if (id.value() >= first_trunk_) {
    const SwitchCable& c = cables_[(id.value() - first_trunk_) / 2];
    const CableSort& sort = sorts_[c.sort];
    return joined(DeviceId(first_device_ + c.from), DeviceId(first_device_ + c.to), sort.wire, sort.tier);
  }
  const std::uint32_t port = (id.value() - first_link_) / 2;
  const DeviceId device(port / ports_per_node_ * node_.devices + node_.ports[port % ports_per_node_]);
  return joined(device, DeviceId(first_device_ + shape_.switch_of_port[port]), shape_.host, LinkTier::kHost);
}

std::int64_t GraphFabric::path_count(const PortPair& ends) const {
  const std::uint32_t a = switch_of(ends.from);
  const std::uint32_t b = switch_of(ends.to);
  return std::visit([&](const auto& layout) { return layout.path_count(a, b); }, shape_.layout);
}

std::int64_t GraphFabric::max_path_count() const {
  return std::visit([](const auto& layout) { return layout.max_path_count(); }, shape_.layout);
}

std::int64_t GraphFabric::spray_weight() const {
  return std::visit([](const auto& layout) { return layout.spray_weight(); }, shape_.layout);
}

Duration GraphFabric::append_trunks(std::uint32_t a, std::uint32_t b, std::int64_t index, std::int64_t weight,
                                    std::vector<LinkShare>& out) const {
  std::vector<std::uint32_t> steps;
  std::visit([&](const auto& layout) { layout.append_path(a, b, index, steps); }, shape_.layout);
  Duration latency;
  for (const std::uint32_t step : steps) {
    out.push_back({LinkId(first_trunk_ + step), weight});
    latency += sorts_[cables_[step / 2].sort].wire.latency;
  }
  return latency;
}

Duration GraphFabric::append_path(const PortPair& ends, std::int64_t index, std::int64_t weight,
                                  std::vector<LinkShare>& out) const {
  out.push_back({port_up(ends.from), weight});
  const Duration trunks = append_trunks(switch_of(ends.from), switch_of(ends.to), index, weight, out);
  out.push_back({port_down(ends.to), weight});
  return shape_.host.latency * 2 + trunks;
}

Duration GraphFabric::append_spray(const PortPair& ends, std::int64_t weight, std::vector<LinkShare>& out) const {
  const std::int64_t paths = path_count(ends);
  LOCKSTEP_CHECK(paths > 0 && weight % paths == 0, "weight {} over {} equal-cost paths", weight, paths);
  out.push_back({port_up(ends.from), weight});
  out.push_back({port_down(ends.to), weight});
  const std::size_t first_trunk = out.size();
  Duration longest;
  for (std::int64_t i = 0; i < paths; ++i) {
    longest = std::max(longest, append_trunks(switch_of(ends.from), switch_of(ends.to), i, weight / paths, out));
  }
  if (paths > 1) merge_shares(out, first_trunk);
  return shape_.host.latency * 2 + longest;
}

}  // namespace lockstep
