// SPDX-License-Identifier: Apache-2.0
// Rail-optimised attachment: leaf = unit x rails + port.
#include <gtest/gtest.h>

#include "tests/support/topology_fixtures.h"
#include "topology/drawing/dot.h"
#include "topology/graph_analysis.h"
#include "workloads/collectives/ring.h"

namespace lockstep {
namespace {

using test::hop;
using test::path_names;
using Names = std::vector<std::string>;

// Boxes of 4 GPUs and 4 NICs, 2 nodes a unit, 3 spines; pods of so many units where given (2 cores per spine).
Network rails(std::uint32_t nodes, int units_per_pod = 0, Wiring wiring = Wiring::kRail, int nics = 4) {
  const Wire bus = Wire::pure(Rate::bytes_per_second(50e9), Duration::nanos(300));
  return Network({.nodes = nodes,
                  .server = NvSwitchServer({.gpus = 4, .nics = nics, .nvlink = bus, .gpu_pcie = bus, .nic_pcie = bus}),
                  .fabric = {.nodes_per_leaf = 2,
                             .wiring = wiring,
                             .leaves_per_pod = units_per_pod * nics,
                             .spines = 3,
                             .cores_per_spine = 2,
                             .host = test::kUnitWire,
                             .leaf_spine = test::kUnitWire,
                             .spine_core = test::kUnitWire}});
}

// Node n, port r: unit n/2, leaf 4 (n/2) + r. So r of both nodes of a unit meets in one leaf, and the four ports of a node in four.
TEST(Rails, PortROfAllNodesOfAUnitMeetsInOneLeaf) {
  const Network net = rails(6);
  for (std::uint32_t node = 0; node < 6; ++node) {
    for (std::uint32_t port = 0; port < 4; ++port) {
      EXPECT_EQ(test::clos(net).leaf_of(node, port), 4 * (node / 2) + port);
      EXPECT_EQ(test::clos(net).rack_of_leaf(test::clos(net).leaf_of(node, port)), net.rack_of(NodeId(node)));
    }
  }
}

// 6 nodes in 3 units of 4 leaves. Devices: 6 x (4 GPUs + NVSwitch + PCIe + 4 NICs) + 12 leaves + 3 spines. Cables: 6 x (2 x 4 + 4)
// inside, 24 to the leaves, 12 x 3 to the spines; links twice that.
TEST(Rails, AUnitHasOneLeafPerRail) {
  const Network net = rails(6);
  EXPECT_EQ(net.rack_count(), 3u);
  EXPECT_EQ(test::clos(net).rails(), 4u);
  EXPECT_EQ(net.device_count(), 60u + 12 + 3);
  EXPECT_EQ(net.link_count(), 2u * (72 + 24 + 36));
  EXPECT_TRUE(analyze_graph(net).is_connected);
}

// GPU 1 of node 0 to GPU 1 of node 1 (endpoint 5): both NICs 1, one leaf, two links of the fabric, no choice.
TEST(Rails, ARailInsideAUnitIsOnePathOfTwoLinks) {
  const Network net = rails(6);
  EXPECT_EQ(net.path_count(hop(1, 5)), 1);
  EXPECT_EQ(path_names(net, hop(1, 5)), (Names{"node0.gpu1>node0.pcie", "node0.pcie>node0.nic1", "node0.nic1>unit0.rail1",
                                               "unit0.rail1>node1.nic1", "node1.nic1>node1.pcie", "node1.pcie>node1.gpu1"}));
}

// GPU 0 of node 0 to GPU 1 of node 1: other leaves, so over any of the 3 spines although the unit is the same. Naming NIC 0 at the far end
// keeps it on rail 0.
TEST(Rails, DifferentRailsGoThroughTheSpines) {
  const Network net = rails(6);
  EXPECT_EQ(net.path_count(hop(0, 5)), 3);
  const Names path = path_names(net, hop(0, 5), 2);
  EXPECT_EQ(Names(path.begin() + 2, path.end() - 2),
            (Names{"node0.nic0>unit0.rail0", "unit0.rail0>spine2", "spine2>unit0.rail1", "unit0.rail1>node1.nic1"}));
  Hop same_rail = hop(0, 5);
  same_rail.to_nic = 0;
  EXPECT_EQ(net.path_count(same_rail), 1);
}

// 8 nodes in 4 units in 2 pods of 2 units: node 7 is in unit 1 of pod 1. 3 spines x 2 cores between pods.
TEST(Rails, UnitsStayInOnePod) {
  const Network net = rails(8, 2);
  EXPECT_EQ(net.pod_count(), 2u);
  EXPECT_EQ(net.pod_of(NodeId(3)), 0u);
  EXPECT_EQ(net.pod_of(NodeId(4)), 1u);
  EXPECT_EQ(net.path_count(hop(2, 30)), 6);
  const Names path = path_names(net, hop(2, 30), 5);
  EXPECT_EQ(Names(path.begin() + 2, path.end() - 2),
            (Names{"node0.nic2>pod0.unit0.rail2", "pod0.unit0.rail2>pod0.spine2", "pod0.spine2>core5", "core5>pod1.spine2",
                   "pod1.spine2>pod1.unit1.rail2", "pod1.unit1.rail2>node7.nic2"}));
}

TEST(Rails, PodsThatSplitAUnitAreABrokenPlan) {
  EXPECT_THROW(std::ignore = Network({.nodes = 8,
                                      .server = NvSwitchServer({.gpus = 4, .nics = 4}),
                                      .fabric = {.nodes_per_leaf = 2, .wiring = Wiring::kRail, .leaves_per_pod = 6}}),
               InternalError);
}

// With one NIC a node there is one rail, and both wirings are the same but for what the leaf is called.
TEST(Rails, OneNicMakesBothWiringsTheSame) {
  const Network rail = rails(6, 0, Wiring::kRail, 1);
  const Network rack = rails(6, 0, Wiring::kRack, 1);
  ASSERT_EQ(rail.link_count(), rack.link_count());
  for (std::size_t l = 0; l < rail.link_count(); ++l) {
    EXPECT_EQ(rail.link(LinkId::from_index(l)).from, rack.link(LinkId::from_index(l)).from);
    EXPECT_EQ(rail.link(LinkId::from_index(l)).to, rack.link(LinkId::from_index(l)).to);
  }
}

// A ring leaves a node through the NIC by which it entered, so every channel stays on its rail: in one unit it needs no spine, and between
// units it does.
TEST(Rails, RingsStayOnTheirRails) {
  const auto uses_spines = [](const Network& net, std::uint32_t gpus) {
    std::vector<EndpointId> members;
    for (std::uint32_t g = 0; g < gpus; ++g) members.push_back(EndpointId(g));
    const RingShape ring = shape_ring(Router(net, RoutingPolicy::kSpray, 0), members, 0);
    bool found = false;
    for (const LinkShare& s : ring.closed.shares) found = found || net.link(s.link).tier == LinkTier::kLeafSpine;
    return found;
  };
  EXPECT_FALSE(uses_spines(rails(6), 8));
  EXPECT_TRUE(uses_spines(rails(6), 16));
}

// 3 units of 4 leaves and 2 nodes; every node has a line to each of its 4 leaves, every leaf to each of 3 spines.
TEST(Rails, DrawingHasABoxPerUnit) {
  const std::string dot = to_dot(draw_network(rails(6), "r"));
  const auto count = [&dot](std::string_view word) {
    std::size_t n = 0;
    for (std::size_t at = dot.find(word); at != std::string::npos; at = dot.find(word, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("subgraph cluster"), 3u);
  EXPECT_EQ(count(" -- "), 6u * 4 + 12 * 3);
  EXPECT_EQ(count("label=\"unit 2\""), 1u);
  EXPECT_EQ(count("\"unit2.rail3\" -- \"node5\" [label=\"100 Gbps\"];"), 1u);
  EXPECT_EQ(count("{"), count("}"));
}

}  // namespace
}  // namespace lockstep
