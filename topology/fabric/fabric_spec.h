// SPDX-License-Identifier: Apache-2.0
// The switches of a cluster as its file gives them, and their resolution to counts. A tier is sized either by counts (spines,
// cores_per_spine) or by oversubscription o, the ratio of capacity below a switch to capacity above it:
//
//   uplinks = ceil(down capacity / (o x uplink rate))
//
// rounded up to whole switches of `cables` cables each. The ratio that comes out is reported beside the one asked for.
// Capacities are line rates of fully populated switches. Fabrics that are no folded Clos have sections of their own
// (graph_spec.h).
#pragma once

#include <optional>

#include "topology/fabric/folded_clos.h"
#include "topology/fabric/graph_spec.h"

namespace lockstep {

template <class T>
class FieldTable;

struct FabricSpec {
  std::optional<int> nodes_per_leaf;  // absent: one leaf (or one set of rails) for all
  Wiring wiring = Wiring::kRack;
  std::optional<int> leaves_per_pod;       // given: three tiers
  std::optional<int> spines;               // per pod
  std::optional<double> oversubscription;  // leaf tier
  std::optional<int> cores_per_spine;
  std::optional<double> core_oversubscription;  // spine tier
  std::optional<int> switch_ports;              // most ports a switch has; absent: not checked
  bool in_network_reduction = false;            // switches add up what arrives and multicast the sum (SHARP)
  // One of these instead of a folded Clos.
  std::optional<DragonflySpec> dragonfly;
  std::optional<TorusSpec> torus;
  std::optional<CustomSpec> custom;

  [[nodiscard]] bool is_graph() const { return dragonfly || torus || custom; }
};
// "dragonfly", "torus", "custom". PRE: is_graph().
[[nodiscard]] std::string_view graph_name(const FabricSpec& spec);

// The cables of one tier; what is absent comes from the network.
struct CableSpec {
  std::optional<Rate> speed;
  std::optional<Duration> latency;
};
struct TrunkSpec {
  std::optional<Rate> speed;
  std::optional<Duration> latency;
  int cables = 1;  // in parallel between each pair of switches
};

[[nodiscard]] const FieldTable<FabricSpec>& fabric_fields();
[[nodiscard]] const FieldTable<CableSpec>& cable_fields();
[[nodiscard]] const FieldTable<TrunkSpec>& trunk_fields();

// Capacity below over capacity above of one tier of full switches.
struct TierRatio {
  std::optional<double> asked;
  double real = 0;  // 0: the tier does not exist
  // More than a percent apart.
  [[nodiscard]] bool is_off() const;
};

struct FabricSize {
  FabricShape shape;
  TierRatio leaf;
  TierRatio spine;
};

// `wires` gives host, leaf_spine and spine_core cables; the counts of the result come from `spec`.
// Wired by rail a leaf takes one port of each of its nodes, by rack all of them.
// PRE: the spec passed its validation and is no graph, ports_per_node > 0, nodes > 0.
[[nodiscard]] FabricSize size_fabric(const FabricSpec& spec, const FabricShape& wires, int nodes, int ports_per_node);

// Leaves of a fabric for so many nodes.
[[nodiscard]] int leaf_count(const FabricShape& shape, int nodes, int ports_per_node);

// What a fabric of this size asks of the switch with the most ports in each tier; 0 where there is no such tier.
struct PortCounts {
  std::int64_t leaf = 0;
  std::int64_t spine = 0;
  std::int64_t core = 0;
};
[[nodiscard]] PortCounts ports_used(const FabricShape& shape, int nodes, int ports_per_node);

}  // namespace lockstep
