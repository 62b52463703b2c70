// SPDX-License-Identifier: Apache-2.0
// From a checked cluster to a network that can run: rates become payload rates here, and nowhere else.
#include <algorithm>

#include "base/check.h"
#include "topology/cluster_spec.h"
#include "topology/faults/fault_states.h"
#include "topology/network.h"
#include "topology/server/server_wiring.h"

namespace lockstep {
namespace {

Wire cable(const ClusterSpec& c, const std::optional<Rate>& speed, const std::optional<Duration>& latency) {
  const Rate nominal = speed ? *speed : c.network ? c.network->nic_rate : Rate();
  const double payload_share = c.payload_share();
  const Duration hop = latency ? *latency : c.network ? c.network->link_latency : Duration();
  return {payload_share == 1 ? nominal : nominal.scaled(payload_share), nominal, hop};
}

std::vector<MeshCable> mesh_cables(const ServerSpec& s) {
  std::vector<MeshCable> cables;
  if (!s.mesh) return cables;
  for (const MeshPair& p : s.mesh->pairs) cables.push_back({p.gpus[0], p.gpus[1], p.links});
  for (int a = 0; s.mesh->is_full && a < s.gpus; ++a) {
    for (int b = a + 1; b < s.gpus; ++b) cables.push_back({a, b, s.gpu_ports()->links / (s.gpus - 1)});
  }
  return cables;
}

// What meets in a root complex is nearly all copies between GPUs, or between GPUs and NICs, so all that gets there pays.
Rate to_peers(Rate rate, const PcieTreeSpec& spec) {
  return spec.peer_efficiency.value == 1 ? rate : rate.scaled(spec.peer_efficiency.value);
}

PcieTree tree_of(const PcieTreeSpec& spec, const ServerSpec& s) {
  PcieTree tree{.sockets = spec.sockets, .switches_per_socket = spec.switches_per_socket};
  const PcieSpec uplink = spec.uplink.value_or(s.gpu.pcie);
  tree.uplink = {uplink.payload, uplink.rate, s.pcie_latency};
  if (spec.p2p) tree.uplink.capacity = to_peers(tree.uplink.capacity, spec);
  if (spec.inter_socket) {
    tree.inter_socket = {spec.inter_socket->payload, spec.inter_socket->rate, spec.inter_socket->latency};
  }
  return tree;
}

// One way of the memory of a socket: what passes is written and read. The CPUs that drive sockets share it evenly.
std::optional<Wire> host_memory_of(const ClusterSpec& c) {
  const std::optional<PcieTreeSpec>& tree = c.server->pcie;
  std::optional<Wire> memory;
  if (tree && tree->host_memory) {
    memory = Wire{Rate::units(tree->host_memory->payload.units() / 2), Rate::units(tree->host_memory->rate.units() / 2), {}};
  }
  if (c.network && c.network->cpu_rate && !c.uses_gpudirect()) {
    const Rate share = Rate::units(c.network->cpu_rate->units() / (tree ? tree->sockets : 1));
    if (!memory) memory = Wire::pure(share, {});
    memory->capacity = std::min(memory->capacity, share);
  }
  return memory;
}

Server server_of(const ClusterSpec& c) {
  if (c.endpoints) return BareHost{};
  const ServerSpec s = c.tuned_server();
  const Interconnect joined_by = s.joined_by();
  const NvlinkSpec* ports = s.gpu_ports();
  const Duration hop = s.nvlink_latency.value_or(Duration());
  const PcieSpec slot = s.nic_pcie.value_or(s.gpu.pcie);
  const bool nics_reach_gpus = c.uses_gpudirect();
  const std::optional<Wire> host_memory = host_memory_of(c);
  Wire gpu_slot = {s.gpu.pcie.payload, s.gpu.pcie.rate, s.pcie_latency};
  Wire nic_slot = {slot.payload, slot.rate, s.pcie_latency};
  if (!nics_reach_gpus) nic_slot.capacity = std::min(nic_slot.capacity, c.network->host_path_rate);
  if (joined_by == Interconnect::kNvSwitch && !s.pcie && !host_memory) {
    return NvSwitchServer({.gpus = s.gpus,
                           .nics = c.ports_per_node(),
                           .nvlink = {ports->payload(), ports->nominal(), hop},
                           .gpu_pcie = gpu_slot,
                           .nic_pcie = nic_slot});
  }
  if (s.pcie && s.pcie->p2p && s.pcie->switches_per_socket == 0) {
    gpu_slot.capacity = to_peers(gpu_slot.capacity, *s.pcie);
    if (nics_reach_gpus) nic_slot.capacity = to_peers(nic_slot.capacity, *s.pcie);
  }
  if (s.pcie && s.pcie->staging) gpu_slot.capacity = std::min(gpu_slot.capacity, s.pcie->staging->rate);
  ServerParts parts{.gpus = s.gpus, .nics = c.ports_per_node(), .gpu_slot = gpu_slot, .nic_slot = nic_slot};
  if (joined_by == Interconnect::kNvSwitch) parts.nvswitch = Wire{ports->payload(), ports->nominal(), hop};
  if (joined_by == Interconnect::kMesh) {
    parts.mesh = mesh_cables(s);
    parts.mesh_link = {ports->payload_per_link, ports->rate_per_link, hop};
    parts.mesh_tier = s.gpu.xgmi ? LinkTier::kXgmi : LinkTier::kNvlink;
  }
  if (s.pcie) {
    parts.tree = tree_of(*s.pcie, s);
    parts.has_p2p = s.pcie->p2p;
    if (s.pcie->staging) parts.staging_latency = s.pcie->staging->latency;
  }
  parts.nics_reach_gpus = nics_reach_gpus;
  parts.host_memory = host_memory;
  return wire_server(parts);
}

}  // namespace

FabricSize cluster_fabric(const ClusterSpec& c) {
  FabricShape wires;
  wires.host = cable(c, c.host_link.speed, c.host_link.latency);
  wires.leaf_spine = cable(c, c.fabric_link.speed, c.fabric_link.latency);
  wires.spine_core = cable(c, c.core_link.speed, c.core_link.latency);
  wires.leaf_spine_cables = c.fabric_link.cables;
  wires.spine_core_cables = c.core_link.cables;
  return size_fabric(c.fabric, wires, c.node_count(), std::max(c.ports_per_node(), 1));
}

std::optional<GraphShape> cluster_graph(const ClusterSpec& c) {
  if (!c.fabric.is_graph() || c.ports_per_node() == 0) return std::nullopt;
  const GraphWires wires{.host = cable(c, c.host_link.speed, c.host_link.latency),
                         .trunk = cable(c, c.fabric_link.speed, c.fabric_link.latency),
                         .global = cable(c, c.core_link.speed, c.core_link.latency),
                         .payload_share = c.payload_share()};
  if (c.fabric.dragonfly) return shape_dragonfly(*c.fabric.dragonfly, wires, c.node_count(), c.ports_per_node());
  if (c.fabric.torus) return shape_torus(*c.fabric.torus, wires, c.node_count(), c.ports_per_node());
  return shape_custom(*c.fabric.custom, wires, c.node_count(), c.ports_per_node());
}

Network build_network(const ClusterSpec& c) {
  Network healthy = build_healthy_network(c);
  if (c.faults.empty()) return healthy;
  return FaultStates(healthy, c.faults, c.detection_time()).network(healthy, 0);
}

Network build_healthy_network(const ClusterSpec& c) {
  LOCKSTEP_CHECK(c.node_count() > 0 && (c.endpoints || c.server), "the cluster '{}' was not checked", c.name);
  NetworkPlan plan{.nodes = static_cast<std::uint32_t>(c.node_count()), .server = server_of(c)};
  plan.has_nvls = c.server && c.server->nvls;
  plan.has_in_network_reduction = c.fabric.in_network_reduction && c.ports_per_node() > 0;
  plan.graph = cluster_graph(c);
  if (!plan.graph) plan.fabric = cluster_fabric(c).shape;
  plan.uses_pxn = c.uses_pxn();
  return Network(plan);
}

Router make_router(const ClusterSpec& c, const Network& network, std::uint64_t seed, Bundling bundling) {
  return Router(network, c.routing_choice(), seed, bundling);
}

}  // namespace lockstep
