// SPDX-License-Identifier: Apache-2.0
// A fabric given as a graph: switches and cables of any layout (switch_layout.h), and for every port of every node the switch
// it is cabled to.
//
//   links   port p of node n, then the cables of the layout; two each, towards the fabric (or as the cable is listed) first
//   racks   nodes whose port 0 is on switches of one rack, numbered by their first nodes; pods alike
//
// Links are not bundled: no two are known to be loaded alike. Memory: O(ports + cables), 16 bytes a cable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/fabric/fabric_ports.h"
#include "topology/fabric/switch_layout.h"

namespace lockstep {

struct GraphShape {
  SwitchLayout layout;
  std::vector<std::uint32_t> switch_of_port;  // ports of node 0, of node 1, ...
  Wire host = {};                             // port to switch
};

// Ports of the switch that uses most.
[[nodiscard]] std::int64_t most_ports_used(const GraphShape& shape);

class GraphFabric {
 public:
  // The fabric for `nodes` nodes; its devices and links follow those of the nodes.
  GraphFabric(GraphShape shape, std::uint32_t nodes, NodeBlock node);

  [[nodiscard]] const GraphShape& shape() const { return shape_; }
  [[nodiscard]] std::uint32_t racks() const { return racks_.count; }
  [[nodiscard]] std::uint32_t pods() const { return pods_.count; }
  [[nodiscard]] std::uint32_t rack_of(std::uint32_t node) const { return racks_.of_node[node]; }
  [[nodiscard]] std::uint32_t pod_of(std::uint32_t node) const { return pods_.of_node[node]; }
  [[nodiscard]] std::uint32_t device_count() const { return switches_; }
  [[nodiscard]] std::uint64_t link_count() const { return 2 * (shape_.switch_of_port.size() + cables_.size()); }
  [[nodiscard]] DeviceId first_device() const { return DeviceId(first_device_); }
  [[nodiscard]] LinkId first_link() const { return LinkId(first_link_); }
  [[nodiscard]] std::uint32_t switch_of(NodePort p) const { return shape_.switch_of_port[port_number(p)]; }
  [[nodiscard]] int tier_of(DeviceId device) const;
  [[nodiscard]] DeviceKind kind(DeviceId) const { return DeviceKind::kSwitch; }
  [[nodiscard]] std::string name(DeviceId device) const;
  [[nodiscard]] Link link(LinkId id) const;
  [[nodiscard]] std::optional<std::uint32_t> cable_number(LinkId link) const;

  [[nodiscard]] bool keeps_rails() const { return false; }
  [[nodiscard]] bool has_rails() const { return false; }
  [[nodiscard]] std::int64_t path_count(const PortPair& ends) const;
  [[nodiscard]] std::int64_t max_path_count() const;
  [[nodiscard]] std::int64_t spray_weight() const;
  // As those of FoldedClos; equal-cost paths may differ in latency, and spray returns the longest. Cost of spray: links of all
  // paths.
  Duration append_path(const PortPair& ends, std::int64_t index, std::int64_t weight, std::vector<LinkShare>& out) const;
  Duration append_spray(const PortPair& ends, std::int64_t weight, std::vector<LinkShare>& out) const;
  Duration append_bundles(const PortPair& ends, std::int64_t weight, std::vector<LinkShare>& out) const {
    return append_spray(ends, weight, out);
  }
  [[nodiscard]] LinkId first_of_bundle(LinkId link) const { return link; }

 private:
  struct Places {
    std::vector<std::uint32_t> of_node;
    std::uint32_t count = 0;
  };
  template <class PlaceOfSwitch>
  [[nodiscard]] Places number_places(const PlaceOfSwitch& place_of) const;
  void number_parallel_cables();
  [[nodiscard]] std::uint32_t port_number(NodePort p) const { return p.node * ports_per_node_ + p.port; }
  [[nodiscard]] LinkId port_up(NodePort p) const { return LinkId(first_link_ + 2 * port_number(p)); }
  [[nodiscard]] LinkId port_down(NodePort p) const { return LinkId(first_link_ + 2 * port_number(p) + 1); }
  // The links between two switches; returns their latency.
  Duration append_trunks(std::uint32_t a, std::uint32_t b, std::int64_t index, std::int64_t weight,
                         std::vector<LinkShare>& out) const;

  GraphShape shape_;
  std::uint32_t nodes_;
  NodeBlock node_;
  std::uint32_t ports_per_node_;
  std::uint32_t switches_;
  std::vector<SwitchCable> cables_;
  std::vector<CableSort> sorts_;
  std::vector<std::uint32_t> parallel_;  // by cable: its number among those that join the same switches, from 1; 0: alone
  Places racks_;
  Places pods_;
  std::uint32_t first_device_;
  std::uint32_t first_link_;
  std::uint32_t first_trunk_ = 0;
};

}  // namespace lockstep
