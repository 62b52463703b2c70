// SPDX-License-Identifier: Apache-2.0
// A folded Clos of one, two or three tiers, the shape of leaf-spine fabrics and fat-trees (Al-Fares, Loukissas, Vahdat,
// SIGCOMM 2008), with any number of switches and parallel cables per tier instead of one radix k.
//
//   leaf    `nodes_per_leaf` nodes make a rack. Wired by rack, its one leaf takes all their network ports; wired by rail
//           (NVIDIA's rail-optimized; the rack is then the scalable unit), the rack has one leaf per port number:
//               leaf = rack x rails + port mod rails      rails: 1 by rack, ports per node by rail
//           so port r of all nodes of a rack meets in one leaf, and different ports of a node in different ones
//           rail only (Wang et al., Rail-only, arXiv 2307.12169): the same, with all nodes in one unit and nothing above its
//           leaves
//   spine   every leaf of a pod is cabled to every spine of that pod
//   core    spine j of every pod is cabled to the same `cores_per_spine` cores (group j); different spines, different cores
//
// Equal-cost paths come from this structure alone, no state per pair. Between leaves of a pod: one path per (spine, cable);
// between pods: one per (spine, core, leaf-spine cable, spine-core cable). A path goes down on the cable number it came up on.
// Path order is spine-major: with single cables path i of a leaf-spine runs over spine i.
//
// One leaf alone has no spines, one pod alone no cores: nothing would cross them.
//
// Bundles: a sprayed hop loads all leaf-spine links of its leaf alike, and all spine-core links of its pod. Where everything is
// sprayed the links of such a bundle always carry equal loads, and the first of them can stand for all.
//
// NOT modelled: uneven cabling; fewer rails than ports. Where spines join the rails, a hop between different rails goes up to
// them, also inside a rack, unless the sender changes rails first (Network), as it has to where there are rails only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/fabric/fabric_ports.h"
#include "topology/link.h"

namespace lockstep {

enum class Wiring : std::uint8_t { kRack, kRail, kRailOnly };
[[nodiscard]] std::string_view to_text(Wiring wiring);  // "rack", "rail", "rail_only"

struct FabricShape {
  int nodes_per_leaf = 1;
  Wiring wiring = Wiring::kRack;
  int leaves_per_pod = 0;   // 0: one pod holds all leaves (two tiers)
  int spines = 0;           // per pod
  int cores_per_spine = 0;  // three tiers only
  int leaf_spine_cables = 1;
  int spine_core_cables = 1;
  Wire host = {};
  Wire leaf_spine = {};
  Wire spine_core = {};

  // Leaves of a rack.
  [[nodiscard]] int rails(int ports_per_node) const { return wiring == Wiring::kRack ? 1 : std::max(ports_per_node, 1); }
};

class FoldedClos {
 public:
  // The fabric for `nodes` nodes; its devices and links follow those of the nodes.
  FoldedClos(const FabricShape& shape, std::uint32_t nodes, NodeBlock node);

  [[nodiscard]] const FabricShape& shape() const { return shape_; }
  [[nodiscard]] std::uint32_t racks() const { return leaves_ / rails_; }
  [[nodiscard]] std::uint32_t rails() const { return rails_; }
  [[nodiscard]] std::uint32_t leaves() const { return leaves_; }
  [[nodiscard]] std::uint32_t pods() const { return pods_; }
  [[nodiscard]] std::uint32_t spines_per_pod() const { return spines_; }
  [[nodiscard]] std::uint32_t spines() const { return spines_ * pods_; }
  [[nodiscard]] std::uint32_t cores() const { return spines_ * cores_per_spine_; }
  [[nodiscard]] std::uint32_t device_count() const { return leaves() + spines() + cores(); }
  [[nodiscard]] std::uint64_t link_count() const;
  [[nodiscard]] LinkId first_link() const { return LinkId(first_link_); }

  [[nodiscard]] std::uint32_t rack_of(std::uint32_t node) const { return node / nodes_per_rack_; }
  // The attachment rule: which leaf a port of a node is cabled to.
  [[nodiscard]] std::uint32_t leaf_of(std::uint32_t node, std::uint32_t port) const {
    return rack_of(node) * rails_ + port % rails_;
  }
  [[nodiscard]] std::uint32_t rack_of_leaf(std::uint32_t leaf) const { return leaf / rails_; }
  [[nodiscard]] std::uint32_t pod_of(std::uint32_t node) const { return pod_of_leaf(leaf_of(node, 0)); }
  [[nodiscard]] std::uint32_t pod_of_leaf(std::uint32_t leaf) const { return leaf / leaves_per_pod_; }

