// SPDX-License-Identifier: Apache-2.0
// From a checked cluster to a network that can run: rates become payload rates here, and nowhere else.
#include <algorithm>

#include "base/check.h"
#include "topology/cluster_spec.h"
#include "topology/network.h"

namespace lockstep {
namespace {

Wire cable(const ClusterSpec& c, const std::optional<Rate>& speed, const std::optional<Duration>& latency) {
  const Rate nominal = speed ? *speed : c.network ? c.network->nic_rate : Rate();
  const double payload_share = c.network ? c.network->payload_efficiency.value : 1;
  const Duration hop = latency ? *latency : c.network ? c.network->link_latency : Duration();
  return {payload_share == 1 ? nominal : nominal.scaled(payload_share), nominal, hop};
}

Server server_of(const ClusterSpec& c) {
  if (c.endpoints) return BareHost{};
  const ServerSpec& s = *c.server;
  const PcieSpec slot = s.nic_pcie.value_or(s.gpu.pcie);
  NvSwitchServer::Parts parts{.gpus = s.gpus, .nics = c.ports_per_node()};
  if (s.gpu.nvlink) parts.nvlink = {s.gpu.nvlink->payload(), s.gpu.nvlink->nominal(), s.nvlink_latency};
  parts.gpu_pcie = {s.gpu.pcie.payload, s.gpu.pcie.rate, s.pcie_latency};
  parts.nic_pcie = {slot.payload, slot.rate, s.pcie_latency};
  if (c.network && !c.network->gpudirect) {
    parts.nic_pcie.capacity = std::min(parts.nic_pcie.capacity, c.network->host_path_rate);
  }
  return NvSwitchServer(parts);
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
                         .payload_share = c.network ? c.network->payload_efficiency.value : 1};
  if (c.fabric.dragonfly) return shape_dragonfly(*c.fabric.dragonfly, wires, c.node_count(), c.ports_per_node());
  if (c.fabric.torus) return shape_torus(*c.fabric.torus, wires, c.node_count(), c.ports_per_node());
  return shape_custom(*c.fabric.custom, wires, c.node_count(), c.ports_per_node());
}

Network build_network(const ClusterSpec& c) {
  LOCKSTEP_CHECK(c.node_count() > 0 && (c.endpoints || c.server), "the cluster '{}' was not checked", c.name);
  NetworkPlan plan{.nodes = static_cast<std::uint32_t>(c.node_count()), .server = server_of(c)};
  plan.graph = cluster_graph(c);
  if (!plan.graph) plan.fabric = cluster_fabric(c).shape;
  return Network(plan);
}

Router make_router(const ClusterSpec& c, const Network& network, std::uint64_t seed, Bundling bundling) {
  return Router(network, c.routing_policy(), seed, bundling);
}

}  // namespace lockstep
