// SPDX-License-Identifier: Apache-2.0
#include "topology/fabric/fabric_spec.h"

#include <gtest/gtest.h>

#include "tests/support/topology_fixtures.h"

namespace lockstep {
namespace {

// Every cable 100 Gbit/s, `fabric` Gbit/s from leaf to spine.
FabricShape wires(std::int64_t fabric = 100, int cables = 1) {
  return {.leaf_spine_cables = cables,
          .host = test::kUnitWire,
          .leaf_spine = Wire::pure(Rate::gbps(fabric), Duration()),
          .spine_core = test::kUnitWire};
}

// 32 ports of 100 G down, 2:1, uplinks of 100 G: 32/2 = 16 spines.
TEST(FabricSize, OversubscriptionBecomesUplinks) {
  const FabricSize s = size_fabric({.nodes_per_leaf = 32, .oversubscription = 2}, wires(), 128, 1);
  EXPECT_EQ(s.shape.spines, 16);
  EXPECT_DOUBLE_EQ(s.leaf.real, 2);
  EXPECT_FALSE(s.leaf.is_off());
}

// 32 x 100 / (2 x 400) = 4 uplinks of 400 G.
TEST(FabricSize, FasterUplinksNeedFewerSpines) {
  EXPECT_EQ(size_fabric({.nodes_per_leaf = 32, .oversubscription = 2}, wires(400), 128, 1).shape.spines, 4);
}

// 16 uplinks in bundles of 4: 4 spines. Of 5: ceil(16/5) = 4 spines, 20 uplinks, 32/20 = 1.6:1 instead of 2:1.
TEST(FabricSize, ParallelCablesAreWholeBundles) {
  EXPECT_EQ(size_fabric({.nodes_per_leaf = 32, .oversubscription = 2}, wires(100, 4), 128, 1).shape.spines, 4);
  const FabricSize s = size_fabric({.nodes_per_leaf = 32, .oversubscription = 2}, wires(100, 5), 128, 1);
  EXPECT_EQ(s.shape.spines, 4);
  EXPECT_DOUBLE_EQ(s.leaf.real, 1.6);
  EXPECT_TRUE(s.leaf.is_off());
}

// 30 x 100 / (0.1 x 100) is 300 exactly, though 0.1 is no double: no uplink for a rounding error.
TEST(FabricSize, RoundingBuysNoUplink) {
  EXPECT_EQ(size_fabric({.nodes_per_leaf = 30, .oversubscription = 0.1}, wires(), 60, 1).shape.spines, 300);
}

// Ports of a node count: 4 nodes x 8 NICs = 32 down, 1:1 when nothing is asked.
TEST(FabricSize, NonBlockingUnlessAsked) {
  const FabricSize s = size_fabric({.nodes_per_leaf = 4}, wires(), 8, 8);
  EXPECT_EQ(s.shape.spines, 32);
  EXPECT_DOUBLE_EQ(s.leaf.real, 1);
}

// Leaf 4 down, 4 up; pods of 8 leaves: 8 down a spine, 4:1 core: 2 cores a spine.
TEST(FabricSize, EachTierHasItsOwnRatio) {
  const FabricSize s = size_fabric({.nodes_per_leaf = 4, .leaves_per_pod = 8, .core_oversubscription = 4}, wires(), 128, 1);
  EXPECT_EQ(s.shape.spines, 4);
  EXPECT_EQ(s.shape.cores_per_spine, 2);
  EXPECT_DOUBLE_EQ(s.leaf.real, 1);
  EXPECT_DOUBLE_EQ(s.spine.real, 4);
}

TEST(FabricSize, TiersThatNothingCrossesDoNotExist) {
  const FabricSize leaf = size_fabric({.nodes_per_leaf = 4, .spines = 3}, wires(), 4, 1);
  EXPECT_EQ(leaf.shape.spines, 0);
  EXPECT_EQ(leaf.leaf.real, 0);
  const FabricSize pod = size_fabric({.nodes_per_leaf = 4, .leaves_per_pod = 8}, wires(), 32, 1);
  EXPECT_EQ(pod.shape.spines, 4);
  EXPECT_EQ(pod.shape.cores_per_spine, 0);
}

// 32 nodes of 8 NICs: by rack a leaf takes 256 ports, by rail 32 of them, and there are eight times as many leaves. 64 nodes: 2 units of 8
// leaves, all of them on each of 32 spines.
TEST(FabricSize, ARailLeafTakesOnePortOfEachNode) {
  EXPECT_EQ(size_fabric({.nodes_per_leaf = 32}, wires(), 64, 8).shape.spines, 256);
  const FabricSize s = size_fabric({.nodes_per_leaf = 32, .wiring = Wiring::kRail}, wires(), 64, 8);
  EXPECT_EQ(s.shape.spines, 32);
  EXPECT_DOUBLE_EQ(s.leaf.real, 1);
  EXPECT_EQ(leaf_count(s.shape, 64, 8), 16);
  const PortCounts p = ports_used(s.shape, 64, 8);
  EXPECT_EQ(p.leaf, 64);
  EXPECT_EQ(p.spine, 16);
}

// One unit still has 8 leaves, which only spines connect.
TEST(FabricSize, OneUnitNeedsSpinesBetweenItsRails) {
  const FabricSize s = size_fabric({.wiring = Wiring::kRail, .oversubscription = 2}, wires(), 16, 8);
  EXPECT_EQ(s.shape.spines, 8);
  EXPECT_EQ(ports_used(s.shape, 16, 8).spine, 8);
}

// 2 units a pod = 16 leaves: spine 16 down, 16 up over 4 cables to each of 4 cores; 4 pods: core 4 x 4.
TEST(FabricSize, PodsOfRailsCountLeaves) {
  FabricShape w = wires();
  w.spine_core_cables = 4;
  const FabricSize s = size_fabric({.nodes_per_leaf = 32, .wiring = Wiring::kRail, .leaves_per_pod = 16}, w, 256, 8);
  EXPECT_EQ(s.shape.cores_per_spine, 4);
  const PortCounts p = ports_used(s.shape, 256, 8);
  EXPECT_EQ(p.spine, 32);
  EXPECT_EQ(p.core, 16);
}

// Leaf 32 + 16 up; spine 4 leaves + 2 cores x 3 cables; core 2 pods x 3 cables.
TEST(FabricSize, PortsAreThoseOfTheFullestSwitch) {
  const FabricShape f{.nodes_per_leaf = 32, .leaves_per_pod = 4, .spines = 16, .cores_per_spine = 2, .spine_core_cables = 3};
  const PortCounts p = ports_used(f, 32 * 5, 1);
  EXPECT_EQ(p.leaf, 48);
  EXPECT_EQ(p.spine, 10);
  EXPECT_EQ(p.core, 6);
}

}  // namespace
}  // namespace lockstep