  [[nodiscard]] DeviceKind kind(DeviceId device) const;
  [[nodiscard]] std::string name(DeviceId device) const;
  // The device of leaf, spine (pod-major) or core number i.
  [[nodiscard]] DeviceId leaf(std::uint32_t i) const { return DeviceId(first_device_ + i); }
  [[nodiscard]] DeviceId spine(std::uint32_t i) const { return DeviceId(first_device_ + leaves_ + i); }
  [[nodiscard]] DeviceId core(std::uint32_t i) const { return DeviceId(first_device_ + leaves_ + spines() + i); }

  // Computed from the id, nothing is stored. PRE: a link of the fabric.
  [[nodiscard]] Link link(LinkId id) const;

  // A node must send on the port on which the other receives: nothing joins leaves of different rails.
  [[nodiscard]] bool keeps_rails() const { return shape_.wiring == Wiring::kRailOnly; }
  [[nodiscard]] bool has_rails() const { return rails_ > 1; }
  // 0 when not connected.
  [[nodiscard]] std::int64_t path_count(const PortPair& ends) const;
  [[nodiscard]] std::int64_t max_path_count() const;
  // Every path count divides the largest.
  [[nodiscard]] std::int64_t spray_weight() const { return max_path_count(); }
  // These return the latency of the equal-cost paths, which are equally long.
  //
  // The links of one path with the whole weight each, from source to destination. PRE: 0 <= index < path_count.
  Duration append_path(const PortPair& ends, std::int64_t index, std::int64_t weight, std::vector<LinkShare>& out) const;
  // Spreads `weight` evenly over all equal-cost paths; every link once, without enumerating paths.
  // PRE: path_count > 0 divides weight. Cost: the number of links, not of paths.
  Duration append_spray(const PortPair& ends, std::int64_t weight, std::vector<LinkShare>& out) const;
  // The same, of each bundle only the link that stands for it: at most six links.
  Duration append_bundles(const PortPair& ends, std::int64_t weight, std::vector<LinkShare>& out) const;
  // The link that stands for `link`: the first of its bundle; itself where it has none.
  [[nodiscard]] LinkId first_of_bundle(LinkId link) const;
  // Parallel cables side by side are told apart by this number; nothing where there is one cable.
  [[nodiscard]] std::optional<std::uint32_t> cable_number(LinkId link) const;

 private:
  [[nodiscard]] Duration path_latency(const PortPair& ends) const;
  [[nodiscard]] LinkId port_up(NodePort p) const { return LinkId(first_link_ + 2 * (p.node * ports_per_node_ + p.port)); }
  [[nodiscard]] LinkId leaf_up(std::uint32_t leaf, std::uint32_t spine, std::uint32_t cable) const;
  [[nodiscard]] LinkId spine_up(std::uint32_t pod, std::uint32_t spine, std::uint32_t core, std::uint32_t cable) const;
  [[nodiscard]] static LinkId down(LinkId up) { return LinkId(up.value() + 1); }
  // Links that a leaf, or a pod, has upwards.
  [[nodiscard]] std::uint32_t leaf_bundle() const { return spines_ * leaf_cables_; }
  [[nodiscard]] std::uint32_t pod_bundle() const { return spines_ * cores_per_spine_ * core_cables_; }

  FabricShape shape_;
  std::uint32_t nodes_;
  NodeBlock node_;
  std::uint32_t ports_per_node_;
  std::uint32_t nodes_per_rack_;
  std::uint32_t rails_;
  std::uint32_t leaves_ = 0;
  std::uint32_t leaves_per_pod_ = 0;
  std::uint32_t pods_ = 0;
  std::uint32_t spines_ = 0;  // per pod
  std::uint32_t cores_per_spine_ = 0;
  std::uint32_t leaf_cables_ = 1;
  std::uint32_t core_cables_ = 1;
  std::uint32_t first_device_;
  std::uint32_t first_link_;
  std::uint32_t first_leaf_link_ = 0;
  std::uint32_t first_spine_link_ = 0;
};

}  // namespace lockstep
