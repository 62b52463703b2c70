// SPDX-License-Identifier: Apache-2.0
// Small random networks of every shape: bare hosts and boxes; folded Clos of one to three tiers, every wiring, parallel cables,
// partial leaves and pods; dragonflies, tori and connected custom graphs.
#pragma once

#include <rapidcheck.h>

#include <map>

#include "tests/support/topology_fixtures.h"
#include "topology/routing/router.h"
#include "topology/server/server_wiring.h"

namespace lockstep::test {

inline int between(int low, int high) { return *rc::gen::inRange(low, high + 1); }

inline WiredServer random_wired_server(int nics) {
  ServerParts parts{.gpus = between(1, 8), .nics = nics, .mesh_link = kUnitWire, .gpu_slot = kUnitWire, .nic_slot = kUnitWire};
  if (between(0, 2) == 0) parts.nvswitch = kUnitWire;
  for (int a = 0; a < parts.gpus; ++a) {
    for (int b = a + 1; b < parts.gpus; ++b) {
      if (between(0, 2) == 0) parts.mesh.push_back({a, b, between(1, 2)});
    }
  }
  if (between(0, 3) > 0) {
    parts.tree = PcieTree{
        .sockets = between(1, 3), .switches_per_socket = between(0, 2), .uplink = kUnitWire, .inter_socket = kUnitWire};
  }
  parts.has_p2p = between(0, 1) == 0;
  parts.nics_reach_gpus = between(0, 1) == 0;
  return wire_server(parts);
}

// A bare host or a box; the number of its ports.
inline int draw_server(NetworkPlan& plan) {
  if (between(0, 2) == 0) return 1;
  const int nics = between(1, 9);
  if (between(0, 1) == 0) {
    plan.server = NvSwitchServer(
        {.gpus = between(1, 8), .nics = nics, .nvlink = kUnitWire, .gpu_pcie = kUnitWire, .nic_pcie = kUnitWire});
  } else {
    plan.server = random_wired_server(nics);
  }
  return nics;
}

// A tree over all switches and some more cables, with racks and pods anyhow.
inline CustomGraph random_custom_graph(const std::array<Wire, 3>& wires, std::vector<std::uint32_t>& roots) {
  const auto switches = static_cast<std::uint32_t>(between(1, 9));
  std::vector<CustomSwitch> list;
  for (std::uint32_t s = 0; s < switches; ++s) {
    list.push_back({.name = "s" + std::to_string(s),
                    .rack = static_cast<std::uint32_t>(between(0, 9)),
                    .pod = static_cast<std::uint32_t>(between(0, 2))});
  }
  const auto below = [](std::uint32_t n) { return static_cast<std::uint32_t>(between(0, static_cast<int>(n) - 1)); };
  std::vector<SwitchCable> cables;
  for (std::uint32_t s = 1; s < switches; ++s) cables.push_back({below(s), s, below(3)});
  for (int extra = switches > 1 ? between(0, 20) : 0; extra > 0; --extra) {
    const std::uint32_t a = below(switches);
    cables.push_back({a, (a + 1 + below(switches - 1)) % switches, below(3)});
  }
  for (std::uint32_t& r : roots) r = below(switches);
  return CustomGraph(list, cables, {{wires[0]}, {wires[1]}, {wires[2]}}, roots);
}

// `wires`: of hosts, trunks and global cables.
inline Network random_graph_network(const std::array<Wire, 3>& wires = {kUnitWire, kUnitWire, kUnitWire}) {
  NetworkPlan plan;
  const auto ports = static_cast<std::uint32_t>(draw_server(plan));
  const auto fill = [&](const auto& layout, int per_switch) {
    const int room = static_cast<int>(layout.switches()) * per_switch;
    plan.nodes = static_cast<std::uint32_t>(between(std::min(2, room), room));
    std::vector<std::uint32_t> of_port;
    for (std::uint32_t p = 0; p < plan.nodes * ports; ++p)
      of_port.push_back(p / ports / static_cast<std::uint32_t>(per_switch));
    return GraphShape{.layout = layout, .switch_of_port = of_port, .host = wires[0]};
  };
  switch (between(0, 2)) {
    case 0:
      plan.graph = fill(Dragonfly({.groups = between(2, 6), .routers_per_group = between(1, 4), .global_cables = between(1, 5)},
                                  wires[1], wires[2]),
                        between(1, 2));
      break;
    case 1: {
      std::vector<int> dimensions;
      for (int d = between(1, 3); d > 0; --d) dimensions.push_back(between(1, 5));
      dimensions.front() = std::max(dimensions.front(), 2);
      plan.graph = fill(Torus(dimensions, wires[1]), between(1, 2));
      break;
    }
    default: {
      plan.nodes = static_cast<std::uint32_t>(between(2, 12));
      std::vector<std::uint32_t> of_port(plan.nodes * ports);
      CustomGraph graph = random_custom_graph(wires, of_port);
      plan.graph = GraphShape{.layout = std::move(graph), .switch_of_port = of_port, .host = wires[0]};
    }
  }
  return Network(plan);
}

// `fabric_wires`: host, leaf-spine and spine-core cables.
inline Network random_network(const std::array<Wire, 3>& fabric_wires = {kUnitWire, kUnitWire, kUnitWire}) {
  NetworkPlan plan;
  plan.nodes = static_cast<std::uint32_t>(between(2, 24));
  const int nics = draw_server(plan);
  if (between(0, 9) == 0) {
    plan.fabric = {.nodes_per_leaf = static_cast<int>(plan.nodes), .wiring = Wiring::kRailOnly, .host = fabric_wires[0]};
    return Network(plan);
  }
  const Wiring wiring = between(0, 1) == 1 ? Wiring::kRail : Wiring::kRack;
  plan.fabric = {.nodes_per_leaf = between(1, 5),
                 .wiring = wiring,
                 .leaves_per_pod = between(0, 3) * (wiring == Wiring::kRail ? nics : 1),
                 .spines = between(1, 5),
                 .cores_per_spine = between(1, 4),
                 .leaf_spine_cables = between(1, 3),
                 .spine_core_cables = between(1, 3),
                 .host = fabric_wires[0],
                 .leaf_spine = fabric_wires[1],
                 .spine_core = fabric_wires[2]};
  plan.uses_pxn = between(0, 1) == 1;
  return Network(plan);
}

inline Hop random_hop(const Network& net) {
  const int endpoints = static_cast<int>(net.endpoint_count());
  const int from = between(0, endpoints - 1);
  const int to = (from + between(1, endpoints - 1)) % endpoints;
  Hop h = hop(static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to));
  if (net.nics_per_node() > 0) {
    h.from_nic = between(Hop::kNearestNic, net.nics_per_node() - 1);
    h.to_nic = between(Hop::kNearestNic, net.nics_per_node() - 1);
  }
  return h;
}

// What leaves the sender is `weight`, what reaches the receiver too, and nothing is lost or made on the way.
inline void assert_conserved(const Network& net, const Hop& hop, const Route& route, std::int64_t weight) {
  std::map<DeviceId, std::int64_t> balance;
  for (const LinkShare& s : route.shares) {
    RC_ASSERT(s.coefficient > 0);
    balance[net.link(s.link).from] -= s.coefficient;
    balance[net.link(s.link).to] += s.coefficient;
  }
  for (const auto& [device, sum] : balance) {
    const std::int64_t expected = device == net.device_of(hop.from) ? -weight : device == net.device_of(hop.to) ? weight : 0;
    RC_ASSERT(sum == expected);
  }
}

}  // namespace lockstep::test
