// SPDX-License-Identifier: Apache-2.0
// Small random networks of every shape: bare hosts and boxes, one to three tiers, both wirings, parallel cables, partial leaves and pods.
#pragma once

#include <rapidcheck.h>

#include "tests/support/topology_fixtures.h"
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

// `fabric_wires`: host, leaf-spine and spine-core cables.
inline Network random_network(const std::array<Wire, 3>& fabric_wires = {kUnitWire, kUnitWire, kUnitWire}) {
  NetworkPlan plan;
  plan.nodes = static_cast<std::uint32_t>(between(2, 24));
  int nics = 1;
  if (const int sort = between(0, 2); sort > 0) {
    nics = between(1, 9);
    if (sort == 1) {
      plan.server = NvSwitchServer(
          {.gpus = between(1, 8), .nics = nics, .nvlink = kUnitWire, .gpu_pcie = kUnitWire, .nic_pcie = kUnitWire});
    } else {
      plan.server = random_wired_server(nics);
    }
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

}  // namespace lockstep::test
