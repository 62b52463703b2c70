// SPDX-License-Identifier: Apache-2.0
#include "topology/network.h"

#include <gtest/gtest.h>

#include <set>

#include "base/diagnostics.h"
#include "tests/support/topology_fixtures.h"
#include "topology/link_rows.h"

namespace lockstep {
namespace {

using test::boxes;
using test::hop;
using test::leaf_spine;
using test::path_names;
using test::three_tiers;
using Names = std::vector<std::string>;

// 12 hosts + 3 leaves + 4 spines = 19 devices; 2 x (12 host cables + 3 x 4 uplinks) = 48 links.
TEST(Network, LeafSpineHasACableFromEveryLeafToEverySpine) {
  const Network net = leaf_spine(4);
  EXPECT_EQ(net.device_count(), 19u);
  EXPECT_EQ(net.link_count(), 48u);
  EXPECT_EQ(net.rack_count(), 3u);
  EXPECT_EQ(net.pod_count(), 1u);
}

// 12 hosts in 6 leaves in 3 pods of 3 spines; cores 3 x 5. Cables: 12 + 6 x 3 + 9 x 5 = 75, links twice that.
TEST(Network, ThreeTiersCountAsDrawn) {
  const Network net = three_tiers();
  EXPECT_EQ(net.rack_count(), 6u);
  EXPECT_EQ(net.pod_count(), 3u);
  EXPECT_EQ(net.device_count(), 12u + 6 + 9 + 15);
  EXPECT_EQ(net.link_count(), 150u);
}

TEST(Network, PathIOfALeafSpineRunsOverSpineI) {
  const Network net = leaf_spine(4);
  EXPECT_EQ(path_names(net, hop(1, 9), 3), (Names{"host1>leaf0", "leaf0>spine3", "spine3>leaf2", "leaf2>host9"}));
  EXPECT_EQ(path_names(net, hop(1, 9), 4 + 3), path_names(net, hop(1, 9), 3));  // modulo 4
}

TEST(Network, HostsUnderOneLeafMeetThere) {
  const Network net = leaf_spine(4);
  EXPECT_EQ(net.path_count(hop(0, 3)), 1);
  EXPECT_EQ(path_names(net, hop(0, 3)), (Names{"host0>leaf0", "leaf0>host3"}));
}

// leaf pair: 3 spines x 2 cables = 6; pod pair: 3 spines x 5 cores x 2 x 3 cables = 90.
TEST(Network, EveryCableIsItsOwnEqualCostPath) {
  const Network net = three_tiers(2, 3);
  EXPECT_EQ(net.path_count(hop(0, 1)), 1);
  EXPECT_EQ(net.path_count(hop(0, 2)), 6);
  EXPECT_EQ(net.path_count(hop(0, 11)), 90);
  EXPECT_EQ(net.max_path_count(), 90);
  std::set<std::vector<std::string>> distinct;
  for (int i = 0; i < 90; ++i) distinct.insert(path_names(net, hop(0, 11), i));
  EXPECT_EQ(distinct.size(), 90u);
}

TEST(Network, PathsBetweenPodsStayWithTheCoresOfTheirSpine) {
  const Network net = three_tiers(1, 2);
  // index = ((spine x 5 + core) x 1 + 0) x 2 + cable: spine 2, core 4 of its group (core 14), cable 1 -> 29.
  EXPECT_EQ(path_names(net, hop(0, 11), 29), (Names{"host0>pod0.leaf0", "pod0.leaf0>pod0.spine2", "pod0.spine2>core14#1",
                                                    "core14>pod2.spine2#1", "pod2.spine2>pod2.leaf1", "pod2.leaf1>host11"}));
}

TEST(Network, GpusOfANodeMeetInTheNvSwitch) {
  const Network net = boxes(4, 8, 4);
  EXPECT_EQ(path_names(net, hop(8, 15)), (Names{"node1.gpu0>node1.nvswitch", "node1.nvswitch>node1.gpu7"}));
}

// GPU 5 of 8 with 4 NICs uses NIC 5*4/8 = 2; GPU 24 is GPU 0 of node 3, NIC 0.
TEST(Network, CrossingNodesGoesThroughPcieAndTheNearestNic) {
  const Network net = boxes(4, 8, 4);
  EXPECT_EQ(path_names(net, hop(5, 24), 1),
            (Names{"node0.gpu5>node0.pcie", "node0.pcie>node0.nic2", "node0.nic2>leaf0", "leaf0>spine1", "spine1>leaf1",
                   "leaf1>node3.nic0", "node3.nic0>node3.pcie", "node3.pcie>node3.gpu0"}));
}

TEST(Network, AHopMayNameItsNics) {
  const Network net = boxes(2, 8, 4);
  Hop h = hop(5, 8);
  h.from_nic = 0;
  h.to_nic = 3;
  const Names names = path_names(net, h);
  EXPECT_EQ(names.at(2), "node0.nic0>leaf0");
  EXPECT_EQ(names.at(3), "leaf0>node1.nic3");
}

// 2 GPUs, 8 NICs: GPU 1 is nearest to NIC 1*8/2 = 4.
TEST(Network, MoreNicsThanGpusLeaveTheNearestWellDefined) {
  const Network net = boxes(2, 2, 8);
  EXPECT_EQ(net.nearest_nic(EndpointId(0)), 0);
  EXPECT_EQ(net.nearest_nic(EndpointId(1)), 4);
}

TEST(Network, EndpointsNodesRacksAreNumberedInOrder) {
  const Network net = boxes(6, 8, 8);
  EXPECT_EQ(net.endpoint_count(), 48u);
  EXPECT_EQ(net.node_of(EndpointId(17)), NodeId(2));
  EXPECT_EQ(net.endpoint(NodeId(2), 1), EndpointId(17));
  EXPECT_EQ(net.name(net.device_of(EndpointId(17))), "node2.gpu1");
  EXPECT_EQ(net.rack_of(NodeId(3)), 1u);
  EXPECT_EQ(net.rack_of(NodeId(4)), 2u);
}

// A leaf alone has nothing to cross: 4 hosts, 1 leaf, no spine although four were asked for.
TEST(Network, ASingleLeafNeedsNoSpine) {
  const Network net({.nodes = 4, .fabric = {.nodes_per_leaf = 4, .spines = 4}});
  EXPECT_EQ(net.device_count(), 5u);
  EXPECT_EQ(net.max_path_count(), 1);
}

TEST(Network, UnreachableEndsAreAUserErrorThatNamesThem) {
  const Network net = boxes(2, 8, 0);
  EXPECT_EQ(net.path_count(hop(0, 8)), 0);
  try {
    std::ignore = path_names(net, hop(0, 8));
    FAIL() << "no error";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("node0.gpu0 cannot reach node1.gpu0"), std::string::npos) << e.what();
  }
}

// host 5 is in leaf 0 of pod 1 (device 12 + 2); its 3 spines have 2 cables each, its 2 hosts one.
TEST(Network, RowsListTheLinksThatLeaveADevice) {
  const Network net = three_tiers(2, 1);
  Names names;
  const LinkRows rows(net);
  for (const LinkId l : rows.from(test::clos(net).leaf(2))) names.push_back(net.name(l));
  EXPECT_EQ(names, (Names{"pod1.leaf0>host4", "pod1.leaf0>host5", "pod1.leaf0>pod1.spine0#0", "pod1.leaf0>pod1.spine0#1",
                          "pod1.leaf0>pod1.spine1#0", "pod1.leaf0>pod1.spine1#1", "pod1.leaf0>pod1.spine2#0",
                          "pod1.leaf0>pod1.spine2#1"}));
}

TEST(Network, ThereIsNoLinkAfterTheLast) {
  const Network net = boxes(2, 8, 4);
  EXPECT_NO_THROW(std::ignore = net.link(LinkId::from_index(net.link_count() - 1)));
  EXPECT_THROW(std::ignore = net.link(LinkId::from_index(net.link_count())), InternalError);
  EXPECT_THROW(std::ignore = boxes(2, 8, 0).link(LinkId::none()), InternalError);
}

// 4 x 8 + 2 x 8 links inside a box and 2 x 8 to its leaf: 2^28 x 64 = 2^34.
TEST(Network, MoreLinksThanIdsAreRefused) { EXPECT_THROW(std::ignore = boxes(1u << 28, 8, 8), InternalError); }

}  // namespace
}  // namespace lockstep
