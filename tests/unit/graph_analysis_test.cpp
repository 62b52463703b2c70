// SPDX-License-Identifier: Apache-2.0
#include "topology/graph_analysis.h"

#include <gtest/gtest.h>

#include "tests/support/topology_fixtures.h"

namespace lockstep {
namespace {

constexpr std::int64_t kG100 = 100'000'000'000;  // bit/s

// 4 leaves of 4 hosts, every cable 100 G.
Network four_leaves(int spines, int cables = 1) {
  return Network({.nodes = 16,
                  .fabric = {.nodes_per_leaf = 4,
                             .spines = spines,
                             .leaf_spine_cables = cables,
                             .host = test::kUnitWire,
                             .leaf_spine = test::kUnitWire}});
}

// Two leaves a side, 4 uplinks each: 2 x 4 x 100 G = 800 G, which is all their 8 ports can send.
TEST(GraphAnalysis, NonBlockingLeafSpineHasFullBisection) {
  const GraphReport r = analyze_graph(four_leaves(4));
  EXPECT_TRUE(r.is_connected);
  EXPECT_EQ(r.bisection_bps, 8 * kG100);
  EXPECT_EQ(r.bisection_ports_bps, 8 * kG100);
}

// One uplink instead of four per leaf: 2 x 1 x 100 G, a quarter.
TEST(GraphAnalysis, OversubscriptionDividesTheBisection) {
  EXPECT_EQ(analyze_graph(four_leaves(1)).bisection_bps, 2 * kG100);
  EXPECT_EQ(analyze_graph(four_leaves(1, 3)).bisection_bps, 6 * kG100);
}

// More uplinks than ports: the ports limit.
TEST(GraphAnalysis, BisectionNeverExceedsThePorts) { EXPECT_EQ(analyze_graph(four_leaves(9)).bisection_bps, 8 * kG100); }

// Three pods of 2 leaves x 2 hosts, 3 spines, 5 cores each: racks 0-2 against 3-5. Pod 1 has a leaf on either side, so rack 2 reaches
// rack 3 through its own spines. 3 racks x 2 ports = 600 G flow.
TEST(GraphAnalysis, BisectionMayCutAPodInTwo) { EXPECT_EQ(analyze_graph(test::three_tiers()).bisection_bps, 6 * kG100); }

// Three leaves: the first against the last; the middle one only relays, and has nothing to relay over. 4 ports, 2 uplinks.
TEST(GraphAnalysis, TheMiddleRackOfAnOddNumberStandsAside) {
  const GraphReport r = analyze_graph(test::leaf_spine(2));
  EXPECT_EQ(r.bisection_bps, 2 * kG100);
  EXPECT_EQ(r.bisection_ports_bps, 4 * kG100);
}

// Uplinks of a leaf: 3 spines x 2 cables.
TEST(GraphAnalysis, DisjointPathsAreTheUplinksOfALeaf) {
  EXPECT_EQ(analyze_graph(test::leaf_spine(3, 2)).disjoint_paths, 6);
  EXPECT_EQ(analyze_graph(test::three_tiers(2, 1)).disjoint_paths, 6);
}

// host-leaf-spine-leaf-host 4; with cores 6; boxes add GPU-PCIe-NIC on both sides; one box: GPU-NVSwitch-GPU.
TEST(GraphAnalysis, DiameterCountsLinksEndToEnd) {
  EXPECT_EQ(analyze_graph(test::leaf_spine(2)).diameter, 4);
  EXPECT_EQ(analyze_graph(test::three_tiers()).diameter, 6);
  EXPECT_EQ(analyze_graph(test::boxes(4, 8, 8)).diameter, 8);
  EXPECT_EQ(analyze_graph(test::boxes(2, 8, 8)).diameter, 6);
  EXPECT_EQ(analyze_graph(test::boxes(1, 8, 8)).diameter, 2);
}

TEST(GraphAnalysis, NodesWithoutNicsFallApart) {
  const GraphReport r = analyze_graph(test::boxes(3, 8, 0));
  EXPECT_FALSE(r.is_connected);
  EXPECT_EQ(r.components, 3u);
  EXPECT_FALSE(r.diameter);
  EXPECT_FALSE(r.bisection_bps);
}

TEST(GraphAnalysis, OneRackHasNoBisection) {
  const GraphReport r = analyze_graph(test::boxes(2, 8, 8));
  EXPECT_TRUE(r.is_connected);
  EXPECT_FALSE(r.bisection_bps);
}

}  // namespace
}  // namespace lockstep
