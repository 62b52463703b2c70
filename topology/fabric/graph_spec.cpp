// SPDX-License-Identifier: Apache-2.0
#include "topology/fabric/graph_spec.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/check.h"
#include "base/field_table.h"
#include "topology/hardware/limits.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostDimensions = 6;  // 64 equal-cost paths

// All ports of a node on one switch, switches filled in order.
std::vector<std::uint32_t> fill_switches(int nodes, int ports_per_node, int nodes_per_switch) {
  std::vector<std::uint32_t> out;
  for (int n = 0; n < nodes; ++n) {
    for (int p = 0; p < ports_per_node; ++p) out.push_back(static_cast<std::uint32_t>(n / nodes_per_switch));
  }
  return out;
}

std::map<std::string, std::uint32_t> number_switches(const CustomSpec& spec) {
  std::map<std::string, std::uint32_t> numbers;
  for (const SwitchSpec& s : spec.switches) numbers.emplace(s.name, static_cast<std::uint32_t>(numbers.size()));
  return numbers;
}

// Numbers names by first appearance, from 0.
class PlaceNumbers {
 public:
  std::uint32_t number(const std::string& name) {
    return numbers_.emplace(name, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

 private:
  std::map<std::string, std::uint32_t> numbers_;
};

// Cables from the nearest switch with nodes; the tier of a switch that has none given.
std::vector<int> distances(std::size_t switches, const std::vector<SwitchCable>& cables,
                           const std::vector<std::uint32_t>& roots) {
  std::vector<std::vector<std::uint32_t>> neighbours(switches);
  for (const SwitchCable& c : cables) {
    neighbours[c.from].push_back(c.to);
    neighbours[c.to].push_back(c.from);
  }
  std::vector<int> distance(switches, -1);
  std::vector<std::uint32_t> queue;
  const auto reach = [&](std::uint32_t s, int d) {
    if (distance[s] >= 0) return;
    distance[s] = d;
    queue.push_back(s);
  };
  for (const std::uint32_t r : roots) reach(r, 0);
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const std::uint32_t n : neighbours[queue[i]]) reach(n, distance[queue[i]] + 1);
  }
  return distance;
}

std::vector<CustomSwitch> custom_switches(const CustomSpec& spec, const std::vector<int>& distance) {
  std::vector<CustomSwitch> out;
  PlaceNumbers racks;
  PlaceNumbers pods;
  for (std::size_t i = 0; i < spec.switches.size(); ++i) {
    const SwitchSpec& s = spec.switches[i];
    // WHY the prefixes: a switch without a rack is a rack of its own, whatever others are called; those without a pod share
    // one.
    out.push_back({.name = s.name,
                   .tier = s.tier.value_or(std::max(distance[i], 0)),
                   .rack = racks.number(s.rack ? "rack " + *s.rack : "switch " + s.name),
                   .pod = pods.number(s.pod ? "pod " + *s.pod : "")});
  }
  return out;
}

}  // namespace

std::int64_t capacity(const DragonflySpec& s) { return std::int64_t{s.groups} * s.routers_per_group * s.nodes_per_router; }

std::int64_t capacity(const TorusSpec& s) {
  return std::accumulate(s.dimensions.begin(), s.dimensions.end(), std::int64_t{s.nodes_per_switch},
                         [](std::int64_t product, int d) { return product * d; });
}

GraphShape shape_dragonfly(const DragonflySpec& s, const GraphWires& wires, int nodes, int ports_per_node) {
  return {.layout = Dragonfly({.groups = s.groups, .routers_per_group = s.routers_per_group, .global_cables = s.global_cables},
                              wires.trunk, wires.global),
          .switch_of_port = fill_switches(nodes, ports_per_node, s.nodes_per_router),
          .host = wires.host};
}

GraphShape shape_torus(const TorusSpec& s, const GraphWires& wires, int nodes, int ports_per_node) {
  return {.layout = Torus(s.dimensions, wires.trunk),
          .switch_of_port = fill_switches(nodes, ports_per_node, s.nodes_per_switch),
          .host = wires.host};
}

