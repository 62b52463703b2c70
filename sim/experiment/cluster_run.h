// SPDX-License-Identifier: Apache-2.0
// A cluster made ready to run on: its network, its router, and the constants of its collective library. Built once, used by any number
// of runs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "sim/experiment/detours.h"
#include "sim/network/network_model.h"
#include "topology/cluster_spec.h"
#include "workloads/collectives/tuning.h"

namespace lockstep {

// The constants of its collective library, for groups on one node, two nodes, more.
[[nodiscard]] std::array<CollectiveTuning, 3> tunings_of(const ClusterSpec& cluster);

struct PreparedCluster {
  // PRE: the spec passed its validation.
  PreparedCluster(const ClusterSpec& cluster, std::uint64_t seed);
  PreparedCluster(const PreparedCluster&) = delete;  // the router points into the network
  PreparedCluster& operator=(const PreparedCluster&) = delete;

  Network network;
  Router router;                            // bundles links
  std::array<CollectiveTuning, 3> tunings;  // groups on one node, two nodes, more
  Detours detours;                          // round what is broken for a time
};

// kIdeal: infinite bandwidth, zero latency; the yardstick, not offered on the command line.
enum class NetworkKind : std::uint8_t { kAnalytic, kFlow, kIdeal };
// "analytic", "flow"; throws UserError otherwise.
[[nodiscard]] NetworkKind network_kind(std::string_view name);
[[nodiscard]] std::string_view to_text(NetworkKind kind);
[[nodiscard]] std::unique_ptr<NetworkModel> make_network_model(NetworkKind kind, const Network& network);
// The same on links of which only the capacities matter.
[[nodiscard]] std::unique_ptr<NetworkModel> make_network_model(NetworkKind kind, std::span<const Rate> link_capacities);

}  // namespace lockstep
