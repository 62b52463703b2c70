// SPDX-License-Identifier: Apache-2.0
// Fabrics that are no folded Clos as a cluster file gives them, and their resolution to switches, cables and attached ports.
//
//   dragonfly: {groups: 9, routers_per_group: 4, nodes_per_router: 2, global_cables: 1}
//   torus: {dimensions: [4, 4, 4], nodes_per_switch: 1}
//   custom:
//     switches: [a, {name: b, tier: 1, rack: r0, pod: p0}]
//     hosts: [{nodes: 0-3, switch: a, port: 0}]
//     cables: [{from: a, to: b, count: 2, speed: 400 Gbps, latency: 500 ns}]
//
// On a dragonfly and a torus all ports of a node are on one switch, nodes fill the switches in order. On a custom graph every
// port of every node is attached by one entry of `hosts`; an entry without `port` attaches all ports.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/index_range.h"
#include "topology/fabric/graph_fabric.h"

namespace lockstep {

template <class T>
class FieldTable;

struct DragonflySpec {
  int groups = 1;
  int routers_per_group = 1;
  int nodes_per_router = 1;
  int global_cables = 1;
};

struct TorusSpec {
  std::vector<int> dimensions;
  int nodes_per_switch = 1;
};

struct SwitchSpec {
  std::string name;
  std::optional<int> tier;
  std::optional<std::string> rack;
  std::optional<std::string> pod;
};
struct CustomCableSpec {
  std::string from;
  std::string to;
  int count = 1;
  std::optional<Rate> speed;
  std::optional<Duration> latency;
};
struct HostSpec {
  IndexRange nodes;
  std::string on;
  std::optional<int> port;
};
struct CustomSpec {
  std::vector<SwitchSpec> switches;
  std::vector<CustomCableSpec> cables;
  std::vector<HostSpec> hosts;
};

[[nodiscard]] const FieldTable<DragonflySpec>& dragonfly_fields();
[[nodiscard]] const FieldTable<TorusSpec>& torus_fields();
[[nodiscard]] const FieldTable<CustomSpec>& custom_fields();

// How many nodes there is room for.
[[nodiscard]] std::int64_t capacity(const DragonflySpec& spec);
[[nodiscard]] std::int64_t capacity(const TorusSpec& spec);

// What the cluster says of cables.
struct GraphWires {
  Wire host;
  Wire trunk;                // of a torus or a custom graph; local ones of a dragonfly
  Wire global;               // between the groups of a dragonfly
  double payload_share = 1;  // of cables with a speed of their own
};

// PRE for all: the spec passed its validation and there is room for the nodes; nodes and ports_per_node > 0.
[[nodiscard]] GraphShape shape_dragonfly(const DragonflySpec& spec, const GraphWires& wires, int nodes, int ports_per_node);
[[nodiscard]] GraphShape shape_torus(const TorusSpec& spec, const GraphWires& wires, int nodes, int ports_per_node);
// PRE: also every port is attached.
[[nodiscard]] GraphShape shape_custom(const CustomSpec& spec, const GraphWires& wires, int nodes, int ports_per_node);

}  // namespace lockstep
