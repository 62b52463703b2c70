// SPDX-License-Identifier: Apache-2.0
// What `lockstep topo` says about a cluster: counts per tier, cables and their speeds, oversubscription asked and real, bisection,
// diameter, price. Rates are line rates of one direction unless called payload.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/cluster_spec.h"
#include "topology/graph_analysis.h"

namespace lockstep {

// Cables of one sort. A tier has several rows where they differ, as the PCIe slots of GPUs and NICs may.
struct CableReport {
  LinkTier tier = LinkTier::kHost;
  DeviceKind low = DeviceKind::kNic;  // the ends
  DeviceKind high = DeviceKind::kLeaf;
  std::int64_t count = 0;  // both directions are one
  Rate rate;
  Rate payload;
  Duration latency;
};

struct SwitchReport {
  DeviceKind kind = DeviceKind::kLeaf;
  std::int64_t count = 0;
  std::int64_t ports_used = 0;     // of the fullest one
  std::optional<TierRatio> ratio;  // absent where nothing is above
};

struct TopologyReport {
  ClusterSpec cluster;
  std::array<std::int64_t, kDeviceKindCount> devices{};
  std::int64_t racks = 0;  // units where wired by rail
  std::int64_t pods = 0;
  std::vector<CableReport> cables;     // inside out
  std::vector<SwitchReport> switches;  // bottom up
  std::int64_t equal_cost_paths = 1;   // most between two nodes
  GraphReport graph;
};

// PRE: the network was built from the spec.
[[nodiscard]] TopologyReport report_topology(const ClusterSpec& spec, const Network& network);

[[nodiscard]] std::string to_json(const TopologyReport& r);   // one object
[[nodiscard]] std::string to_table(const TopologyReport& r);  // for people

}  // namespace lockstep
