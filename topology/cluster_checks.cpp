// SPDX-License-Identifier: Apache-2.0
#include "topology/cluster_checks.h"

#include "base/field_table.h"
#include "topology/faults/fault_states.h"
#include "topology/graph_checks.h"
#include "topology/hardware/limits.h"

namespace lockstep {
namespace {

// False when nothing further can be said.
bool check_nodes(const ClusterSpec& c, Section& at) {
  if (!c.nodes && !c.endpoints) {
    at.error("nodes", "is missing", "give nodes (servers with GPUs) or endpoints (bare hosts)");
    return false;
  }
  if (c.nodes && c.endpoints) {
    at.error("endpoints", "is given together with nodes", "a cluster has servers or bare hosts, not both");
    return false;
  }
  if (c.nodes && !c.server) {
    at.error("nodes", "needs to know what a node is", "give server, like dgx-h100");
    return false;
  }
  if (c.endpoints && c.server) {
    at.error("server", "does not go with endpoints, which are bare hosts", "give nodes instead of endpoints");
    return false;
  }
  if (c.endpoints && c.nics_per_node) {
    at.error("nics_per_node", "does not go with endpoints, which have one port each", "remove it");
    return false;
  }
  if (c.nodes && *c.nodes > 1 && !c.network) {
    at.error("network", fmt::format("is missing: nothing connects the {} nodes", *c.nodes),
             "give network, like ib-8x400 (eight 400 Gbit/s NICs per node)");
    return false;
  }
  return true;
}

// Of NIC and slot the slower one counts; that the NIC is the faster one is seldom meant.
void check_slots(const ClusterSpec& c, Section& at) {
  if (!c.server || !c.network) return;
  const PcieSpec slot = c.server->nic_pcie.value_or(c.server->gpu.pcie);
  const Rate nic = c.host_link.speed.value_or(c.network->nic_rate);
  if (nic <= slot.rate) return;
  at.warning(
      "network",
      fmt::format("a NIC of {:.4g} GB/s sits in a PCIe slot of {:.4g} GB/s, which is what counts (payload {:.4g} GB/s)",
                  nic.bytes_per_second() / 1e9, slot.rate.bytes_per_second() / 1e9, slot.payload.bytes_per_second() / 1e9),
      "a slower NIC, or server.nic_pcie of a faster slot");
}

void check_host_path(const ClusterSpec& c, Section& at) {
  if (c.endpoints) {
    if (c.gpudirect) at.error("gpudirect", "does not go with endpoints, which have no GPUs", "remove it");
    if (c.pxn) at.error("pxn", "does not go with endpoints, which have no GPUs", "remove it");
    return;
  }
  if (!c.network) {
    if (c.gpudirect == false) at.error("gpudirect", "is said of NICs, and there are none", "give network, like ib-8x400");
    return;
  }
  if (c.network->cpu_rate && !c.uses_gpudirect() && c.server->gpus > WiredServer::kMostWiredGpus) {
    at.error("network.cpu_rate", fmt::format("needs servers of at most {} GPUs", WiredServer::kMostWiredGpus), "remove it");
  }
}

void check_stragglers(const ClusterSpec& c, Section& at) {
  if (!c.stragglers) return;
  if (c.endpoints) return at.error("stragglers", "bare hosts run no kernels", "remove it");
  for (const IndexRange& range : c.stragglers->gpus) {
    if (range.highest() < c.gpus()) continue;
    at.error("stragglers.gpus", fmt::format("the cluster has no GPU {}", range.highest()),
             fmt::format("GPUs are 0 to {}", c.gpus() - 1));
    return;
  }
}

}  // namespace

bool check_cables(const ClusterSpec& c, Section& at, bool has_spines, bool has_cores) {
  if (c.network || c.ports_per_node() == 0) return true;
  bool is_good = true;
  const auto need = [&](std::string_view section, bool has_speed, bool has_latency) {
    const std::string key(section);
    if (!has_speed) at.error(key + ".speed", "is missing, and there is no network to take it from", "like speed: 100 Gbps");
    if (!has_latency) at.error(key + ".latency", "is missing, and there is no network to take it from", "like latency: 1 us");
    is_good = is_good && has_speed && has_latency;
  };
  need("host_link", c.host_link.speed.has_value(), c.host_link.latency.has_value());
  if (has_spines) need("fabric_link", c.fabric_link.speed.has_value(), c.fabric_link.latency.has_value());
  if (has_cores) need("core_link", c.core_link.speed.has_value(), c.core_link.latency.has_value());
  return is_good;
}

namespace {

// A unit has one leaf per rail, and all of them in one pod. False when it has not.
bool check_rails(const ClusterSpec& c, int rails, Section& at) {
  if (!c.fabric.leaves_per_pod || *c.fabric.leaves_per_pod % rails == 0) return true;
  at.error("fabric.leaves_per_pod",
           fmt::format("{} leaves cut a unit in two, which wired by rail has {} leaves, one per NIC of a server",
                       *c.fabric.leaves_per_pod, rails),
           fmt::format("a multiple of {}", rails));
  return false;
}

void check_ports(const ClusterSpec& c, const FabricSize& size, Section& at) {
  if (!c.fabric.switch_ports) return;
  const PortCounts used = ports_used(size.shape, c.node_count(), c.ports_per_node());
  const std::int64_t most = *c.fabric.switch_ports;
  const auto check = [&](std::int64_t ports, std::string_view tier, std::string_view key, std::string_view hint) {
    if (ports <= most) return;
    at.error(std::string("fabric.") + std::string(key), fmt::format("a {} switch needs {} ports and has {}", tier, ports, most),
             std::string(hint));
  };
  check(used.leaf, "leaf", "nodes_per_leaf", "fewer nodes per leaf, fewer spines, or more oversubscription");
  check(used.spine, "spine", c.fabric.leaves_per_pod ? "leaves_per_pod" : "switch_ports",
        c.fabric.leaves_per_pod ? "fewer leaves per pod or fewer cores per spine"
                                : "fewer nodes, or a third tier: give leaves_per_pod");
  check(used.core, "core", "leaves_per_pod", "fewer pods, or fewer cables per core");
}

// Ratios that whole switches could not meet.
void check_ratio(const TierRatio& ratio, std::string_view key, std::string_view tier, Section& at) {
  if (!ratio.is_off()) return;
  at.warning(key, fmt::format("asked for {:.4g}:1, whole {} switches and cables give {:.4g}:1", *ratio.asked, tier, ratio.real),
             "choose counts that divide, or give the number of switches");
}

// Leaves of rails without spines have no links above them.
void check_unused_links(const ClusterSpec& c, Section& at) {
  if (c.fabric.wiring != Wiring::kRailOnly) return;
  const auto check = [&](const TrunkSpec& link, std::string_view key) {
    if (!link.speed && !link.latency && link.cables == 1) return;
    at.warning(key, "has no effect: a rail-only fabric has no switches above its leaves",
               "remove it, or choose another wiring");
  };
  check(c.fabric_link, "fabric_link");
  check(c.core_link, "core_link");
}

}  // namespace

namespace {

// Against the network that is built from the rest, which must be in order.
void check_faults(const ClusterSpec& c, Section& at) {
  for (std::size_t i = 0; i < c.faults.size(); ++i) {
    if (c.faults[i].slowdown && c.endpoints) at.error(join_path("faults", i), "bare hosts run no kernels", "remove slowdown");
  }
  const Network network = build_healthy_network(c);
  const std::size_t errors = at.error_count();
  (void)locate_faults(network, c.faults, [&at](std::size_t i, std::string_view key, std::string message, std::string hint) {
    at.error(join_path(join_path("faults", i), key), std::move(message), std::move(hint));
  });
  if (at.error_count() > errors) return;
  try {
    const FaultStates states(network, c.faults, c.detection_time());
  } catch (const UserError& e) {
    for (const Diagnostic& d : e.diagnostics().items()) at.error("faults", d.message, d.hint);
  }
}

void check_fabric(const ClusterSpec& c, Section& at);

}  // namespace

void check_cluster(const ClusterSpec& c, Section& at) {
  const std::size_t errors = at.error_count();
  if (!check_nodes(c, at)) return;
  check_stragglers(c, at);
  check_host_path(c, at);
  check_slots(c, at);
  check_fabric(c, at);
  if (!c.faults.empty() && at.error_count() == errors) check_faults(c, at);
}

namespace {

void check_fabric(const ClusterSpec& c, Section& at) {
  if (c.ports_per_node() == 0) return;
  if (c.fabric.is_graph()) return check_graph(c, at);
  const FabricShape attach{.nodes_per_leaf = c.fabric.nodes_per_leaf.value_or(c.node_count()), .wiring = c.fabric.wiring};
  const int leaves = leaf_count(attach, c.node_count(), c.ports_per_node());
  if (!check_rails(c, attach.rails(c.ports_per_node()), at)) return;
  const bool has_cores = c.fabric.leaves_per_pod && leaves > *c.fabric.leaves_per_pod;
  if (!check_cables(c, at, leaves > 1 && c.fabric.wiring != Wiring::kRailOnly, has_cores)) return;

  check_unused_links(c, at);
  const FabricSize size = cluster_fabric(c);
  const auto ports = static_cast<std::uint32_t>(c.ports_per_node());
  const double uplinks = double(leaves) * size.shape.spines * size.shape.leaf_spine_cables;
  const double pods = has_cores ? (leaves - 1) / *c.fabric.leaves_per_pod + 1 : 0;
  const double core_links = pods * size.shape.spines * size.shape.cores_per_spine * size.shape.spine_core_cables;
  const double inside = c.server ? 2.0 * c.server->gpus + ports : 0;
  const double links = 2 * (c.node_count() * (inside + ports) + uplinks + core_links);
  if (links > static_cast<double>(kMostLinks)) {
    at.error(c.nodes ? "nodes" : "endpoints",
             fmt::format("the cluster would have {:.3g} links, more than {}", links, kMostLinks),
             "fewer nodes, switches or cables");
    return;
  }
  check_ports(c, size, at);
  check_ratio(size.leaf, c.fabric.oversubscription ? "fabric.oversubscription" : "fabric", "spine", at);
  check_ratio(size.spine, c.fabric.core_oversubscription ? "fabric.core_oversubscription" : "fabric", "core", at);
}

}  // namespace
}  // namespace lockstep
