// SPDX-License-Identifier: Apache-2.0
// Rail-only fabrics: a leaf per rail, no spines, and a sender that changes rails over NVLink.
#include <gtest/gtest.h>

#include "tests/support/cluster_fixtures.h"
#include "tests/support/topology_fixtures.h"
#include "topology/graph_analysis.h"
#include "workloads/collectives/ring.h"

namespace lockstep {
namespace {

using test::hop;
using test::path_names;
using Names = std::vector<std::string>;

// NVLink 100 ns, PCIe 300 ns, cables 1 us a link.
Network rail_only(std::uint32_t nodes, int gpus, int nics) {
  const Wire nvlink = Wire::pure(Rate::bytes_per_second(400e9), Duration::nanos(100));
  const Wire pcie = Wire::pure(Rate::bytes_per_second(50e9), Duration::nanos(300));
  return Network({.nodes = nodes,
                  .server = NvSwitchServer({.gpus = gpus, .nics = nics, .nvlink = nvlink, .gpu_pcie = pcie, .nic_pcie = pcie}),
                  .fabric = {.nodes_per_leaf = static_cast<int>(nodes), .wiring = Wiring::kRailOnly, .host = test::kUnitWire}});
}

// Devices: 5 x (4 GPUs + NVSwitch + PCIe + 4 NICs) + 4 leaves. Cables: 5 x 12 inside and 5 x 4 to the leaves.
TEST(RailOnly, HasOneLeafPerRailAndNothingElse) {
  const Network net = rail_only(5, 4, 4);
  EXPECT_EQ(net.device_count(), 50u + 4);
  EXPECT_EQ(net.link_count(), 2u * (60 + 20));
  EXPECT_EQ(net.rack_count(), 1u);
  EXPECT_EQ(net.pod_count(), 1u);
  EXPECT_EQ(net.name(net.first_switch()), "rail0");
  EXPECT_EQ(net.max_path_count(), 1);
  EXPECT_TRUE(analyze_graph(net).is_connected);
}

TEST(RailOnly, ARailIsTwoCables) {
  EXPECT_EQ(path_names(rail_only(5, 4, 4), hop(1, 13)),
            (Names{"node0.gpu1>node0.pcie", "node0.pcie>node0.nic1", "node0.nic1>rail1", "rail1>node3.nic1",
                   "node3.nic1>node3.pcie", "node3.pcie>node3.gpu1"}));
}

// GPU 1 of node 0 to GPU 2 of node 3: over NVLink to GPU 2 of node 0, whose NIC is on rail 2. Latency: 2 x 100 ns NVLink, 4 x
// 300 ns PCIe, 2 us.
TEST(RailOnly, TheSenderChangesRailsOverNvlink) {
  const Network net = rail_only(5, 4, 4);
  EXPECT_EQ(net.path_count(hop(1, 14)), 1);
  EXPECT_EQ(path_names(net, hop(1, 14)),
            (Names{"node0.gpu1>node0.nvswitch", "node0.nvswitch>node0.gpu2", "node0.gpu2>node0.pcie", "node0.pcie>node0.nic2",
                   "node0.nic2>rail2", "rail2>node3.nic2", "node3.nic2>node3.pcie", "node3.pcie>node3.gpu2"}));
  std::vector<LinkShare> shares;
  EXPECT_EQ(net.append_path(hop(1, 14), 0, 1, shares), Duration::nanos(2 * 100 + 4 * 300) + Duration::micros(2));
}

// Also where the sender was told to use another NIC: only rail 3 leads to NIC 3.
TEST(RailOnly, TheReceiversNicDecides) {
  Hop h = hop(1, 14);
  h.from_nic = 0;
  h.to_nic = 3;
  const Names names = path_names(rail_only(5, 4, 4), h);
  EXPECT_EQ(names.at(1), "node0.nvswitch>node0.gpu3");
  EXPECT_EQ(names.at(4), "node0.nic3>rail3");
}

// 4 GPUs and 2 NICs: GPUs 0, 1 are next to NIC 0, GPUs 2, 3 to NIC 1. To GPU 3 of node 1 (NIC 1) GPU 2 sends itself, GPU 0 by
// way of GPU 2, the first next to NIC 1.
TEST(RailOnly, AGpuNextToTheNicSendsItself) {
  const Network net = rail_only(2, 4, 2);
  EXPECT_EQ(path_names(net, hop(2, 7)).front(), "node0.gpu2>node0.pcie");
  EXPECT_EQ(path_names(net, hop(0, 7)).at(1), "node0.nvswitch>node0.gpu2");
}

// 2 GPUs and 8 NICs: GPU 0 owns NICs 0-3 and sends on any of them itself; NIC 5 belongs to GPU 1.
TEST(RailOnly, WithMoreNicsThanGpusEachOwnsARun) {
  const Network net = rail_only(2, 2, 8);
  Hop h = hop(0, 2);
  h.to_nic = 3;
  EXPECT_EQ(path_names(net, h).front(), "node0.gpu0>node0.pcie");
  h.to_nic = 5;
  EXPECT_EQ(path_names(net, h).at(1), "node0.nvswitch>node0.gpu1");
}

// 4 GPUs and 6 NICs: GPU g owns the NICs from 6g/4 on, rounded down: 0; 1, 2; 3; 4, 5.
TEST(RailOnly, RunsOfNicsNeedNotBeEqual) {
  const Network net = rail_only(2, 4, 6);
  Hop h = hop(0, 4);
  for (const auto& [nic, owner] : {std::pair(1, 1), {2, 1}, {3, 2}, {4, 3}, {5, 3}}) {
    h.to_nic = nic;
    EXPECT_EQ(path_names(net, h).at(1), "node0.nvswitch>node0.gpu" + std::to_string(owner)) << nic;
  }
}

// Without NVLink there is nothing to gain from another GPU: two GPUs and two NICs on one PCIe hub.
TEST(RailOnly, WithoutNvlinkTheSenderReachesTheNicOverPcie) {
  WiredServer::Plan box{.gpus = 2, .nics = 2};
  const auto add = [&box](std::uint32_t a, std::uint32_t b) {
    const Rate rate = Rate::bytes_per_second(50e9);
    box.links.push_back({DeviceId(a), DeviceId(b), rate, rate, Duration(), LinkTier::kPcie});
    box.links.push_back({DeviceId(b), DeviceId(a), rate, rate, Duration(), LinkTier::kPcie});
  };
  box.devices = {{DeviceKind::kGpu, "gpu0"},
                 {DeviceKind::kGpu, "gpu1"},
                 {DeviceKind::kPcieHub, "pcie"},
                 {DeviceKind::kNic, "nic0"},
                 {DeviceKind::kNic, "nic1"}};
  add(0, 2);
  add(1, 2);
  add(2, 3);
  add(2, 4);
  const auto row = [](Rows<std::uint32_t>& rows, std::vector<std::uint32_t> links) {
    rows.push_all(links);
    rows.end_row();
  };
  for (const std::vector<std::uint32_t>& links : {std::vector<std::uint32_t>{}, {0, 3}, {2, 1}, {}}) row(box.inside, links);
  for (const std::vector<std::uint32_t>& links : {std::vector<std::uint32_t>{0, 4}, {0, 6}, {2, 4}, {2, 6}})
    row(box.out, links);
  box.extra_latency.resize(4);
  box.direct_links.resize(4);
  const Network net({.nodes = 2,
                     .server = WiredServer(box),
                     .fabric = {.nodes_per_leaf = 2, .wiring = Wiring::kRailOnly, .host = test::kUnitWire}});
  EXPECT_EQ(path_names(net, hop(0, 3)), (Names{"node0.gpu0>node0.pcie", "node0.pcie>node0.nic1", "node0.nic1>rail1",
                                               "rail1>node1.nic1", "node1.nic1>node1.pcie", "node1.pcie>node1.gpu1"}));
}

// Rings keep to their rails: no ring edge between nodes crosses NVLink.
TEST(RailOnly, RingsNeedNoForwarding) {
  const Network net = rail_only(3, 4, 4);
  std::vector<EndpointId> members;
  for (std::uint32_t g = 0; g < 12; ++g) members.push_back(EndpointId(g));
  const RingShape ring = shape_ring(Router(net, RoutingPolicy::kSpray, 0), members, 0);
  std::int64_t nvlink = 0;
  for (const LinkShare& s : ring.closed.shares) {
    if (net.link(s.link).tier == LinkTier::kNvlink) nvlink += s.coefficient;
  }
  // 4 channels x 3 nodes x 3 edges inside, two links each.
  EXPECT_EQ(nvlink, ring.weight * 4 * 3 * 3 * 2);
}

TEST(RailOnly, IsAWiringOfClusters) {
  const ClusterSpec spec = test::shipped_cluster("dgx-h100", {"fabric={wiring: rail_only}"});
  const Network net = build_network(spec);
  EXPECT_EQ(net.device_count() - net.first_switch().index(), 8u);
  EXPECT_EQ(net.rack_count(), 1u);
}

TEST(RailOnly, HasNoOtherSwitches) {
  const test::ReadCluster c = test::read_cluster(
      "kind: cluster\nnodes: 4\nserver: dgx-h100\nnetwork: ib-8x400\nfabric: {wiring: rail_only, spines: 4, nodes_per_leaf: "
      "2}\n");
  ASSERT_EQ(c.messages.size(), 2u);
  EXPECT_EQ(c.messages[0],
            "c.yaml:5:56: error: fabric.nodes_per_leaf: does not go with wiring rail_only, which has one leaf per rail for all "
            "nodes and "
            "no spines (remove it)");
}

// 8 nodes, a port each on the one leaf of a rail: 4 ports; 8 do not fit in 4.
TEST(RailOnly, LeavesNeedAPortPerNode) {
  EXPECT_TRUE(
      test::read_cluster(
          "kind: cluster\nnodes: 8\nserver: dgx-h100\nnetwork: ib-8x400\nfabric: {wiring: rail_only, switch_ports: 8}\n")
          .is_good);
  const test::ReadCluster c = test::read_cluster(
      "kind: cluster\nnodes: 8\nserver: dgx-h100\nnetwork: ib-8x400\nfabric: {wiring: rail_only, switch_ports: 4}\n");
  ASSERT_EQ(c.messages.size(), 1u);
  EXPECT_NE(c.messages[0].find("a leaf switch needs 8 ports and has 4"), std::string::npos) << c.messages[0];
}

}  // namespace
}  // namespace lockstep
