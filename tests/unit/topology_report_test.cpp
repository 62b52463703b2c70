// SPDX-License-Identifier: Apache-2.0
#include "sim/report/topology_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/cluster_fixtures.h"
#include "topology/drawing/dot.h"

namespace lockstep {
namespace {

using test::shipped_cluster;

TopologyReport report(const std::string& name, const std::vector<std::string>& sets = {}) {
  const ClusterSpec spec = shipped_cluster(name, sets);
  return report_topology(spec, build_network(spec));
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

// 16 nodes, 4 a leaf: 4 leaves of 32 ports down and 32 up; every one of 32 spines reaches 4 leaves. Half of 128 ports of 400 G: 25.6 T.
TEST(TopologyReport, JsonHoldsCountsRatesAndAnalysis) {
  const auto j = nlohmann::json::parse(to_json(report("dgx-h100")));
  EXPECT_EQ(j["gpus"], 128);
  EXPECT_EQ(j["nodes"], 16);
  EXPECT_EQ(j["racks"], 4);
  EXPECT_EQ(j["devices"]["nvswitch"], 16);
  EXPECT_EQ(j["switches"][0]["ports_used"], 64);
  EXPECT_EQ(j["switches"][0]["oversubscription"]["real"], 1.0);
  EXPECT_EQ(j["switches"][0]["oversubscription"]["asked"], 1.0);
  EXPECT_EQ(j["switches"][1]["count"], 32);
  EXPECT_EQ(j["switches"][1]["ports_used"], 4);
  EXPECT_EQ(j["equal_cost_paths"], 32);
  EXPECT_EQ(j["bisection_bps"], 25'600'000'000'000);
  EXPECT_EQ(j["diameter_hops"], 8);
  EXPECT_EQ(j["price_per_hour_usd"], 377.6);
}

TEST(TopologyReport, TheTwoSortsOfPcieSlotsAreToldApart) {
  const auto j = nlohmann::json::parse(to_json(report("dgx-h100", {"network=tcp-1x100"})));
  const auto& cables = j["cables"];
  EXPECT_EQ(cables[1]["ends"], (nlohmann::json{"gpu", "pcie"}));
  EXPECT_EQ(cables[1]["cables"], 128);
  EXPECT_EQ(cables[1]["payload_bps"], 48e9 * 8);
  EXPECT_EQ(cables[2]["ends"], (nlohmann::json{"pcie", "nic"}));
  EXPECT_EQ(cables[2]["cables"], 16);
  EXPECT_EQ(cables[2]["payload_bps"], 5e9 * 8);
}

TEST(TopologyReport, WhatIsNotThereIsAbsent) {
  const auto j = nlohmann::json::parse(to_json(report("bench-leaf-spine", {"endpoints=16"})));
  EXPECT_EQ(j["endpoints"], 16);
  for (const char* key : {"gpus", "nodes", "server", "network", "bisection_bps", "price_per_hour_usd"}) {
    EXPECT_FALSE(j.contains(key)) << key;
  }
}

TEST(TopologyReport, TableIsWhatAnArchitectReads) {
  EXPECT_EQ(to_table(report("h100-roce-oversubscribed")),
            R"(h100-roce-oversubscribed: 64 nodes x 8 GPUs = 512 GPUs in 8 racks
  Server                dgx-h100 (8 x h100-sxm)
  Network               roce-8x400 (8 x 400 Gbps per node, with GPUDirect)
  Routing               ecmp over up to 16 equal-cost paths
  Price                 2.67 USD per GPU-hour, 1367.04 USD per hour in all

  Switches           count   ports used   oversubscription
  leaf                   8           80   2:1
  spine                  8           16   -

  Cables             count    line rate       payload     latency
  gpu - nvswitch       512     450 GB/s    370.8 GB/s      468 ns
  gpu - pcie           512      63 GB/s       48 GB/s       50 ns
  pcie - nic           512      63 GB/s       48 GB/s       50 ns
  nic - leaf           512     400 Gbps      380 Gbps      500 ns
  leaf - spine         128     800 Gbps      760 Gbps      500 ns

  Bisection             51.2 Tbps between the halves of the racks, 50 % of what their ports could send
  Disjoint paths        16 between the first and the last rack
  Diameter              8 links from endpoint to endpoint
)");
}

// 2048 nodes in 64 units of 32, 8 leaves each; 32 leaves a pod: 16 pods of 32 spines; 32 spines x 8 cores, 4 cables each. Every switch
// uses 64 ports; half of 16,384 ports of 400 G: 3276.8 T; a unit has 8 x 32 uplinks.
TEST(TopologyReport, TheRailFabricOf16384GpusFillsItsSwitches) {
  const TopologyReport r = report("h100-rail-16384");
  const auto j = nlohmann::json::parse(to_json(r));
  EXPECT_EQ(j["gpus"], 16384);
  EXPECT_EQ(j["wiring"], "rail");
  EXPECT_EQ(j["racks"], 64);
  EXPECT_EQ(j["pods"], 16);
  EXPECT_EQ(j["devices"]["leaf"], 512);
  EXPECT_EQ(j["devices"]["spine"], 512);
  EXPECT_EQ(j["devices"]["core"], 256);
  for (const auto& s : j["switches"]) EXPECT_EQ(s["ports_used"], 64);
  EXPECT_EQ(j["equal_cost_paths"], 32 * 8 * 4);
  EXPECT_EQ(j["bisection_bps"], std::int64_t{8192} * 400'000'000'000);
  EXPECT_EQ(j["bisection_ports_bps"], j["bisection_bps"]);
  EXPECT_EQ(j["disjoint_paths"], 256);
  const std::string table = to_table(r);
  EXPECT_NE(table.find("16384 GPUs in 64 units and 16 pods"), std::string::npos) << table;
  EXPECT_NE(table.find("NIC i of every node on leaf i of its unit (8 rails)"), std::string::npos) << table;
}

// 64 nodes of 8 ports on leaves of 4: 32 ports down, 2:1, 16 spines; pods of 4 leaves, so a spine has 4 cables down, 4:1, one core. 4 pods
// of 16 spines; 16 cores, one for each spine of a pod.
TEST(TopologyReport, EveryTierTellsItsOwnOversubscription) {
  const TopologyReport r = report("dgx-h100", {"nodes=64",
                                               "fabric={nodes_per_leaf: 4, leaves_per_pod: 4, oversubscription: 2, "
                                               "core_oversubscription: 4}"});
  const auto j = nlohmann::json::parse(to_json(r));
  EXPECT_EQ(j["switches"][0]["oversubscription"]["real"], 2.0);
  EXPECT_EQ(j["switches"][1]["oversubscription"]["real"], 4.0);
  EXPECT_FALSE(j["switches"][2].contains("oversubscription"));
  EXPECT_EQ(j["devices"]["spine"], 64);
  EXPECT_EQ(j["devices"]["core"], 16);
  const std::string table = to_table(r);
  EXPECT_NE(table.find("leaf                  16           48   2:1\n"), std::string::npos) << table;
  EXPECT_NE(table.find("spine                 64            5   4:1\n"), std::string::npos) << table;
  EXPECT_NE(table.find("core                  16            4   -\n"), std::string::npos) << table;
  // Half of 512 ports, of which an eighth gets past leaf and spine.
  EXPECT_EQ(j["bisection_bps"], j["bisection_ports_bps"].get<std::int64_t>() / 8);
}

// A group of the dragonfly is a pod. Local and global cables are told apart though they are alike.
TEST(TopologyReport, ADragonflyIsTold) {
  const std::string table = to_table(report("a100-dragonfly"));
  EXPECT_NE(table.find("in 128 racks and 4 pods"), std::string::npos) << table;
  EXPECT_NE(table.find("dragonfly of 4 groups, 32 routers each, 64 cables between two groups"), std::string::npos) << table;
  EXPECT_NE(table.find("local cables        1984     200 Gbps"), std::string::npos) << table;
  EXPECT_NE(table.find("global cables        384     200 Gbps"), std::string::npos) << table;
}

// Cables: 128 to the nodes, 8 x 8 in the halls, 2 x 4 between them. A rack each, with the switch of its nodes.
TEST(Dot, DrawsACustomGraph) {
  const std::string dot = to_dot(draw_network(build_network(shipped_cluster("h100-two-halls")), "halls"));
  EXPECT_EQ(count(dot, "label=\"rack "), 4u);
  EXPECT_EQ(count(dot, "{"), count(dot, "}"));
  EXPECT_NE(dot.find(R"("north.spine1" -- "north.leaf0" [label="8 x 800 Gbps"];)"), std::string::npos) << dot;
  EXPECT_NE(dot.find(R"("south.leaf1" -- "node15" [label="8 x 400 Gbps"];)"), std::string::npos) << dot;
}

// 9 nodes in 3 racks of a pod each, 4 spines a pod, 4 cores: 9 host bundles, 12 leaf-spine cables, 12 x 1 spine-core.
TEST(Dot, DrawsEveryBundleOnce) {
  const ClusterSpec spec = shipped_cluster("dgx-h100", {"nodes=9", "network=ib-2x100",
                                                        "fabric={nodes_per_leaf: 3, leaves_per_pod: 1, spines: 4, "
                                                        "cores_per_spine: 1}"});
  const std::string dot = to_dot(draw_network(build_network(spec), "a \"b\""));
  EXPECT_EQ(count(dot, " -- "), 9u + 12 + 12);
  EXPECT_EQ(count(dot, "label=\"rack "), 3u);
  EXPECT_EQ(count(dot, "label=\"pod "), 3u);
  EXPECT_EQ(count(dot, "{"), count(dot, "}"));
  EXPECT_NE(dot.find(R"(graph "a \"b\"" {)"), std::string::npos);
  EXPECT_NE(dot.find(R"("pod2.leaf0" -- "node8" [label="2 x 100 Gbps"];)"), std::string::npos);
  EXPECT_NE(dot.find(R"("core3" -- "pod0.spine3" [label="100 Gbps"];)"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
