// SPDX-License-Identifier: Apache-2.0
// A cluster as the user states it (kind: cluster): values with units, checked, not yet a network.
//
//   nodes: 16                     endpoints: 1024
//   server: dgx-h100              host_link: {speed: 100 Gbps, latency: 1 us}
//   network: ib-8x400        or   fabric_link: {speed: 100 Gbps, latency: 1 us}
//   fabric: {nodes_per_leaf: 4}   fabric: {nodes_per_leaf: 32, spines: 16}
//
// Either servers with GPUs on a named network, or bare endpoints on a fabric alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "topology/fabric/fabric_spec.h"
#include "topology/faults/fault_spec.h"
#include "topology/gpu_variation.h"
#include "topology/hardware/network_spec.h"
#include "topology/hardware/server_spec.h"
#include "topology/hardware/software_spec.h"
#include "topology/hardware/tuning_spec.h"
#include "topology/network.h"
#include "topology/routing/router.h"
#include "topology/stragglers.h"

namespace lockstep {

struct ClusterSpec {
  std::string name;
  std::optional<int> nodes;      // servers; or
  std::optional<int> endpoints;  // bare hosts
  std::optional<ServerSpec> server;
  std::optional<NetworkSpec> network;
  std::optional<int> nics_per_node;  // instead of the network's
  std::optional<bool> gpudirect;     // instead of the network's
  std::optional<bool> pxn;           // GPUs send for each other along rails (network.h); where they can when absent
  FabricSpec fabric;
  CableSpec host_link;                   // NIC or bare host to its switch
  TrunkSpec fabric_link;                 // leaf to spine; between the switches of a group, a torus or a custom graph
  TrunkSpec core_link;                   // spine to core; between the groups of a dragonfly
  std::optional<RoutingPolicy> routing;  // instead of the network's, as the next two
  std::optional<int> queue_pairs;
  std::optional<Fraction> flowlet_share;
  TuningSpec tuning;         // of the collective library
  SoftwareHistory software;  // what releases of training software bring
  std::optional<StragglerSpec> stragglers;
  std::optional<VariationSpec> gpu_variation;
  std::vector<FaultSpec> faults;
  std::optional<Duration> reroute_after;  // none: as the transport's
  std::optional<UsdPerHour> price_per_gpu_hour;

  [[nodiscard]] int node_count() const { return nodes.value_or(endpoints.value_or(0)); }
  // Endpoints that take part in jobs: GPUs, or bare hosts.
  [[nodiscard]] std::int64_t gpus() const;
  // Network ports of a node: its NICs; 1 for a bare host; 0 without a network.
  [[nodiscard]] int ports_per_node() const;
  // NICs read and write GPU memory themselves.
  [[nodiscard]] bool uses_gpudirect() const;
  // As given, or true where GPUs are joined by NVLink and have several NICs.
  [[nodiscard]] bool uses_pxn() const;
  // The network's, or ECMP where there is no network, unless given here.
  [[nodiscard]] Routing routing_choice() const;
  [[nodiscard]] RoutingPolicy routing_policy() const { return routing_choice().policy; }
  // The server with the payload rates of its links as the tuning has them. PRE: there is a server.
  [[nodiscard]] ServerSpec tuned_server() const;
  // Of the line rate of NICs and cables, as network and tuning have it.
  [[nodiscard]] double payload_share() const;
  // From the failure of a link until transfers on it take another way.
  [[nodiscard]] Duration detection_time() const;
};

[[nodiscard]] const FieldTable<ClusterSpec>& cluster_fields();

// PRE for all: the spec passed its validation.
// Of a cluster on a folded Clos.
[[nodiscard]] FabricSize cluster_fabric(const ClusterSpec& spec);
// Nothing for a cluster on a folded Clos, or without a network.
[[nodiscard]] std::optional<GraphShape> cluster_graph(const ClusterSpec& spec);
// With what is broken for good.
[[nodiscard]] Network build_network(const ClusterSpec& spec);
[[nodiscard]] Network build_healthy_network(const ClusterSpec& spec);
// `network` must be the one built from `spec` and outlive the router.
[[nodiscard]] Router make_router(const ClusterSpec& spec, const Network& network, std::uint64_t seed,
                                 Bundling bundling = Bundling::kOff);
// By GPU, per mille of kernel time; empty when no GPU is slow.
[[nodiscard]] std::vector<std::int64_t> gpu_slowdowns(const ClusterSpec& spec, std::uint64_t seed);

}  // namespace lockstep
