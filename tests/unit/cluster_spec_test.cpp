// SPDX-License-Identifier: Apache-2.0
#include "topology/cluster_spec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "tests/support/cluster_fixtures.h"
#include "tests/support/topology_fixtures.h"

namespace lockstep {
namespace {

using test::read_cluster;
using test::shipped_cluster;

const std::string kDgx = "kind: cluster\nserver: dgx-h100\nnetwork: ib-8x400\n";

// The rate of the first link of a tier towards the fabric, in GB/s.
double payload(const Network& net, LinkTier tier) {
  for (const Link& l : test::all_links(net)) {
    if (l.tier == tier) return l.capacity.bytes_per_second() / 1e9;
  }
  return 0;
}

TEST(ClusterSpec, EveryShippedClusterIsRead) {
  const ConfigLibrary library({LOCKSTEP_TEST_CONFIGS});
  const std::vector<ConfigEntry> entries = library.entries("cluster");
  EXPECT_GE(entries.size(), 5u);
  for (const ConfigEntry& e : entries) {
    SCOPED_TRACE(e.name);
    const ClusterSpec spec = shipped_cluster(e.name);
    EXPECT_EQ(spec.name, e.name);
    EXPECT_GT(build_network(spec).link_count(), 0u);
  }
}

// 18 links x 20.6 = 370.8 GB/s; 400 Gbit/s = 50 GB/s x 0.96 = 48 GB/s; Gen5 x16 48 GB/s.
TEST(ClusterSpec, DgxH100HasTheRatesOfItsDataSheets) {
  const Network net = build_network(shipped_cluster("dgx-h100"));
  EXPECT_EQ(net.endpoint_count(), 128u);
  EXPECT_EQ(net.nics_per_node(), 8);
  EXPECT_NEAR(payload(net, LinkTier::kNvlink), 370.8, 1e-9);
  EXPECT_NEAR(payload(net, LinkTier::kPcie), 48, 1e-9);
  EXPECT_NEAR(payload(net, LinkTier::kHost), 48, 1e-9);
}

// 12 links x 20 = 240 GB/s; 200 Gbit/s = 25 GB/s x 0.96 = 24 GB/s.
TEST(ClusterSpec, DgxA100HasTheRatesOfItsDataSheets) {
  const Network net = build_network(shipped_cluster("dgx-a100"));
  EXPECT_NEAR(payload(net, LinkTier::kNvlink), 240, 1e-9);
  EXPECT_NEAR(payload(net, LinkTier::kHost), 24, 1e-9);
}

// The fabric of the oracles: N/32 leaves, 16 spines, 12.5 GB/s and 1 us on every link.
TEST(ClusterSpec, BenchFabricIsThatOfTheOracles) {
  const Network net = build_network(shipped_cluster("bench-leaf-spine", {"endpoints=128"}));
  EXPECT_EQ(net.rack_count(), 4u);
  EXPECT_EQ(net.max_path_count(), 16);
  EXPECT_EQ(net.link_count(), 2u * (128 + 4 * 16));
  for (const Link& l : test::all_links(net)) {
    EXPECT_EQ(l.capacity, Rate::gbps(100));
    EXPECT_EQ(l.latency, Duration::micros(1));
  }
}

TEST(ClusterSpec, BenchFabricTakesUniformLatency) {
  const Network net =
      build_network(shipped_cluster("bench-leaf-spine", {"host_link.latency=2 us", "fabric_link.latency=0 ns"}));
  for (const Link& l : test::all_links(net)) {
    EXPECT_EQ(l.latency, l.tier == LinkTier::kHost ? Duration::micros(2) : Duration());
  }
}

TEST(ClusterSpec, ANetworkNameSaysTransportNicsAndRate) {
  const ClusterSpec spec = shipped_cluster("dgx-h100", {"network=roce-4x100"});
  EXPECT_EQ(spec.network->name, "roce-4x100");
  EXPECT_EQ(spec.network->transport, Transport::kRoce);
  EXPECT_EQ(spec.ports_per_node(), 4);
  EXPECT_EQ(spec.network->nic_rate, Rate::gbps(100));
  EXPECT_EQ(spec.routing_policy(), RoutingPolicy::kEcmp);
}

TEST(ClusterSpec, RoutingFollowsTheTransportUnlessGiven) {
  EXPECT_EQ(shipped_cluster("dgx-h100").routing_policy(), RoutingPolicy::kSpray);
  EXPECT_EQ(shipped_cluster("dgx-h100", {"network=tcp-1x100"}).routing_policy(), RoutingPolicy::kEcmp);
  EXPECT_EQ(shipped_cluster("dgx-h100", {"routing=static"}).routing_policy(), RoutingPolicy::kStatic);
}

// Key by key: the cluster's where it is given, else the network's; 12.5 % is 13 in whole per cent.
TEST(ClusterSpec, RoutingKeysOfTheClusterReplaceThoseOfTheNetworkOneByOne) {
  using Sets = std::vector<std::string>;
  const auto choice = [](const Sets& sets) { return shipped_cluster("dgx-h100", sets).routing_choice(); };
  EXPECT_EQ(choice({}), Routing{.policy = RoutingPolicy::kSpray});
  EXPECT_EQ(choice({"network.routing=flowlet", "network.queue_pairs=4", "network.flowlet_share=13%"}),
            (Routing{.policy = RoutingPolicy::kFlowlet, .queue_pairs = 4, .flowlet_percent = 13}));
  EXPECT_EQ(choice({"network.queue_pairs=4", "queue_pairs=2", "routing=ecmp", "flowlet_share=1"}),
            (Routing{.policy = RoutingPolicy::kEcmp, .queue_pairs = 2, .flowlet_percent = 100}));
  EXPECT_EQ(shipped_cluster("bench-leaf-spine", {"queue_pairs=8"}).routing_choice(),
            (Routing{.policy = RoutingPolicy::kEcmp, .queue_pairs = 8}));
  EXPECT_EQ(to_text(choice({"queue_pairs=2", "routing=ecmp"})), "ecmp:2");
  EXPECT_NE(test::read_cluster("kind: cluster\nnodes: 2\nserver: dgx-h100\nnetwork: ib-8x400\nflowlet_share: 12.5 %\n")
                .messages.at(0)
                .find("no whole number of percent"),
            std::string::npos);
}

TEST(ClusterSpec, NicsPerNodeReplacesThoseOfTheNetwork) {
  EXPECT_EQ(build_network(shipped_cluster("dgx-h100", {"nics_per_node=2"})).nics_per_node(), 2);
}

// 100 Gbit/s x 0.94 = 11.75 GB/s on the wire, but 5 GB/s between host memory and NIC.
TEST(ClusterSpec, WithoutGpudirectTheHostPathLimits) {
  const Network net = build_network(shipped_cluster("dgx-h100", {"network=tcp-1x100"}));
  EXPECT_NEAR(payload(net, LinkTier::kHost), 11.75, 1e-9);
  std::vector<double> rates;
  for (const LinkId l : test::path_links(net, test::hop(0, 8))) rates.push_back(net.link(l).capacity.bytes_per_second() / 1e9);
  EXPECT_EQ(rates.size(), 6u);
  EXPECT_NEAR(*std::min_element(rates.begin(), rates.end()), 5, 1e-9);
}

TEST(ClusterSpec, ServerAndNetworkKeysMayBeReplacedOneByOne) {
  const ClusterSpec spec = shipped_cluster("dgx-h100", {"server.gpus=4", "network.nic_rate=200 Gbps"});
  EXPECT_EQ(spec.gpus(), 64);
  EXPECT_EQ(spec.network->nic_rate, Rate::gbps(200));
  EXPECT_EQ(spec.server->gpu.nvlink->links, 18);
}

TEST(NetworkName, IsTakenApartAtTheLastDash) {
  const auto name = parse_network_name("my-ib-16x800");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->preset, "my-ib");
  EXPECT_EQ(name->nics, "16");
  EXPECT_EQ(name->rate, "800 Gbps");
  for (const char* other : {"ib", "ib-8", "ib-8x", "ib-x400", "-8x400", "ib-8x400G", "ib-ax400"}) {
    EXPECT_FALSE(parse_network_name(other)) << other;
  }
}

struct BadCluster {
  const char* why;
  std::string text;
  std::string message;  // the whole line
};

void PrintTo(const BadCluster& c, std::ostream* out) { *out << c.why; }

class BadClusters : public ::testing::TestWithParam<BadCluster> {};

TEST_P(BadClusters, AreRefusedWithPositionAndHint) {
  const test::ReadCluster read = read_cluster(GetParam().text);
  EXPECT_FALSE(read.is_good);
  ASSERT_EQ(read.messages.size(), 1u);
  EXPECT_EQ(read.messages.front(), GetParam().message);
}

TEST(ClusterSpec, AnUnknownServerIsGuessed) {
  const test::ReadCluster read = read_cluster("kind: cluster\nnodes: 2\nserver: dgx-h10\nnetwork: ib-8x400\n");
  ASSERT_EQ(read.messages.size(), 1u);
  const std::string expected = "c.yaml:3:9: error: server: unknown server 'dgx-h10' (did you mean 'dgx-h100'? known: a10-2, ";
  EXPECT_EQ(read.messages.front().substr(0, expected.size()), expected);
}

INSTANTIATE_TEST_SUITE_P(
    ClusterSpec, BadClusters,
    ::testing::Values(
        BadCluster{"NoSize", kDgx,
                   "c.yaml:1:1: error: nodes: is missing (give nodes (servers with GPUs) or endpoints (bare hosts))"},
        BadCluster{
            "BothSizes", kDgx + "nodes: 2\nendpoints: 4\n",
            "c.yaml:5:12: error: endpoints: is given together with nodes (a cluster has servers or bare hosts, not both)"},
        BadCluster{"NoServer", "kind: cluster\nnodes: 2\nnetwork: ib-8x400\n",
                   "c.yaml:2:8: error: nodes: needs to know what a node is (give server, like dgx-h100)"},
        BadCluster{"NoNetwork", "kind: cluster\nnodes: 2\nserver: dgx-h100\n",
                   "c.yaml:1:1: error: network: is missing: nothing connects the 2 nodes (give network, like ib-8x400 (eight "
                   "400 Gbit/s NICs per node))"},
        BadCluster{"NoTransport", "kind: cluster\nnodes: 2\nserver: dgx-h100\nnetwork: rocee-8x400\n",
                   "c.yaml:4:10: error: network: there is no transport 'rocee' (did you mean roce-8x400?)"},
        BadCluster{
            "NoRate", "kind: cluster\nnodes: 2\nserver: dgx-h100\nnetwork: ib-8x400G\n",
            "c.yaml:4:10: error: network: 'ib-8x400G' does not say how many NICs of which rate (ib-NICSxGBPS, like ib-8x400)"},
        BadCluster{"TooManyNics", "kind: cluster\nnodes: 2\nserver: dgx-h100\nnetwork: ib-199x400\n",
                   "c.yaml:4:10: error: network.nics_per_node: '199' is out of range (1 to 128)"},
        BadCluster{"SpinesAndRatio", kDgx + "nodes: 8\nfabric:\n  nodes_per_leaf: 2\n  spines: 4\n  oversubscription: 2\n",
                   "c.yaml:8:21: error: fabric.oversubscription: is given together with spines, and each decides the other "
                   "(keep one of the two)"},
        BadCluster{"CoresWithoutPods", kDgx + "nodes: 8\nfabric:\n  nodes_per_leaf: 2\n  cores_per_spine: 4\n",
                   "c.yaml:7:20: error: fabric.cores_per_spine: needs pods to connect (give leaves_per_pod as well)"},
        BadCluster{"SpinesWithoutLeaves", kDgx + "nodes: 8\nfabric:\n  spines: 4\n",
                   "c.yaml:6:3: error: fabric.nodes_per_leaf: is missing: without it all servers share one leaf, which needs "
                   "no spine (give nodes_per_leaf)"},
        BadCluster{
            "NoSpeed", "kind: cluster\nendpoints: 4\nhost_link: {latency: 1 us}\n",
            "c.yaml:3:12: error: host_link.speed: is missing, and there is no network to take it from (like speed: 100 Gbps)"},
        BadCluster{"NoUnit", "kind: cluster\nendpoints: 4\nhost_link: {speed: 100, latency: 1 us}\n",
                   "c.yaml:3:20: error: host_link.speed: '100' has no unit (a rate needs one, as in 100 Gbps; units: Gbps, "
                   "Mbps, Tbps, GB/s, MB/s, TB/s)"},
        BadCluster{"TooSlow", "kind: cluster\nendpoints: 4\nhost_link: {speed: 0 Gbps, latency: 1 us}\n",
                   "c.yaml:3:20: error: host_link.speed: '0 Gbps' is out of range (1 Mbps to 100 Tbps)"},
        BadCluster{"RatioOfZero", kDgx + "nodes: 8\nfabric: {nodes_per_leaf: 2, oversubscription: 0}\n",
                   "c.yaml:5:47: error: fabric.oversubscription: '0' is out of range (0.01 to 1000)"},
        BadCluster{"TooFewPorts", kDgx + "nodes: 64\nfabric: {nodes_per_leaf: 4, oversubscription: 1, switch_ports: 48}\n",

                   "c.yaml:5:26: error: fabric.nodes_per_leaf: a leaf switch needs 64 ports and has 48 (fewer nodes per leaf, "
                   "fewer spines, or more oversubscription)"},
        BadCluster{"TooManyLeaves", kDgx + "nodes: 512\nfabric: {nodes_per_leaf: 4, oversubscription: 1, switch_ports: 64}\n",
                   "c.yaml:5:64: error: fabric.switch_ports: a spine switch needs 128 ports and has 64 (fewer nodes, or a "
                   "third tier: give leaves_per_pod)"},
        BadCluster{
            "PodsSplitAUnit", kDgx + "nodes: 64\nfabric: {wiring: rail, nodes_per_leaf: 8, leaves_per_pod: 12}\n",
            "c.yaml:5:59: error: fabric.leaves_per_pod: 12 leaves cut a unit in two, which wired by rail has 8 leaves, one "
            "per NIC of a server (a multiple of 8)"},
        BadCluster{"RailLeafTooSmall",
                   kDgx + "nodes: 64\nfabric: {wiring: rail, nodes_per_leaf: 64, spines: 1, switch_ports: 64}\n",
                   "c.yaml:5:40: error: fabric.nodes_per_leaf: a leaf switch needs 65 ports and has 64 (fewer nodes per leaf, "
                   "fewer spines, or more oversubscription)"},
        BadCluster{"TooManyLinks", kDgx + "nodes: 100000\nfabric: {nodes_per_leaf: 1, spines: 1000}\n",
                   "c.yaml:4:8: error: nodes: the cluster would have 2.06e+08 links, more than 64000000 (fewer nodes, switches "
                   "or cables)"},
        BadCluster{"UnknownKey", kDgx + "nodes: 8\nfabric: {nodes_per_leav: 2}\n",
                   "c.yaml:5:10: error: fabric.nodes_per_leav: unknown key 'nodes_per_leav' (did you mean 'nodes_per_leaf'?)"},
        BadCluster{"NoQueuePairs", kDgx + "nodes: 8\nqueue_pairs: 0\n",
                   "c.yaml:5:14: error: queue_pairs: '0' is out of range (1 to 128)"},
        BadCluster{"NoSuchRouting", kDgx + "nodes: 8\nrouting: flowlets\n",
                   "c.yaml:5:10: error: routing: 'flowlets' is not one of the choices (did you mean 'flowlet'? one of ecmp, "
                   "spray, static, flowlet, adaptive)"},
        BadCluster{"NicsOfBareHosts",
                   "kind: cluster\nendpoints: 4\nnics_per_node: 2\nhost_link: {speed: 1 Gbps, latency: 1 us}\n",
                   "c.yaml:3:16: error: nics_per_node: does not go with endpoints, which have one port each (remove it)"}),
    [](const ::testing::TestParamInfo<BadCluster>& p) { return std::string(p.param.why); });

// 4 nodes x 8 ports down, asked for 3:1: ceil(32/3) = 11 uplinks, 32/11 = 2.909.
TEST(ClusterSpec, ARatioThatWholeSwitchesMissIsAWarning) {
  const test::ReadCluster read = read_cluster(kDgx + "nodes: 8\nfabric: {nodes_per_leaf: 4, oversubscription: 3}\n");
  EXPECT_TRUE(read.is_good);
  ASSERT_EQ(read.messages.size(), 1u);
  EXPECT_EQ(read.messages.front(),
            "c.yaml:5:47: warning: fabric.oversubscription: asked for 3:1, whole spine switches and cables give 2.909:1"
            " (choose counts that divide, or give the number of switches)");
}

}  // namespace
}  // namespace lockstep
