// SPDX-License-Identifier: Apache-2.0
#include "topology/cluster_spec.h"

#include <algorithm>

#include "base/field_table.h"
#include "topology/cluster_checks.h"
#include "topology/hardware/limits.h"
#include "topology/hardware/routing_field.h"

namespace lockstep {

std::int64_t ClusterSpec::gpus() const { return std::int64_t{node_count()} * (server ? server->gpus : 1); }

int ClusterSpec::ports_per_node() const {
  if (endpoints) return 1;
  if (!network) return 0;
  return nics_per_node.value_or(network->nics_per_node);
}

bool ClusterSpec::uses_gpudirect() const { return gpudirect.value_or(!network || network->gpudirect); }

bool ClusterSpec::uses_pxn() const {
  return pxn.value_or(server && server->gpu.nvlink && server->gpu_ports() != nullptr && ports_per_node() > 1);
}

Routing ClusterSpec::routing_choice() const {
  const auto percent = [](const Fraction& share) { return static_cast<int>(share.value * 100 + 0.5); };
  Routing choice;
  if (network) {
    choice = {
        .policy = network->routing, .queue_pairs = network->queue_pairs, .flowlet_percent = percent(network->flowlet_share)};
  }
  if (routing) choice.policy = *routing;
  if (queue_pairs) choice.queue_pairs = *queue_pairs;
  if (flowlet_share) choice.flowlet_percent = percent(*flowlet_share);
  return choice;
}

namespace {

Rate payload_of(Rate payload, Rate rate, double share) { return share == 1 ? payload : std::min(payload.scaled(share), rate); }

void tune(std::optional<NvlinkSpec>& ports, double share) {
  if (ports) ports->payload_per_link = payload_of(ports->payload_per_link, ports->rate_per_link, share);
}

void tune(PcieSpec& slot, double share) { slot.payload = payload_of(slot.payload, slot.rate, share); }

}  // namespace

ServerSpec ClusterSpec::tuned_server() const {
  ServerSpec s = *server;
  const GenerationTuning& own = tuning.of(s.gpu.generation);
  tune(s.gpu.nvlink, own.link_payload);
  tune(s.gpu.xgmi, own.link_payload);
  tune(s.gpu.pcie, own.pcie_payload);
  if (s.nic_pcie) tune(*s.nic_pcie, own.pcie_payload);
  if (!s.pcie) return s;
  if (s.pcie->uplink) tune(*s.pcie->uplink, own.pcie_payload);
  if (s.pcie->staging) s.pcie->staging->rate = payload_of(s.pcie->staging->rate, s.gpu.pcie.rate, own.pcie_payload);
  return s;
}

double ClusterSpec::payload_share() const {
  if (!network) return 1;
  return std::min(1.0, network->payload_efficiency.value * tuning.of(network->transport).payload);
}

Duration ClusterSpec::detection_time() const {
  // A sender sends again what nobody acknowledged: TCP after 200 ms at least (TCP_RTO_MIN of Linux), RDMA after 4.096 us x 2^t
  // (InfiniBand Architecture Specification, 9.7.6.1.3), t = 20 by NCCL_IB_TIMEOUT's default since NCCL 2.23. What a fabric needs to
  // route round a dead link, milliseconds, is over by then.
  constexpr Duration kTcp = Duration::micros(200'000);
  constexpr Duration kRdma = Duration::nanos(std::int64_t{4'096} << 20);
  if (reroute_after) return *reroute_after;
  return network && network->transport != Transport::kTcp ? kRdma : kTcp;
}

std::vector<std::int64_t> gpu_slowdowns(const ClusterSpec& spec, std::uint64_t seed) {
  std::vector<std::int64_t> slowdowns;
  if (spec.stragglers) slowdowns = draw_slowdowns(*spec.stragglers, spec.gpus(), seed);
  if (spec.gpu_variation) slowdowns = with_variation(*spec.gpu_variation, std::move(slowdowns), spec.gpus(), seed);
  return with_slow_nodes(spec.faults, std::move(slowdowns), spec.gpus(), spec.server ? spec.server->gpus : 1);
}

const FieldTable<ClusterSpec>& cluster_fields() {
  static const FieldTable<ClusterSpec> table = [] {
    FieldTable<ClusterSpec> t("cluster");
    t.field("name", &ClusterSpec::name).doc("how reports call it; the file name when absent");
    t.field("nodes", &ClusterSpec::nodes).range(1, kMostNodes).doc("servers");
    t.field("endpoints", &ClusterSpec::endpoints).range(1, kMostNodes).doc("bare hosts, instead of servers with GPUs");
    t.reference("server", &ClusterSpec::server, server_fields()).doc("what a node is; needed with nodes");
    t.reference("network", &ClusterSpec::network, network_fields(), FieldTable<ClusterSpec>::Loader<NetworkSpec>(),
                open_network)
        .doc("transport and NICs, TRANSPORT-NICSxGBPS like ib-8x400; needed from two nodes on");
    t.field("nics_per_node", &ClusterSpec::nics_per_node).range(1, kMostNics).doc("instead of the network's");
    t.field("gpudirect", &ClusterSpec::gpudirect).doc("NICs read and write GPU memory themselves; instead of the network's");
    t.field("pxn", &ClusterSpec::pxn)
        .doc(
            "a GPU sends to another rail by way of the GPU of its node on that rail, over NVLink, where nothing tells it which "
            "NIC to use "
            "and the fabric is wired by rail; when absent as NCCL does: where GPUs have NVLink and several NICs. rail_only has "
            "no other way");
    t.section("fabric", &ClusterSpec::fabric, fabric_fields()).doc("switches; one for all when absent");
    t.section("host_link", &ClusterSpec::host_link, cable_fields()).doc("NIC or bare host to its switch");
    t.section("fabric_link", &ClusterSpec::fabric_link, trunk_fields())
        .doc("leaf to spine; inside the groups of a dragonfly; between the switches of a torus or a custom graph");
    t.section("core_link", &ClusterSpec::core_link, trunk_fields()).doc("spine to core; between the groups of a dragonfly");
    routing_field(t, &ClusterSpec::routing).doc("instead of the network's");
    queue_pairs_field(t, &ClusterSpec::queue_pairs).doc("instead of the network's");
    flowlet_share_field(t, &ClusterSpec::flowlet_share).doc("instead of the network's");
    t.reference("tuning", &ClusterSpec::tuning, tuning_fields()).doc("constants of the collective library");
    t.reference_default("nccl");
    t.reference("software", &ClusterSpec::software, software_fields()).doc("what releases of training software bring");
    t.reference_default("releases");
    t.section_or_value("gpu_variation", &ClusterSpec::gpu_variation, variation_fields(), "spread", "spread")
        .doc("spread of speed among GPUs of one kind, like 1 %; none when absent");
    t.section("stragglers", &ClusterSpec::stragglers, straggler_fields()).doc("slow GPUs; none when absent");
    t.list("faults", &ClusterSpec::faults, fault_fields())
        .doc("what is broken: links, switches, NICs, nodes; nothing when absent");
    t.field("reroute_after", &ClusterSpec::reroute_after)
        .range(Duration(), kLatestFault)
        .doc(
            "from the failure of a link during a run until transfers on it take another way; absent: 4.295 s over RDMA, 200 ms "
            "over "
            "TCP and between bare hosts");
    t.field("price_per_gpu_hour", &ClusterSpec::price_per_gpu_hour)
        .range({0}, {10'000})
        .doc("rent of one GPU with its share of everything; no costs are reported without it");
    t.validate(check_cluster);
    t.validate([](const ClusterSpec& c, Section& at) {
      if (c.flowlet_share) check_flowlet_share(*c.flowlet_share, at);
    });
    return t;
  }();
  return table;
}

}  // namespace lockstep
