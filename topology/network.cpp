// SPDX-License-Identifier: Apache-2.0
#include "topology/network.h"

#include <algorithm>

#include "base/check.h"
#include "base/diagnostics.h"

namespace lockstep {

namespace {

NodeBlock block_of(const Server& server) {
  return std::visit([](const auto& s) { return NodeBlock{s.device_count(), s.link_count(), s.port_devices()}; }, server);
}

Fabric fabric_of(const NetworkPlan& plan) {
  if (plan.graph) return GraphFabric(*plan.graph, plan.nodes, block_of(plan.server));
  return FoldedClos(plan.fabric, plan.nodes, block_of(plan.server));
}

}  // namespace

Network::Network(const NetworkPlan& plan)
    : server_(plan.server),
      fabric_(fabric_of(plan)),
      nodes_(plan.nodes),
      has_nvls_(plan.has_nvls),
      has_in_network_reduction_(plan.has_in_network_reduction) {
  std::visit(
      [this](const auto& s) {
        endpoints_per_node_ = s.endpoints();
        nics_per_node_ = s.nics();
        node_devices_ = s.device_count();
        node_links_ = s.link_count();
        links_of_node_ = s.links();
        has_ports_ = !s.port_devices().empty();
      },
      server_);
  std::visit(
      [this, &plan](const auto& f) {
        switches_ = f.device_count();
        link_count_ = f.first_link().index() + f.link_count();
        keeps_rails_ = f.keeps_rails();
        uses_pxn_ = plan.uses_pxn && f.has_rails();
      },
      fabric_);
  LOCKSTEP_CHECK(links_of_node_.size() == node_links_, "{} links in a node, {} numbered", links_of_node_.size(), node_links_);
}

Network Network::with(std::vector<LinkCondition> conditions, std::vector<std::string> reasons,
                      std::optional<SurvivingPaths> paths) const {
  LOCKSTEP_CHECK(conditions_.empty() && !paths_, "a network with {} broken links breaks again", conditions_.size());
  Network broken = *this;
  broken.conditions_ = std::move(conditions);
  broken.reasons_ = std::move(reasons);
  broken.paths_ = std::move(paths);
  broken.has_failed_links_ =
      std::any_of(broken.conditions_.begin(), broken.conditions_.end(), [](const LinkCondition& c) { return c.is_failed; });
  broken.find_dead_nics();
  return broken;
}

const LinkCondition* Network::condition(LinkId link) const {
  const auto at = std::lower_bound(conditions_.begin(), conditions_.end(), link,
                                   [](const LinkCondition& c, LinkId l) { return c.link < l; });
  return at != conditions_.end() && at->link == link ? &*at : nullptr;
}

bool Network::is_failed(LinkId link) const {
  const LinkCondition* c = condition(link);
  return c != nullptr && c->is_failed;
}

// A NIC is down when it cannot send to its switch or to the inside of its node, or not receive from there.
void Network::find_dead_nics() {
  if (nics_per_node_ == 0) return;
  const auto ports = std::visit([](const auto& s) { return s.port_devices(); }, server_);
  for (const LinkCondition& c : conditions_) {
    if (!c.is_failed) continue;
    const Link l = link(c.link);
    for (const DeviceId end : {l.from, l.to}) {
      if (end >= first_switch() || kind(end) != DeviceKind::kNic) continue;
      const auto nic = std::find(ports.begin(), ports.end(), end.value() % node_devices_) - ports.begin();
      dead_nics_.push_back(std::uint64_t{end.value() / node_devices_} * static_cast<std::uint64_t>(nics_per_node_) +
                           static_cast<std::uint64_t>(nic));
    }
  }
  std::sort(dead_nics_.begin(), dead_nics_.end());
  dead_nics_.erase(std::unique(dead_nics_.begin(), dead_nics_.end()), dead_nics_.end());
}

bool Network::is_nic_up(NodeId node, int nic) const { return is_port_up({node.value(), static_cast<std::uint32_t>(nic)}); }

bool Network::is_port_up(const NodePort& p) const {
  if (dead_nics_.empty()) return true;
  const std::uint64_t number = std::uint64_t{p.node} * static_cast<std::uint64_t>(nics_per_node_) + p.port;
  return !std::binary_search(dead_nics_.begin(), dead_nics_.end(), number);
}

std::uint32_t Network::working_nic(std::uint32_t node, std::uint32_t nic) const {
  const auto nics = static_cast<std::uint32_t>(std::max(nics_per_node_, 1));
  for (std::uint32_t i = 0; i < nics; ++i) {
    const NodePort p{node, (nic + i) % nics};
    if (is_port_up(p)) return p.port;
  }
  return nic;
}

Link Network::link(LinkId id) const {
  Link l;
  if (id >= first_fabric_link()) {
    LOCKSTEP_CHECK(id.index() < link_count(), "link {} of {}", id.value(), link_count());
    l = std::visit([id](const auto& f) { return f.link(id); }, fabric_);
  } else {
    const std::uint32_t first_device = id.value() / node_links_ * node_devices_;
    l = links_of_node_[id.value() % node_links_];
    l.from = DeviceId(first_device + l.from.value());
    l.to = DeviceId(first_device + l.to.value());
  }
  if (conditions_.empty()) return l;
  if (const LinkCondition* c = condition(id)) {
    l.capacity = c->capacity;
    l.nominal = c->nominal;
  }
  return l;
}

DeviceKind Network::kind(DeviceId id) const {
  LOCKSTEP_CHECK(id.index() < device_count(), "device {} of {}", id.value(), device_count());
  if (id >= first_switch()) return std::visit([id](const auto& f) { return f.kind(id); }, fabric_);
  return std::visit([&](const auto& s) { return s.kind(id.value() % node_devices_); }, server_);
}

std::string Network::name(DeviceId id) const {
  LOCKSTEP_CHECK(id.index() < device_count(), "device {} of {}", id.value(), device_count());
  if (id >= first_switch()) return std::visit([id](const auto& f) { return f.name(id); }, fabric_);
  return std::visit([&](const auto& s) { return s.name(id.value() / node_devices_, id.value() % node_devices_); }, server_);
}

std::string Network::name(LinkId id) const {
  const Link l = link(id);
  std::string text = name(l.from) + '>' + name(l.to);
  if (id < first_fabric_link()) return text;
  const std::optional<std::uint32_t> cable = std::visit([id](const auto& f) { return f.cable_number(id); }, fabric_);
  return cable ? text + fmt::format("#{}", *cable) : text;
}

std::size_t Network::rack_count() const {
  return std::visit([](const auto& f) { return std::size_t{f.racks()}; }, fabric_);
}

std::size_t Network::pod_count() const {
  return std::visit([](const auto& f) { return std::size_t{f.pods()}; }, fabric_);
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

std::uint32_t Network::rack_of(NodeId n) const {
  return std::visit([n](const auto& f) { return f.rack_of(n.value()); }, fabric_);
}

std::uint32_t Network::pod_of(NodeId n) const {
  return std::visit([n](const auto& f) { return f.pod_of(n.value()); }, fabric_);
}

int Network::own_nic(EndpointId e) const { return local(e) * nics_per_node_ / endpoints_per_node_; }

int Network::nearest_nic(EndpointId e) const {
  const int nic = own_nic(e);
  if (dead_nics_.empty()) return nic;
  return static_cast<int>(working_nic(node_of(e).value(), static_cast<std::uint32_t>(nic)));
}

LinkTier Network::inside_tier(EndpointId a, EndpointId b) const {
  LOCKSTEP_CHECK(node_of(a) == node_of(b) && a != b, "endpoints {} and {} are not two of one node", a.value(), b.value());
  return std::visit([&](const auto& s) { return s.inside_tier(local(a), local(b)); }, server_);
}

int Network::direct_links(EndpointId a, EndpointId b) const {
  LOCKSTEP_CHECK(node_of(a) == node_of(b) && a != b, "endpoints {} and {} are not two of one node", a.value(), b.value());
  return std::visit([&](const auto& s) { return s.direct_links(local(a), local(b)); }, server_);
}

std::size_t Network::links_to_nic(EndpointId e, int nic) const {
  LOCKSTEP_CHECK(nic >= 0 && nic < nics_per_node_, "NIC {} of a node with {}", nic, nics_per_node_);
  return std::visit([&](const auto& s) { return s.path_out(local(e), nic).size(); }, server_);
}

int Network::forwarder_to(int nic, int gpu) const {
  const int gpus = endpoints_per_node_;
  // More NICs than GPUs: GPU g owns the NICs from g * nics / gpus on, up to those of the next.
  const bool has_runs = nics_per_node_ > gpus;
  const int next_to = has_runs ? ((nic + 1) * gpus - 1) / nics_per_node_ : (nic * gpus + nics_per_node_ - 1) / nics_per_node_;
  if (next_to == gpu || (!has_runs && gpu * nics_per_node_ / gpus == nic)) return gpu;
  const LinkTier way = std::visit([&](const auto& s) { return s.inside_tier(gpu, next_to); }, server_);
  return way == LinkTier::kNvlink || way == LinkTier::kXgmi ? next_to : gpu;
}

Network::Ends Network::ends(const Hop& hop) const {
  const auto port = [this](EndpointId e, int nic) {
    const int chosen = nic == Hop::kNearestNic ? nearest_nic(e) : nic;
    LOCKSTEP_CHECK(chosen >= 0 && (chosen < nics_per_node_ || (chosen == 0 && nics_per_node_ == 0)), "NIC {} of a node with {}",
                   chosen, nics_per_node_);
    const std::uint32_t node = node_of(e).value();
    const auto nic_number = static_cast<std::uint32_t>(chosen);
    return NodePort{node, dead_nics_.empty() ? nic_number : working_nic(node, nic_number)};
  };
  Ends e{.ports = {port(hop.from, hop.from_nic), port(hop.to, hop.to_nic)}};
  const auto is_forwarded = [&] {
    const bool is_free = hop.from_nic == Hop::kNearestNic && hop.to_nic == Hop::kNearestNic;
    const int sender = local(hop.from);
    return uses_pxn_ && is_free && forwarder_to(static_cast<int>(e.ports.to.port), sender) != sender;
  };
  NodePort& from = e.ports.from;
  NodePort& to = e.ports.to;
  // On a rail that works at both ends, if there is one.
  std::uint32_t rail = to.port;
  for (int i = 0; i < nics_per_node_ && !(is_port_up({from.node, rail}) && is_port_up({to.node, rail})); ++i) {
    rail = (rail + 1) % static_cast<std::uint32_t>(nics_per_node_);
  }
  if (keeps_rails_) to.port = rail;
  e.changes_rails = from.port != to.port && (keeps_rails_ || (rail == to.port && is_forwarded()));
  if (e.changes_rails) from.port = to.port;
  return e;
}

std::int64_t Network::path_count(const Hop& hop) const {
  if (stays_inside(hop)) return 1;
  if (!has_ports_) return 0;
  if (paths_) return paths_->path_count(fabric_, ends(hop).ports);
  return std::visit([&](const auto& f) { return f.path_count(ends(hop).ports); }, fabric_);
}

std::int64_t Network::max_path_count() const {
  return std::visit([](const auto& f) { return f.max_path_count(); }, fabric_);
}

std::int64_t Network::spray_weight() const {
  if (paths_) return paths_->spray_weight();
  return std::visit([](const auto& f) { return f.spray_weight(); }, fabric_);
}

LinkId Network::first_of_bundle(LinkId link) const {
  if (paths_) return paths_->first_of_bundle(fabric_, link);
  return std::visit([link](const auto& f) { return f.first_of_bundle(link); }, fabric_);
}

// Failed links on the usual ways of the hop.
void Network::append_broken(const Hop& hop, std::vector<LinkId>& out) const {
  if (stays_inside(hop) || !has_ports_) return;
  const auto failed = [this](const LinkShare& s) { return is_failed(s.link); };
  std::visit(
      [&](const auto& f) {
        const PortPair& ports = ends(hop).ports;
        std::vector<LinkShare> links;
        const std::int64_t weight = f.spray_weight();
        if (f.path_count(ports) > 0) f.append_spray(ports, weight, links);
        std::sort(links.begin(), links.end());
        for (const LinkShare& s : links) {
          if (failed(s)) out.push_back(s.link);
        }
      },
      fabric_);
}

void Network::refuse(const Hop& hop, LinkId broken) const {
  std::vector<LinkId> links;
  if (!broken.is_none()) links.push_back(broken);
  if (has_failed_links_ && links.empty()) append_broken(hop, links);
  if (!links.empty()) {
    constexpr std::size_t kNamed = 4;
    std::vector<std::uint32_t> faults;
    for (const LinkId l : links) faults.push_back(condition(l)->fault);
    std::sort(faults.begin(), faults.end());
    faults.erase(std::unique(faults.begin(), faults.end()), faults.end());
    std::string text;
    for (std::size_t i = 0; i < std::min(kNamed, faults.size()); ++i) text += (i == 0 ? "" : ", ") + reasons_[faults[i]];
    if (faults.size() > kNamed) text += fmt::format(" and {} more", faults.size() - kNamed);
    throw SimulationError(
        fmt::format("{} cannot reach {}: no path is left ({})", name(device_of(hop.from)), name(device_of(hop.to)), text));
  }
  throw UserError(fmt::format("{} cannot reach {}: no path joins them", name(device_of(hop.from)), name(device_of(hop.to))),
                  "give the nodes NICs and the fabric enough switch tiers to join its leaves");
}

template <class AppendFabric>
Duration Network::append(const Hop& hop, std::int64_t weight, std::vector<LinkShare>& out,
                         const AppendFabric& append_fabric) const {
  LOCKSTEP_CHECK(hop.from != hop.to, "endpoint {} sends to itself", hop.from.value());
  LOCKSTEP_CHECK(hop.from.index() < endpoint_count() && hop.to.index() < endpoint_count(), "hop {} > {} of {} endpoints",
                 hop.from.value(), hop.to.value(), endpoint_count());
  const auto add = [&](NodeId node, const auto& local_links) {
    for (const std::uint32_t l : local_links) out.push_back({LinkId(node.value() * node_links_ + l), weight});
  };
  const std::size_t first = out.size();
  const Duration total = std::visit(
      [&](const auto& s, const auto& fabric) {
        const NodeId from = node_of(hop.from);
        const NodeId to = node_of(hop.to);
        if (from == to) {
          add(from, s.path_inside(local(hop.from), local(hop.to)));
          return s.inside_latency(local(hop.from), local(hop.to));
        }
        if (!has_ports_) refuse(hop);
        const Ends e = ends(hop);
        if ((paths_ ? paths_->path_count(fabric_, e.ports) : fabric.path_count(e.ports)) == 0) refuse(hop);
        const auto from_port = static_cast<int>(e.ports.from.port);
        const auto to_port = static_cast<int>(e.ports.to.port);
        int sender = local(hop.from);
        Duration latency;
        if (const int forwarder = e.changes_rails ? forwarder_to(from_port, sender) : sender; forwarder != sender) {
          add(from, s.path_inside(sender, forwarder));
          latency += s.inside_latency(sender, forwarder);
          sender = forwarder;
        }
        add(from, s.path_out(sender, from_port));
        latency += s.port_latency(sender, from_port) + append_fabric(fabric, e.ports);
        add(to, s.path_in(to_port, local(hop.to)));
        return latency + s.port_latency(local(hop.to), to_port);
      },
      server_, fabric_);
  for (std::size_t i = first; has_failed_links_ && i < out.size(); ++i) {
    if (is_failed(out[i].link)) refuse(hop, out[i].link);
  }
  return total;
}

Duration Network::append_path(const Hop& hop, std::int64_t index, std::int64_t weight, std::vector<LinkShare>& out) const {
  LOCKSTEP_CHECK(index >= 0, "path {}", index);
  return append(hop, weight, out, [&](const auto& f, const PortPair& e) {
    if (paths_) return paths_->append_path(fabric_, e, index, weight, out);
    return f.append_path(e, index % f.path_count(e), weight, out);
  });
}

Duration Network::append_spray(const Hop& hop, std::int64_t weight, std::vector<LinkShare>& out) const {
  return append(hop, weight, out, [&](const auto& f, const PortPair& e) {
    return paths_ ? paths_->append_spray(fabric_, e, weight, out) : f.append_spray(e, weight, out);
  });
}

Duration Network::append_bundles(const Hop& hop, std::int64_t weight, std::vector<LinkShare>& out) const {
  return append(hop, weight, out, [&](const auto& f, const PortPair& e) {
    return paths_ ? paths_->append_bundles(fabric_, e, weight, out) : f.append_bundles(e, weight, out);
  });
}

}  // namespace lockstep
