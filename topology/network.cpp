// SPDX-License-Identifier: Apache-2.0
#include "topology/network.h"

#include <utility>

#include "base/check.h"
#include "base/diagnostics.h"

namespace lockstep {

Network::Network(Server server, FoldedClos fabric, std::uint32_t nodes)
    : server_(std::move(server)), fabric_(std::move(fabric)), nodes_(nodes) {
  std::visit(
      [this](const auto& s) {
        endpoints_per_node_ = s.endpoints();
        nics_per_node_ = s.nics();
        node_devices_ = s.device_count();
        node_links_ = s.link_count();
      },
      server_);
}

DeviceKind Network::kind(DeviceId id) const {
  LOCKSTEP_CHECK(id.index() < device_count(), "device {} of {}", id.value(), device_count());
  if (id.value() >= nodes_ * node_devices_) return fabric_.kind(id);
  return std::visit([&](const auto& s) { return s.kind(id.value() % node_devices_); }, server_);
}

std::span<const LinkId> Network::links_from(DeviceId id) const {
  return std::span(row_).subspan(row_start_[id.index()], row_start_[id.index() + 1] - row_start_[id.index()]);
}

std::string Network::name(DeviceId id) const {
  LOCKSTEP_CHECK(id.index() < device_count(), "device {} of {}", id.value(), device_count());
  if (id.value() >= nodes_ * node_devices_) return fabric_.name(id);
  return std::visit([&](const auto& s) { return s.name(id.value() / node_devices_, id.value() % node_devices_); }, server_);
}

std::string Network::name(LinkId id) const {
  const Link& l = link(id);
  std::string text = name(l.from) + '>' + name(l.to);
  const bool parallel = (l.tier == LinkTier::kLeafSpine && fabric_.shape().leaf_spine_cables > 1) ||
                        (l.tier == LinkTier::kSpineCore && fabric_.shape().spine_core_cables > 1);
  if (parallel) text += fmt::format("#{}", fabric_.cable_number(id));
  return text;
}

std::size_t Network::endpoint_count() const { return std::size_t{nodes_} * static_cast<std::size_t>(endpoints_per_node_); }

int Network::local(EndpointId e) const { return static_cast<int>(e.value() % static_cast<std::uint32_t>(endpoints_per_node_)); }

DeviceId Network::device_of(EndpointId e) const {
  return DeviceId(node_of(e).value() * node_devices_ + static_cast<std::uint32_t>(local(e)));
}

NodeId Network::node_of(EndpointId e) const { return NodeId(e.value() / static_cast<std::uint32_t>(endpoints_per_node_)); }

EndpointId Network::endpoint(NodeId n, int index) const {
  return EndpointId(n.value() * static_cast<std::uint32_t>(endpoints_per_node_) + static_cast<std::uint32_t>(index));
}

std::uint32_t Network::rack_of(NodeId n) const { return fabric_.leaf_of(n.value(), 0); }

std::uint32_t Network::pod_of(NodeId n) const { return fabric_.pod_of_leaf(rack_of(n)); }

int Network::nearest_nic(EndpointId e) const { return local(e) * nics_per_node_ / endpoints_per_node_; }

Network::Ends Network::ends(const Hop& hop) const {
  const auto port = [this](EndpointId e, int nic) {
    const int chosen = nic == Hop::kNearestNic ? nearest_nic(e) : nic;
    LOCKSTEP_CHECK(chosen >= 0 && (chosen < nics_per_node_ || (chosen == 0 && nics_per_node_ == 0)), "NIC {} of a node with {}",
                   chosen, nics_per_node_);
    return FoldedClos::Port{node_of(e).value(), static_cast<std::uint32_t>(chosen)};
  };
  return {port(hop.from, hop.from_nic), port(hop.to, hop.to_nic)};
}

std::int64_t Network::path_count(const Hop& hop) const {
  if (stays_inside(hop)) return 1;
  if (fabric_.leaves() == 0) return 0;
  const Ends e = ends(hop);
  return fabric_.path_count(e.from, e.to);
}

void Network::append_inside(const Hop& hop, std::vector<LinkId>& out) const {
  const std::uint32_t first = node_of(hop.from).value() * node_links_;
  std::visit([&](const auto& s) { s.append_inside(first, local(hop.from), local(hop.to), out); }, server_);
}

void Network::append_out(EndpointId from, std::uint32_t port, std::vector<LinkId>& out) const {
  const std::uint32_t first = node_of(from).value() * node_links_;
  std::visit([&](const auto& s) { s.append_out(first, local(from), static_cast<int>(port), out); }, server_);
}

void Network::append_in(std::uint32_t port, EndpointId to, std::vector<LinkId>& out) const {
  const std::uint32_t first = node_of(to).value() * node_links_;
  std::visit([&](const auto& s) { s.append_in(first, static_cast<int>(port), local(to), out); }, server_);
}

void Network::require_connected(const Hop& hop) const {
  LOCKSTEP_CHECK(hop.from != hop.to, "endpoint {} sends to itself", hop.from.value());
  LOCKSTEP_CHECK(hop.from.index() < endpoint_count() && hop.to.index() < endpoint_count(), "hop {} > {} of {} endpoints",
                 hop.from.value(), hop.to.value(), endpoint_count());
  if (path_count(hop) > 0) return;
  throw UserError(fmt::format("{} cannot reach {}: no path joins them", name(device_of(hop.from)), name(device_of(hop.to))),
                  "give the nodes NICs and the fabric enough switch tiers to join its leaves");
}

void Network::append_path(const Hop& hop, std::int64_t index, std::vector<LinkId>& out) const {
  require_connected(hop);
  LOCKSTEP_CHECK(index >= 0, "path {}", index);
  if (stays_inside(hop)) return append_inside(hop, out);
  const Ends e = ends(hop);
  append_out(hop.from, e.from.port, out);
  fabric_.append_path(e.from, e.to, index % fabric_.path_count(e.from, e.to), out);
  append_in(e.to.port, hop.to, out);
}

void Network::append_spray(const Hop& hop, std::int64_t weight, std::vector<LinkShare>& out) const {
  require_connected(hop);
  std::vector<LinkId> whole;
  if (stays_inside(hop)) {
    append_inside(hop, whole);
  } else {
    const Ends e = ends(hop);
    append_out(hop.from, e.from.port, whole);
    append_in(e.to.port, hop.to, whole);
    fabric_.append_spray(e.from, e.to, weight, out);
  }
  for (const LinkId l : whole) out.push_back({l, weight});
}

}  // namespace lockstep