GraphShape shape_custom(const CustomSpec& spec, const GraphWires& wires, int nodes, int ports_per_node) {
  const std::map<std::string, std::uint32_t> numbers = number_switches(spec);
  std::vector<SwitchCable> cables;
  std::vector<CableSort> sorts;
  for (const CustomCableSpec& c : spec.cables) {
    CableSort sort{.wire = wires.trunk, .tier = LinkTier::kSwitch};
    if (c.speed) sort.wire.nominal = *c.speed;
    if (c.speed) sort.wire.capacity = wires.payload_share == 1 ? *c.speed : c.speed->scaled(wires.payload_share);
    if (c.latency) sort.wire.latency = *c.latency;
    const auto number = static_cast<std::uint32_t>(sorts.size());
    sorts.push_back(sort);
    for (int i = 0; i < c.count; ++i) cables.push_back({numbers.at(c.from), numbers.at(c.to), number});
  }
  constexpr std::uint32_t kNowhere = 0xffff'ffffu;
  std::vector<std::uint32_t> switch_of_port(static_cast<std::size_t>(nodes) * static_cast<std::size_t>(ports_per_node),
                                            kNowhere);
  for (const HostSpec& h : spec.hosts) {
    const std::uint32_t on = numbers.at(h.on);
    for (std::int64_t n = h.nodes.first; n <= h.nodes.last; n += h.nodes.step) {
      for (int p = h.port.value_or(0); p <= h.port.value_or(ports_per_node - 1); ++p) {
        switch_of_port[static_cast<std::size_t>(n * ports_per_node + p)] = on;
      }
    }
  }
  const bool has_all = std::find(switch_of_port.begin(), switch_of_port.end(), kNowhere) == switch_of_port.end();
  LOCKSTEP_CHECK(has_all, "a custom graph of {} switches leaves ports of {} nodes unattached", spec.switches.size(), nodes);
  std::vector<CustomSwitch> switches = custom_switches(spec, distances(spec.switches.size(), cables, switch_of_port));
  return {.layout = CustomGraph(std::move(switches), std::move(cables), std::move(sorts), switch_of_port),
          .switch_of_port = switch_of_port,
          .host = wires.host};
}

const FieldTable<DragonflySpec>& dragonfly_fields() {
  static const FieldTable<DragonflySpec> table = [] {
    FieldTable<DragonflySpec> t;
    t.field("groups", &DragonflySpec::groups)
        .required()
        .range(1, kMostSwitches)
        .doc("groups, all of them cabled to each other");
    t.field("routers_per_group", &DragonflySpec::routers_per_group)
        .required()
        .range(1, kMostSwitches)
        .doc("switches of a group, all of them cabled to each other");
    t.field("nodes_per_router", &DragonflySpec::nodes_per_router)
        .range(1, kMostNodes)
        .doc("servers (or bare hosts) on a switch, with all their ports");
    t.field("global_cables", &DragonflySpec::global_cables)
        .range(1, kMostCables)
        .doc("cables between each pair of groups, dealt to the routers in turns");
    t.validate([](const DragonflySpec& s, Section& at) {
      const std::int64_t routers = std::int64_t{s.groups} * s.routers_per_group;
      if (routers <= kMostSwitches) return;
      at.error("groups", fmt::format("{} groups of {} routers are {} switches", s.groups, s.routers_per_group, routers),
               fmt::format("at most {}", kMostSwitches));
    });
    return t;
  }();
  return table;
}

const FieldTable<TorusSpec>& torus_fields() {
  static const FieldTable<TorusSpec> table = [] {
    FieldTable<TorusSpec> t;
    t.field("dimensions", &TorusSpec::dimensions)
        .required()
        .range(1, kMostSwitches)
        .doc("switches in each dimension, like [4, 4, 4]; routed in this order");
    t.field("nodes_per_switch", &TorusSpec::nodes_per_switch)
        .range(1, kMostNodes)
        .doc("servers (or bare hosts) on a switch, with all their ports");
    t.validate([](const TorusSpec& s, Section& at) {
      if (s.dimensions.empty() || s.dimensions.size() > kMostDimensions) {
        at.error("dimensions", fmt::format("a torus has 1 to {} dimensions, not {}", kMostDimensions, s.dimensions.size()),
                 "like [4, 4, 4]");
        return;
      }
      double switches = 1;
      for (const int d : s.dimensions) switches *= d;
      if (switches > kMostSwitches) {
        at.error("dimensions", fmt::format("the torus would have {:.6g} switches", switches),
                 fmt::format("at most {}", kMostSwitches));
      }
    });
    return t;
  }();
  return table;
}

}  // namespace lockstep
