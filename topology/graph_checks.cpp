// SPDX-License-Identifier: Apache-2.0
#include "topology/graph_checks.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/field_table.h"
#include "topology/cluster_checks.h"
#include "topology/hardware/limits.h"

namespace lockstep {
namespace {

std::string_view node_key(const ClusterSpec& c) { return c.nodes ? "nodes" : "endpoints"; }

// Cables between switches.
double cable_count(const FabricSpec& f) {
  if (f.dragonfly) {
    const double groups = f.dragonfly->groups;
    const double routers = f.dragonfly->routers_per_group;
    return groups * routers * (routers - 1) / 2 + groups * (groups - 1) / 2 * f.dragonfly->global_cables;
  }
  if (f.torus) {
    double cables = static_cast<double>(f.torus->dimensions.size());
    for (const int d : f.torus->dimensions) cables *= d;
    return cables;
  }
  double cables = 0;
  for (const CustomCableSpec& cable : f.custom->cables) cables += cable.count;
  return cables;
}

bool needs_fabric_link(const FabricSpec& f) {
  if (!f.custom) return cable_count(f) > 0;
  const auto is_plain = [](const CustomCableSpec& c) { return !c.speed || !c.latency; };
  return std::any_of(f.custom->cables.begin(), f.custom->cables.end(), is_plain);
}

void check_links(const ClusterSpec& c, Section& at) {
  const double inside = c.server ? 2.0 * c.server->gpus + c.ports_per_node() : 0;
  const double links = 2 * (c.node_count() * (inside + c.ports_per_node()) + cable_count(c.fabric));
  if (links <= static_cast<double>(kMostLinks)) return;
  at.error(node_key(c), fmt::format("the cluster would have {:.3g} links, more than {}", links, kMostLinks),
           "fewer nodes, switches or cables");
}

// Cables in parallel are given where switches are.
void check_parallel_cables(const ClusterSpec& c, Section& at) {
  if (c.fabric_link.cables > 1) {
    at.error("fabric_link.cables", "counts cables between a leaf and a spine, which this fabric does not have",
             c.fabric.custom ? "give count with a cable of fabric.custom.cables" : "give the speed of all of them as speed");
  }
  if (c.core_link.cables > 1) {
    at.error("core_link.cables", "counts cables between a spine and a core, which this fabric does not have",
             c.fabric.dragonfly ? "give fabric.dragonfly.global_cables" : "remove it");
  }
}

void check_unused_links(const ClusterSpec& c, Section& at) {
  if (c.fabric.dragonfly || (!c.core_link.speed && !c.core_link.latency)) return;
  at.warning(
      "core_link",
      fmt::format("has no effect: a {} has one sort of links between switches", c.fabric.torus ? "torus" : "custom graph"),
      "give fabric_link, or remove it");
}

void check_room(const ClusterSpec& c, Section& at) {
  const int nodes = c.node_count();
  if (c.fabric.dragonfly) {
    const DragonflySpec& d = *c.fabric.dragonfly;
    const std::int64_t room = capacity(d);
    if (room >= nodes) return;
    const std::int64_t in_group = std::int64_t{d.routers_per_group} * d.nodes_per_router;
    at.error("fabric.dragonfly.groups",
             fmt::format("{} groups of {} routers have room for {} nodes, and the cluster has {}", d.groups,
                         d.routers_per_group, room, nodes),
             fmt::format("at least {} groups", (nodes - 1) / in_group + 1));
  }
  if (c.fabric.torus) {
    const std::int64_t room = capacity(*c.fabric.torus);
    if (room >= nodes) return;
    at.error("fabric.torus.dimensions", fmt::format("the torus has room for {} nodes, and the cluster has {}", room, nodes),
             "larger dimensions, or more nodes_per_switch");
  }
}

// Which entry of `hosts` attaches each port.
class Attachment {
 public:
  Attachment(const ClusterSpec& c, Section& at)
      : c_(c),
        at_(at),
        ports_(c.ports_per_node()),
        entry_(static_cast<std::size_t>(c.node_count()) * static_cast<std::size_t>(ports_), kNone) {}

  void check() {
    const std::vector<HostSpec>& hosts = c_.fabric.custom->hosts;
    for (std::size_t i = 0; i < hosts.size(); ++i) attach(hosts[i], i);
    const auto missing = std::find(entry_.begin(), entry_.end(), kNone);
    if (missing == entry_.end()) return;
    const auto at = static_cast<std::size_t>(missing - entry_.begin());
    at_.error("fabric.custom.hosts",
              fmt::format("{} of {} ports are attached to no switch, the first of them {}",
                          std::count(entry_.begin(), entry_.end(), kNone), entry_.size(), port_name(at)),
              fmt::format("{} are 0 to {}{}", node_key(c_), c_.node_count() - 1,
                          ports_ > 1 ? fmt::format(", ports 0 to {}", ports_ - 1) : ""));
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  [[nodiscard]] std::string port_name(std::size_t at) const {
    const std::size_t node = at / static_cast<std::size_t>(ports_);
    if (ports_ == 1) return fmt::format("that of node {}", node);
    return fmt::format("port {} of node {}", at % static_cast<std::size_t>(ports_), node);
  }

  void attach(const HostSpec& h, std::size_t i) {
    const std::string key = join_path("fabric.custom.hosts", i);
    if (h.nodes.highest() >= c_.node_count()) {
      at_.error(key + ".nodes", fmt::format("the cluster has no node {}", h.nodes.highest()),
                fmt::format("{} are 0 to {}", node_key(c_), c_.node_count() - 1));
      return;
    }
    if (h.port.value_or(0) >= ports_) {
      at_.error(key + ".port", fmt::format("nodes have no port {}", *h.port), fmt::format("ports are 0 to {}", ports_ - 1));
      return;
    }
    bool is_first_time = true;
    for (std::int64_t n = h.nodes.first; n <= h.nodes.last; n += h.nodes.step) {
      for (int p = h.port.value_or(0); p <= h.port.value_or(ports_ - 1); ++p) {
        const auto port = static_cast<std::size_t>(n * ports_ + p);
        if (entry_[port] != kNone && is_first_time) {
          at_.error(key, fmt::format("attaches {}, which hosts[{}] has attached", port_name(port), entry_[port]),
                    "attach every port once");
          is_first_time = false;
        }
        entry_[port] = i;
      }
    }
  }

  const ClusterSpec& c_;
  Section& at_;
  int ports_;
  std::vector<std::size_t> entry_;
};

void check_switch_ports(const ClusterSpec& c, Section& at) {
  if (!c.fabric.switch_ports) return;
  const std::int64_t used = most_ports_used(*cluster_graph(c));
  if (used <= *c.fabric.switch_ports) return;
  at.error("fabric.switch_ports", fmt::format("a switch needs {} ports and has {}", used, *c.fabric.switch_ports),
           "fewer nodes on a switch, or fewer cables");
}

}  // namespace

void check_graph(const ClusterSpec& c, Section& at) {
  const std::size_t errors = at.error_count();
  check_parallel_cables(c, at);
  check_unused_links(c, at);
  check_room(c, at);
  check_links(c, at);
  if (c.fabric.custom) Attachment(c, at).check();
  check_cables(c, at, needs_fabric_link(c.fabric), c.fabric.dragonfly && c.fabric.dragonfly->groups > 1);
  if (at.error_count() == errors) check_switch_ports(c, at);
}

}  // namespace lockstep
