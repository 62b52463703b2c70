// SPDX-License-Identifier: Apache-2.0
// The way from GPU to wire: memory where data is staged, CPUs and connections of TCP, slots, and who sends for whom.
#include <gtest/gtest.h>

#include "sim/experiment/collective.h"
#include "tests/support/cluster_fixtures.h"
#include "tests/support/topology_fixtures.h"

namespace lockstep {
namespace {

using test::hop;
using test::path_names;
using Names = std::vector<std::string>;

CollectiveRow run(const ClusterSpec& spec, CollectiveKind kind, std::initializer_list<std::uint32_t> members,
                  std::int64_t bytes, Algorithm algorithm = Algorithm::kAuto) {
  const PreparedCluster c(spec, 0);
  CollectiveRequest request{.kind = kind, .sizes = {bytes}, .algorithm = algorithm};
  for (const std::uint32_t m : members) request.members.emplace_back(m);
  return run_collective(request, c.router, c.tunings, NetworkKind::kFlow).front();
}

std::vector<std::string> names_of(const Network& net) {
  std::vector<std::string> names;
  for (std::size_t d = 0; d < net.device_count(); ++d) names.push_back(net.name(DeviceId::from_index(d)));
  return names;
}

// Two DGX-1. Without GPUDirect data goes through the memory of the socket of its GPU, on both sides.
TEST(HostPath, StagedDataIsWrittenToMemoryAndRead) {
  const Network net = build_network(test::shipped_cluster("dgx-1-v100", {"nodes=2", "gpudirect=false"}));
  EXPECT_EQ(path_names(net, hop(0, 8 + 7)),
            (Names{"node0.gpu0>node0.pcie0", "node0.pcie0>node0.socket0", "node0.socket0>node0.memory0",
                   "node0.memory0>node0.socket0", "node0.socket0>node0.pcie0", "node0.pcie0>node0.nic0", "node0.nic0>leaf0",
                   "leaf0>node1.nic3", "node1.nic3>node1.pcie3", "node1.pcie3>node1.socket1", "node1.socket1>node1.memory1",
                   "node1.memory1>node1.socket1", "node1.socket1>node1.pcie3", "node1.pcie3>node1.gpu7"}));
}

// Where nothing is staged there is no memory to be seen.
TEST(HostPath, WithGpudirectMemoryIsOutOfTheWay) {
  const std::vector<std::string> names = names_of(build_network(test::shipped_cluster("dgx-1-v100", {"nodes=1"})));
  EXPECT_EQ(std::count(names.begin(), names.end(), "node0.memory0"), 0);
}

// One socket of 16 GB/s of memory, a fast NIC: 1 GB out and 1 GB in at once are each written and read, 4 GB through the memory.
TEST(HostPath, MemoryIsSharedByAllThatIsStaged) {
  const ClusterSpec spec = test::shipped_cluster(
      "a100-pcie-hdr100",
      {"nodes=2", "network=ib-1x200", "gpudirect=false", "network.host_path_rate=24 GB/s",
       "server.pcie={sockets: 1, switches_per_socket: 1, inter_socket: null, host_memory: {rate: 20 GB/s, payload: 16 GB/s}}"});
  EXPECT_NEAR(run(spec, CollectiveKind::kSendRecv, {0, 8}, 1'000'000'000).busbw_gb_per_s, 4, 0.01);
}

// Copies between GPUs without peer access are staged in the same memory: with 4 GB/s of it, one copy runs at 2.
TEST(HostPath, CopiesWithoutPeerAccessAreStagedThereAsWell) {
  const ClusterSpec spec =
      test::read_cluster(
          "kind: cluster\nnodes: 1\nserver: {preset: rtx-4090-8, pcie: {sockets: 1, switches_per_socket: 0, "
          "p2p: false, host_memory: {rate: 4 GB/s, payload: 4 GB/s}}}\n")
          .spec;
  const Network net = build_network(spec);
  EXPECT_EQ(path_names(net, hop(0, 1)), (Names{"node0.gpu0>node0.socket0", "node0.socket0>node0.memory0",
                                               "node0.memory0>node0.socket0", "node0.socket0>node0.gpu1"}));
  EXPECT_NEAR(run(spec, CollectiveKind::kBroadcast, {0, 1}, 1'000'000'000).busbw_gb_per_s, 2, 0.01);
}

// NVIDIA/nccl#1412: two nodes of eight GPUs, all-reduce of 1 GB: 33.3 GB/s without GPUDirect and 93 with it. The NICs are not named: four of
// 100G, as DGX-1 has, give a tree 1.875 x 4 x 5 and 1.875 x 4 x 12.
TEST(HostPath, GpudirectMakesTheDifferenceThatWasReported) {
  const auto busbw = [](const char* gpudirect) {
    const ClusterSpec spec = test::shipped_cluster("dgx-1-v100", {"nodes=2", gpudirect});
    return run(spec, CollectiveKind::kAllReduce, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 1 << 30,
               Algorithm::kTree)
        .busbw_gb_per_s;
  };
  EXPECT_NEAR(busbw("gpudirect=true") / 93, 1, 0.15);
  EXPECT_NEAR(busbw("gpudirect=false") / 33.3, 1, 0.15);
}

// Two connections of 5 Gb/s each for a channel of a ring, a tree's edge, an exchange and a message; a 100G NIC carries more.
TEST(HostPath, AChannelMovesWhatItsConnectionsMove) {
  const ClusterSpec spec = test::shipped_cluster(
      "dgx-a100", {"nodes=2", "network=tcp-1x100", "network.connection_rate=5 Gbps", "network.connections_per_channel=2"});
  constexpr std::int64_t kBytes = 1'000'000'000;
  for (const Algorithm a : {Algorithm::kRing, Algorithm::kHalvingDoubling}) {
    EXPECT_NEAR(run(spec, CollectiveKind::kAllReduce, {0, 8}, kBytes, a).busbw_gb_per_s, 1.25, 0.01) << to_text(a);
  }
  EXPECT_NEAR(run(spec, CollectiveKind::kSendRecv, {0, 8}, kBytes).busbw_gb_per_s, 1.25, 0.01);
  // Either tree of a channel has connections of its own, and half of the data.
  EXPECT_NEAR(run(spec, CollectiveKind::kAllReduce, {0, 8}, kBytes, Algorithm::kTree).busbw_gb_per_s, 2.5, 0.01);
  // Inside a node there are none.
  EXPECT_GT(run(spec, CollectiveKind::kAllReduce, {0, 1}, kBytes).busbw_gb_per_s, 100);
}

// The CPUs of a node move 6 GB/s, out and in together: 3 each way, however many NICs there are.
TEST(HostPath, CpusLimitWhatGoesThroughSockets) {
  const ClusterSpec spec = test::shipped_cluster("dgx-a100", {"nodes=2", "network=tcp-4x100", "network.cpu_rate=6 GB/s"});
  const CollectiveRow row = run(spec, CollectiveKind::kAllReduce, {0, 2, 4, 6, 8, 10, 12, 14}, 1'000'000'000, Algorithm::kRing);
  EXPECT_EQ(row.channels, 4);
  EXPECT_NEAR(row.busbw_gb_per_s, 3, 0.02);
}

// 400 Gbit/s are 50 GB/s, a PCIe 4 slot 31, of which 24 are payload.
TEST(HostPath, ANicFasterThanItsSlotIsWarnedOf) {
  const std::string text = "kind: cluster\nnodes: 2\nserver: dgx-a100\nnetwork: ib-8x400\n";
  const test::ReadCluster read = test::read_cluster(text);
  ASSERT_TRUE(read.is_good);
  ASSERT_EQ(read.messages.size(), 1u);
  EXPECT_NE(read.messages[0].find("c.yaml:4:10: warning: network: a NIC of 50 GB/s sits in a PCIe slot of 31 GB/s"),
            std::string::npos)
      << read.messages[0];
  // Less what the pipeline takes to fill.
  EXPECT_NEAR(run(read.spec, CollectiveKind::kAllReduce, {0, 8}, 1'000'000'000, Algorithm::kRing).busbw_gb_per_s, 23.5, 0.5);
  EXPECT_TRUE(test::read_cluster(text, {"network=ib-8x200"}).messages.empty());
}

TEST(HostPath, KeysWithoutMeaningAreErrors) {
  const auto messages = [](const std::string& text) { return test::read_cluster("kind: cluster\n" + text).messages; };
  const std::string hosts = "endpoints: 4\nhost_link: {speed: 100 Gbps, latency: 1 us}\n";
  EXPECT_EQ(messages(hosts + "gpudirect: true\n"),
            Names{"c.yaml:4:12: error: gpudirect: does not go with endpoints, which have no GPUs (remove it)"});
  EXPECT_EQ(messages(hosts + "pxn: true\n"),
            Names{"c.yaml:4:6: error: pxn: does not go with endpoints, which have no GPUs (remove it)"});
  EXPECT_EQ(messages("nodes: 1\nserver: dgx-h100\ngpudirect: false\n"),
            Names{"c.yaml:4:12: error: gpudirect: is said of NICs, and there are none (give network, like ib-8x400)"});
  EXPECT_EQ(messages("nodes: 2\nserver: {preset: dgx-h100, gpus: 200}\nnetwork: {preset: tcp-1x100, cpu_rate: 10 GB/s}\n"),
            Names{"c.yaml:4:40: error: network.cpu_rate: needs servers of at most 128 GPUs (remove it)"});
}

// Intel's root complexes charge 6/5 for copies between peers: 24 GB/s of a slot become 20 for GPUs without a common switch.
TEST(HostPath, PeersThatMeetInARootComplexPayForIt) {
  const auto busbw = [](const char* share, std::uint32_t peer) {
    const ClusterSpec spec = test::read_cluster("kind: cluster\nnodes: 1\nserver: l40s-8-pcie\n",
                                                {std::string("server.pcie.peer_efficiency=") + share})
                                 .spec;
    return run(spec, CollectiveKind::kSendRecv, {0, peer}, 1'000'000'000).busbw_gb_per_s;
  };
  EXPECT_NEAR(busbw("100%", 2), 24, 0.05);
  EXPECT_NEAR(busbw("80%", 2), 24 * 0.8, 0.05);
  EXPECT_NEAR(busbw("80%", 1), 24, 0.05);  // below one switch
}

// Rail-optimised with spines: GPU 1 to GPU 2 of the next node. By default it goes over NVLink to GPU 2 of its own node and stays below
// leaf 2; without PXN it goes up to a spine.
TEST(Pxn, AMessageToAnotherRailStaysBelowOneLeaf) {
  const auto names = [](const std::vector<std::string>& sets, const Hop& h) {
    return path_names(build_network(test::shipped_cluster("superpod-h100", sets)), h);
  };
  EXPECT_EQ(names({}, hop(1, 8 + 2)),
            (Names{"node0.gpu1>node0.nvswitch", "node0.nvswitch>node0.gpu2", "node0.gpu2>node0.pcie", "node0.pcie>node0.nic2",
                   "node0.nic2>unit0.rail2", "unit0.rail2>node1.nic2", "node1.nic2>node1.pcie", "node1.pcie>node1.gpu2"}));
  const Names without = names({"pxn=false"}, hop(1, 8 + 2));
  EXPECT_EQ(without[0], "node0.gpu1>node0.pcie");
  EXPECT_EQ(without[3], "unit0.rail1>spine0#0");
  // Rings name their NICs.
  EXPECT_EQ(names({}, {.from = EndpointId(1), .to = EndpointId(10), .from_nic = 1, .to_nic = 2})[0], "node0.gpu1>node0.pcie");
  // All NICs of a node on one leaf: nothing to gain.
  EXPECT_EQ(path_names(build_network(test::shipped_cluster("dgx-h100")), hop(1, 8 + 2))[0], "node0.gpu1>node0.pcie");
}

// An all-to-all of two nodes whose spines carry an eighth of what their leaves could: with PXN nothing comes there.
TEST(Pxn, SparesTheSpines) {
  const auto seconds = [](const char* pxn) {
    const ClusterSpec spec =
        test::shipped_cluster("superpod-h100", {"nodes=2", "fabric={wiring: rail, nodes_per_leaf: 2, spines: 1}",
                                                "fabric_link.cables=1", "fabric_link.speed=100 Gbps", pxn});
    return run(spec, CollectiveKind::kAllToAll, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 1 << 30).time_s;
  };
  EXPECT_LT(seconds("pxn=true") * 5, seconds("pxn=false"));
}

TEST(Pxn, IsForGpusWithNvlinkAndSeveralNics) {
  EXPECT_TRUE(test::shipped_cluster("dgx-h100").uses_pxn());
  EXPECT_FALSE(test::shipped_cluster("dgx-h100", {"network=ib-1x400"}).uses_pxn());
  EXPECT_FALSE(test::shipped_cluster("a100-pcie-hdr100").uses_pxn());
  EXPECT_FALSE(test::shipped_cluster("oci-bm-gpu-mi300x").uses_pxn());
  EXPECT_FALSE(test::shipped_cluster("dgx-h100", {"pxn=false"}).uses_pxn());
}

}  // namespace
}  // namespace lockstep
