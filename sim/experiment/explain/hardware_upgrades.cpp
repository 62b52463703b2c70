// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/experiment/explain/upgrades.h"
#include "sim/experiment/explain/waterfall.h"
#include "workloads/kernels/performance.h"

namespace lockstep {
namespace {

AppliedUpgrade not_applied(std::string reason) { return {.changed = std::nullopt, .reason = std::move(reason)}; }
AppliedUpgrade applied(UpgradeCase changed) { return {.changed = std::move(changed), .reason = {}}; }

bool is_one_node(const UpgradeCase& c) { return !c.cluster.network || c.cluster.node_count() < 2; }
constexpr const char* kOneNode = "one node has no network";

Duration halved(Duration d) { return Duration::picos(d.picos() / 2); }
void halve(std::optional<Duration>& d) {
  if (d) d = halved(*d);
}
void scale(std::optional<Rate>& rate, double factor) {
  if (rate) rate = rate->scaled(factor);
}
void scale(PcieSpec& slot, double factor) { slot = {slot.rate.scaled(factor), slot.payload.scaled(factor)}; }

AppliedUpgrade network_rate(const UpgradeCase& base, const TrainingPlan&) {
  if (is_one_node(base)) return not_applied(kOneNode);
  UpgradeCase c = base;
  c.cluster.network->nic_rate = c.cluster.network->nic_rate.scaled(2);
  scale(c.cluster.host_link.speed, 2);
  scale(c.cluster.fabric_link.speed, 2);
  scale(c.cluster.core_link.speed, 2);
  return applied(std::move(c));
}

AppliedUpgrade network_and_slots(const UpgradeCase& base, const TrainingPlan& plan) {
  AppliedUpgrade out = network_rate(base, plan);
  if (!out.changed) return out;
  NetworkSpec& network = *out.changed->cluster.network;
  network.host_path_rate = network.host_path_rate.scaled(2);
  scale(network.cpu_rate, 2);
  scale(network.connection_rate, 2);
  ServerSpec& server = *out.changed->cluster.server;
  scale(server.gpu.pcie, 2);
  if (server.nic_pcie) scale(*server.nic_pcie, 2);
  if (!server.pcie) return out;
  if (server.pcie->uplink) scale(*server.pcie->uplink, 2);
  if (server.pcie->host_memory) scale(*server.pcie->host_memory, 2);
  if (server.pcie->staging) server.pcie->staging->rate = server.pcie->staging->rate.scaled(2);
  if (server.pcie->inter_socket) {
    server.pcie->inter_socket->rate = server.pcie->inter_socket->rate.scaled(2);
    server.pcie->inter_socket->payload = server.pcie->inter_socket->payload.scaled(2);
  }
  return out;
}

AppliedUpgrade network_latency(const UpgradeCase& base, const TrainingPlan&) {
  if (is_one_node(base)) return not_applied(kOneNode);
  UpgradeCase c = base;
  c.cluster.network->message_latency = halved(c.cluster.network->message_latency);
  c.cluster.network->link_latency = halved(c.cluster.network->link_latency);
  halve(c.cluster.host_link.latency);
  halve(c.cluster.fabric_link.latency);
  halve(c.cluster.core_link.latency);
  return applied(std::move(c));
}

AppliedUpgrade full_fabric(const UpgradeCase& base, const TrainingPlan&) {
  if (is_one_node(base)) return not_applied(kOneNode);
  if (base.cluster.fabric.is_graph()) return not_applied("the fabric has no tiers");
  const std::optional<double> ratio = oversubscription_of(base.cluster);
  if (!ratio) return not_applied("one tier of switches joins all nodes");
  if (*ratio <= 1.01) return not_applied("it is not oversubscribed");
  UpgradeCase c = base;
  c.cluster.fabric.spines.reset();
  c.cluster.fabric.oversubscription = 1;
  if (c.cluster.fabric.leaves_per_pod) {
    c.cluster.fabric.cores_per_spine.reset();
    c.cluster.fabric.core_oversubscription = 1;
  }
  return applied(std::move(c));
}

AppliedUpgrade gpudirect(const UpgradeCase& base, const TrainingPlan&) {
  if (is_one_node(base)) return not_applied(kOneNode);
  if (base.cluster.uses_gpudirect()) return not_applied("it is on");
  UpgradeCase c = base;
  c.cluster.gpudirect = true;
  return applied(std::move(c));
}

AppliedUpgrade nvlink(const UpgradeCase& base, const TrainingPlan&) {
  if (base.cluster.server->gpu_ports() == nullptr) return not_applied("PCIe alone joins the GPUs");
  if (base.cluster.server->gpus == 1) return not_applied("a node has one GPU");
  UpgradeCase c = base;
  for (std::optional<NvlinkSpec>* ports : {&c.cluster.server->gpu.nvlink, &c.cluster.server->gpu.xgmi}) {
    if (!*ports) continue;
    (*ports)->rate_per_link = (*ports)->rate_per_link.scaled(2);
    (*ports)->payload_per_link = (*ports)->payload_per_link.scaled(2);
  }
  scale(c.cluster.server->nvls_limit, 2);
  return applied(std::move(c));
}

AppliedUpgrade hbm(const UpgradeCase& base, const TrainingPlan& plan) {
  if (plan.has_profile()) return not_applied("the job's compute is known by measurement");
  UpgradeCase c = base;
  c.cluster.server->gpu.hbm = c.cluster.server->gpu.hbm.scaled(1.5);
  return applied(std::move(c));
}

AppliedUpgrade host(const UpgradeCase& base, const TrainingPlan& plan) {
  if (plan.has_profile()) return not_applied("the job's compute is known by measurement");
  UpgradeCase c = base;
  for (auto* releases : {&c.cluster.software.megatron, &c.cluster.software.pytorch, &c.cluster.software.deepspeed}) {
    for (auto& [date, release] : *releases) {
      release.launch = halved(release.launch);
      release.expert_part = halved(release.expert_part);
      release.expert_launch = halved(release.expert_launch);
      release.step = halved(release.step);
    }
  }
  const SoftwareRelease used = release_of(base.cluster.software, base.job);
  if (used.launch == Duration() && used.step == Duration() && used.expert_part == Duration() &&
      used.expert_launch == Duration()) {
    return not_applied("the software costs the host nothing");
  }
  return applied(std::move(c));
}

AppliedUpgrade even_parts(const UpgradeCase& base, const TrainingPlan&) {
  std::optional<ClusterSpec> even = without_slow_parts(base.cluster);
  if (!even) return not_applied("nothing is slow or broken");
  return applied({*std::move(even), base.job});
}

constexpr Upgrade kHardware[] = {
    {"network_rate_x2", "network links and NICs at twice the rate", network_rate},
    {"network_and_pcie_x2", "network, PCIe and host memory at twice the rate", network_and_slots},
    {"network_latency_half", "network latency halved", network_latency},
    {"fabric_1to1", "a fabric without oversubscription", full_fabric},
    {"gpudirect", "GPUDirect", gpudirect},
    {"nvlink_x2", "NVLink (xGMI) at twice the rate", nvlink},
    {"hbm_x1.5", "HBM at 1.5 times the rate", hbm},
    {"host_x2", "a host that starts kernels in half the time", host},
    {"no_slow_parts", "no slow GPUs, variation or faults", even_parts},
};

}  // namespace

std::span<const Upgrade> hardware_upgrades() { return kHardware; }

std::optional<double> oversubscription_of(const ClusterSpec& cluster) {
  if (cluster.fabric.is_graph() || !cluster.network || cluster.node_count() < 2) return std::nullopt;
  const FabricSize size = cluster_fabric(cluster);
  const double worst = std::max(size.leaf.real, size.spine.real);
  if (worst <= 0) return std::nullopt;
  return worst;
}

}  // namespace lockstep
