// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/cluster_run.h"

#include <fmt/core.h>

#include <string>

#include "base/diagnostics.h"
#include "sim/network/analytic_network.h"
#include "sim/network/flow_network.h"
#include "sim/network/ideal_network.h"
#include "sim/network/link_capacities.h"

namespace lockstep {

std::array<CollectiveTuning, 3> tunings_of(const ClusterSpec& cluster) {
  std::array<CollectiveTuning, 3> tunings;
  for (int nodes = 1; nodes <= 3; ++nodes) {
    CollectiveTuning& t = tunings[static_cast<std::size_t>(nodes - 1)];
    if (cluster.server) {
      const ServerSpec server = cluster.tuned_server();
      const GpuSpec& gpu = server.gpu;
      const NvlinkSpec* ports = server.gpu_ports();
      t = ports != nullptr ? tuning_for(cluster.tuning, gpu.generation, ports->payload(), ports->ring_drain.value, nodes)
                           : tuning_for(cluster.tuning, gpu.generation, Rate::units(0), 0, nodes);
    } else {
      // Bare hosts have no collective library of their own generation; the newest measured one stands in.
      t = tuning_for(cluster.tuning, GpuGeneration::kHopper, Rate::units(0), 0, nodes);
    }
    t.pairs = nccl_pair_tuning();
    if (cluster.server) t.switches.nvls.limit = cluster.server->nvls_limit.value_or(Rate());
    if (!cluster.network) continue;
    t.network_peer_rate = t.pairs.peer_rate(cluster.network->nic_rate);
    t.network_channel_rate = cluster.network->channel_rate();
    const TransportTuning& transport = cluster.tuning.of(cluster.network->transport);
    t.network_fill = scaled(cluster.network->pipeline_fill, transport.fill_scale);
    for (auto* costs : {&t.ring, &t.tree}) {
      for (ProtocolCost& cost : *costs) {
        cost.network_hop = scaled(cost.network_hop + cluster.network->message_latency, transport.hop_scale);
      }
    }
    t.switches.add_network_latency(cluster.network->message_latency, transport.hop_scale);
  }
  return tunings;
}

PreparedCluster::PreparedCluster(const ClusterSpec& cluster, std::uint64_t seed)
    : network(build_network(cluster)),
      router(make_router(cluster, network, seed, Bundling::kOn)),
      tunings(tunings_of(cluster)),
      detours(cluster, seed, Bundling::kOn) {}

NetworkKind network_kind(std::string_view name) {
  if (name == "analytic") return NetworkKind::kAnalytic;
  if (name == "flow") return NetworkKind::kFlow;
  throw UserError(fmt::format("no network model is called '{}'", name), "analytic or flow");
}

std::string_view to_text(NetworkKind kind) {
  switch (kind) {
    case NetworkKind::kAnalytic:
      return "analytic";
    case NetworkKind::kFlow:
      return "flow";
    case NetworkKind::kIdeal:
      break;
  }
  return "ideal";
}

std::unique_ptr<NetworkModel> make_network_model(NetworkKind kind, const Network& network) {
  return make_network_model(kind, link_capacities(network));
}

std::unique_ptr<NetworkModel> make_network_model(NetworkKind kind, std::span<const Rate> link_capacities) {
  switch (kind) {
    case NetworkKind::kAnalytic:
      return std::make_unique<AnalyticNetwork>(link_capacities);
    case NetworkKind::kFlow:
      return std::make_unique<FlowNetwork>(link_capacities);
    case NetworkKind::kIdeal:
      break;
  }
  return std::make_unique<IdealNetwork>();
}

}  // namespace lockstep
