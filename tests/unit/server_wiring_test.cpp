// SPDX-License-Identifier: Apache-2.0
#include "topology/server/server_wiring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/support/cluster_fixtures.h"
#include "tests/support/topology_fixtures.h"

namespace lockstep {
namespace {

using Names = std::vector<std::string>;

constexpr double kGb = 1e9;

Wire wire(double gb_per_s, std::int64_t ns) { return Wire::pure(Rate::bytes_per_second(gb_per_s * kGb), Duration::nanos(ns)); }

// 8 GPUs and 4 NICs on two sockets with two switches each: GPUs 2s, 2s+1 and NIC s on switch s. Slots take 50 ns, uplinks 70,
// the sockets' link 100.
ServerParts tree_of_8() {
  return {.gpus = 8,
          .nics = 4,
          .tree = PcieTree{.sockets = 2, .switches_per_socket = 2, .uplink = wire(24, 70), .inter_socket = wire(16, 100)},
          .gpu_slot = wire(24, 50),
          .nic_slot = wire(24, 50)};
}

Network two_nodes(const ServerParts& parts) {
  return Network({.nodes = 2,
                  .server = wire_server(parts),
                  .fabric = {.nodes_per_leaf = 2, .host = wire(25, 200), .leaf_spine = wire(25, 200)}});
}

Duration latency(const Network& net, const Hop& hop) {
  std::vector<LinkShare> shares;
  return net.append_path(hop, 0, 1, shares);
}

TEST(ServerWiring, PcieGoesTheShortestWayThroughTheTree) {
  const Network net = two_nodes(tree_of_8());
  EXPECT_EQ(test::path_names(net, test::hop(0, 1)), (Names{"node0.gpu0>node0.pcie0", "node0.pcie0>node0.gpu1"}));
  EXPECT_EQ(latency(net, test::hop(0, 1)), Duration::nanos(50 + 50));
  EXPECT_EQ(test::path_names(net, test::hop(3, 0)), (Names{"node0.gpu3>node0.pcie1", "node0.pcie1>node0.socket0",
                                                           "node0.socket0>node0.pcie0", "node0.pcie0>node0.gpu0"}));
  EXPECT_EQ(latency(net, test::hop(3, 0)), Duration::nanos(50 + 70 + 70 + 50));
  EXPECT_EQ(test::path_names(net, test::hop(14, 8)),
            (Names{"node1.gpu6>node1.pcie3", "node1.pcie3>node1.socket1", "node1.socket1>node1.socket0",
                   "node1.socket0>node1.pcie0", "node1.pcie0>node1.gpu0"}));
  EXPECT_EQ(latency(net, test::hop(14, 8)), Duration::nanos(50 + 70 + 100 + 70 + 50));
  EXPECT_EQ(net.inside_tier(EndpointId(0), EndpointId(6)), LinkTier::kPcie);
}

// Staged in host memory a copy goes up to the root complex even from neighbours, and takes 10 us more.
TEST(ServerWiring, WithoutPeerAccessCopiesGoOverTheRootComplex) {
  ServerParts parts = tree_of_8();
  parts.has_p2p = false;
  parts.staging_latency = Duration::micros(10);
  const Network net = two_nodes(parts);
  EXPECT_EQ(test::path_names(net, test::hop(0, 1)), (Names{"node0.gpu0>node0.pcie0", "node0.pcie0>node0.socket0",
                                                           "node0.socket0>node0.pcie0", "node0.pcie0>node0.gpu1"}));
  EXPECT_EQ(latency(net, test::hop(0, 1)), Duration::nanos(50 + 70 + 70 + 50 + 10'000));
  // To NICs nothing changes: whether they reach the GPUs is the network's affair.
  EXPECT_EQ(test::path_names(net, test::hop(0, 8)).front(), "node0.gpu0>node0.pcie0");
  EXPECT_EQ(test::path_names(net, test::hop(0, 8)).size(), 2u + 2u + 2u);
}

// Two sockets without switches: GPUs 0-3 and NICs 0, 1 on socket 0.
TEST(ServerWiring, WithoutSwitchesEverythingSitsOnTheRootComplexes) {
  ServerParts parts = tree_of_8();
  parts.tree->switches_per_socket = 0;
  const Network net = two_nodes(parts);
  EXPECT_EQ(test::path_names(net, test::hop(0, 3)), (Names{"node0.gpu0>node0.socket0", "node0.socket0>node0.gpu3"}));
  EXPECT_EQ(test::path_names(net, test::hop(0, 4)),
            (Names{"node0.gpu0>node0.socket0", "node0.socket0>node0.socket1", "node0.socket1>node0.gpu4"}));
}

// GPU 5 of node 0 sends by its nearest NIC 2 = 5 x 4/8, which is on its switch; and by NIC 0, on the other socket.
TEST(ServerWiring, NicsSitBesideTheGpusTheyServe) {
  const Network net = two_nodes(tree_of_8());
  const Names out = test::path_names(net, test::hop(5, 8));
  EXPECT_EQ(Names(out.begin(), out.begin() + 3),
            (Names{"node0.gpu5>node0.pcie2", "node0.pcie2>node0.nic2", "node0.nic2>leaf0"}));
  EXPECT_EQ(latency(net, test::hop(5, 8)), Duration::nanos(2 * (50 + 50) + 2 * 200));
  Hop far = test::hop(5, 8);
  far.from_nic = 0;
  const Names over_sockets = test::path_names(net, far);
  EXPECT_EQ(Names(over_sockets.begin(), over_sockets.begin() + 5),
            (Names{"node0.gpu5>node0.pcie2", "node0.pcie2>node0.socket1", "node0.socket1>node0.socket0",
                   "node0.socket0>node0.pcie0", "node0.pcie0>node0.nic0"}));
  EXPECT_EQ(net.links_to_nic(EndpointId(5), 2), 2u);
  EXPECT_EQ(net.links_to_nic(EndpointId(5), 0), 5u);
}

// For every ratio of NICs to GPUs each NIC has a GPU beside it that it is the nearest of, or, with more NICs than GPUs, that
// owns it.
TEST(ServerWiring, EveryNicHasAGpuBesideIt) {
  for (int gpus = 1; gpus <= 9; ++gpus) {
    for (int nics = 1; nics <= 20; ++nics) {
      ServerParts parts = tree_of_8();
      parts.gpus = gpus;
      parts.nics = nics;
      parts.tree->switches_per_socket = gpus;  // a switch holds one GPU at most
      const WiredServer server = wire_server(parts);
      for (int i = 0; i < nics; ++i) {
        const int owner = nics <= gpus ? -1 : ((i + 1) * gpus - 1) / nics;
        int beside = -1;
        for (int g = 0; g < gpus; ++g) {
          if (server.path_out(g, i).size() == 2) beside = g;
        }
        ASSERT_GE(beside, 0) << gpus << " GPUs, NIC " << i << " of " << nics;
        EXPECT_EQ(nics <= gpus ? beside * nics / gpus : beside, nics <= gpus ? i : owner);
      }
    }
  }
}

// Without GPUDirect the data is in host memory: the same two links, with the root complex between them.
TEST(ServerWiring, WithoutGpudirectNicsAreReachedOverTheRootComplex) {
  ServerParts parts = tree_of_8();
  parts.nics_reach_gpus = false;
  const Network net = two_nodes(parts);
  const Names out = test::path_names(net, test::hop(1, 8));
  EXPECT_EQ(Names(out.begin(), out.begin() + 4), (Names{"node0.gpu1>node0.pcie0", "node0.pcie0>node0.socket0",
                                                        "node0.socket0>node0.pcie0", "node0.pcie0>node0.nic0"}));
}

// Bridges between GPUs 2s and 2s+1, two links of 25 GB/s each: 50 GB/s between the two, PCIe to all others.
TEST(ServerWiring, NeighboursInAMeshUseTheirLinksAndOthersPcie) {
  ServerParts parts = tree_of_8();
  for (int g = 0; g < 8; g += 2) parts.mesh.push_back({g, g + 1, 2});
  parts.mesh_link = wire(25, 400);
  const Network net = two_nodes(parts);
  EXPECT_EQ(test::path_names(net, test::hop(1, 0)), (Names{"node0.gpu1>node0.gpu0"}));
  EXPECT_EQ(net.link(test::path_links(net, test::hop(1, 0)).front()).capacity, Rate::bytes_per_second(50e9));
  EXPECT_EQ(latency(net, test::hop(1, 0)), Duration::nanos(400));
  EXPECT_EQ(net.direct_links(EndpointId(0), EndpointId(1)), 2);
  EXPECT_EQ(net.direct_links(EndpointId(1), EndpointId(2)), 0);
  EXPECT_EQ(net.inside_tier(EndpointId(0), EndpointId(1)), LinkTier::kNvlink);
  EXPECT_EQ(test::path_names(net, test::hop(1, 2)).size(), 4u);
}

// An NVSwitch over a PCIe tree: a NIC elsewhere is reached over NVLink and the GPU beside it, the own one through PCIe.
TEST(ServerWiring, FarNicsAreReachedOverNvlink) {
  ServerParts parts = tree_of_8();
  parts.nvswitch = wire(300, 468);
  const Network net = two_nodes(parts);
  EXPECT_EQ(test::path_names(net, test::hop(0, 7)), (Names{"node0.gpu0>node0.nvswitch", "node0.nvswitch>node0.gpu7"}));
  Hop far = test::hop(5, 8);
  far.from_nic = 0;
  const Names out = test::path_names(net, far);
  EXPECT_EQ(Names(out.begin(), out.begin() + 4), (Names{"node0.gpu5>node0.nvswitch", "node0.nvswitch>node0.gpu0",
                                                        "node0.gpu0>node0.pcie0", "node0.pcie0>node0.nic0"}));
  EXPECT_EQ(net.links_to_nic(EndpointId(5), 2), 2u);
}

TEST(ServerWiring, AHubIsOneDevice) {
  ServerParts parts = tree_of_8();
  parts.tree.reset();
  const Network net = two_nodes(parts);
  EXPECT_EQ(test::path_names(net, test::hop(0, 7)), (Names{"node0.gpu0>node0.pcie", "node0.pcie>node0.gpu7"}));
  EXPECT_EQ(net.kind(DeviceId(8)), DeviceKind::kPcieHub);
}

TEST(ServerWiring, ShippedServersHaveTheirDevices) {
  const auto devices = [](const std::string& text) {
    const test::ReadCluster read = test::read_cluster("kind: cluster\nnodes: 1\n" + text);
    for (const std::string& m : read.messages) ADD_FAILURE() << m;
    const Network net = build_network(read.spec);
    std::map<std::string_view, int> count;
    for (std::size_t d = 0; d < net.device_count(); ++d) ++count[to_text(net.kind(DeviceId::from_index(d)))];
    return count;
  };
  using Count = std::map<std::string_view, int>;
  EXPECT_EQ(devices("server: dgx-1-v100\nnetwork: ib-4x100\n"),
            (Count{{"gpu", 8}, {"nic", 4}, {"pcie-switch", 4}, {"root-complex", 2}, {"leaf", 1}}));
  EXPECT_EQ(devices("server: rtx-4090-8\n"), (Count{{"gpu", 8}, {"root-complex", 2}}));
  EXPECT_EQ(devices("server: gb200-nvl72\nnetwork: ib-72x400\n"),
            (Count{{"gpu", 72}, {"nic", 72}, {"nvswitch", 1}, {"pcie", 1}, {"leaf", 1}}));
  EXPECT_EQ(devices("server: dgx-h100\nnetwork: roce-32x100\n")["nic"], 32);
}

TEST(ServerWiring, EveryShippedServerIsBuilt) {
  const ConfigLibrary library({LOCKSTEP_TEST_CONFIGS});
  for (const ConfigEntry& e : library.entries("server")) {
    SCOPED_TRACE(e.name);
    const test::ReadCluster read = test::read_cluster("kind: cluster\nnodes: 2\nserver: " + e.name + "\nnetwork: ib-4x100\n");
    ASSERT_TRUE(read.is_good);
    EXPECT_EQ(build_network(read.spec).endpoint_count(), 2u * static_cast<unsigned>(read.spec.server->gpus));
  }
}

// Without P2P a copy is slower (22 of 24 GB/s) and later; bridged GPUs do not notice.
TEST(ServerWiring, PeerAccessMatters) {
  const auto built = [](const std::vector<std::string>& sets) {
    return build_network(test::read_cluster("kind: cluster\nnodes: 1\nserver: rtx-4090-8\n", sets).spec);
  };
  const Network staged = built({});
  const Network direct = built({"server.pcie.p2p=true", "server.pcie.staging=null"});
  const auto slowest = [](const Network& net, const Hop& h) {
    Rate rate = Rate::gbps(100'000);
    for (const LinkId l : test::path_links(net, h)) rate = std::min(rate, net.link(l).capacity);
    return rate.bytes_per_second() / kGb;
  };
  EXPECT_NEAR(slowest(staged, test::hop(0, 1)), 22, 1e-9);
  EXPECT_NEAR(slowest(direct, test::hop(0, 1)), 24, 1e-9);
  EXPECT_NEAR(slowest(direct, test::hop(0, 4)), 16, 1e-9);
  EXPECT_GT(latency(staged, test::hop(0, 1)), latency(direct, test::hop(0, 1)));
}

}  // namespace
}  // namespace lockstep
