// SPDX-License-Identifier: Apache-2.0
// Dragonfly, torus and custom sections of a cluster file: what they become, and what is said about wrong ones.
#include "topology/fabric/graph_spec.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/cluster_fixtures.h"
#include "tests/support/topology_fixtures.h"

namespace lockstep {
namespace {

using test::path_names;
using test::read_cluster;
using Names = std::vector<std::string>;

// Bare hosts, every cable 100 Gbps and 1 us; the fabric begins in line 5.
std::string hosts(int n, const std::string& fabric) {
  return "kind: cluster\nendpoints: " + std::to_string(n) +
         "\nhost_link: {speed: 100 Gbps, latency: 1 us}\nfabric_link: {speed: 100 Gbps, latency: 1 us}\nfabric:\n" + fabric;
}

// In the order of text, which is that of lines as long as their numbers have one digit.
Names errors(int n, const std::string& fabric) {
  Names messages = read_cluster(hosts(n, fabric)).messages;
  std::sort(messages.begin(), messages.end());
  return messages;
}

TEST(GraphSpec, ADragonflyFillsItsRoutersInOrder) {
  const auto c = read_cluster(hosts(20, "  dragonfly: {groups: 3, routers_per_group: 4, nodes_per_router: 2}\n") +
                              "core_link: {speed: 50 Gbps, latency: 3 us}\n");
  ASSERT_TRUE(c.is_good) << c.messages.front();
  const Network net = build_network(c.spec);
  EXPECT_EQ(net.rack_count(), 10u);  // routers with nodes
  EXPECT_EQ(net.pod_count(), 3u);
  EXPECT_EQ(net.device_count(), 20u + 12);
  for (const Link& l : test::all_links(net)) {
    EXPECT_EQ(l.capacity, Rate::gbps(l.tier == LinkTier::kGlobal ? 50 : 100));
    EXPECT_EQ(l.latency, Duration::micros(l.tier == LinkTier::kGlobal ? 3 : 1));
  }
}

TEST(GraphSpec, ATorusHasItsDimensions) {
  const auto c = read_cluster(hosts(24, "  torus: {dimensions: [4, 3], nodes_per_switch: 2}\n"));
  ASSERT_TRUE(c.is_good) << c.messages.front();
  const Network net = build_network(c.spec);
  EXPECT_EQ(path_names(net, test::hop(0, 23)),
            (Names{"host0>switch(0,0)", "switch(0,0)>switch(3,0)", "switch(3,0)>switch(3,2)", "switch(3,2)>host23"}));
}

// A switch may be a name alone; tier, rack and pod are optional; a cable takes what it does not say from fabric_link.
TEST(GraphSpec, ACustomGraphIsListed) {
  const auto c = read_cluster(hosts(4, R"(  custom:
    switches: [a, {name: b, rack: r, pod: p}, {name: c, rack: r, pod: p}]
    hosts: [{nodes: 0-1, switch: a}, {nodes: 2, switch: b}, {nodes: 3, switch: c}]
    cables:
    - {from: a, to: b, count: 2}
    - {from: b, to: c, speed: 40 Gbps}
)"));
  ASSERT_TRUE(c.is_good) << c.messages.front();
  const Network net = build_network(c.spec);
  EXPECT_EQ(net.link_count(), 2u * (4 + 3));
  EXPECT_EQ(net.rack_count(), 2u);
  EXPECT_EQ(net.rack_of(NodeId(3)), net.rack_of(NodeId(2)));
  EXPECT_EQ(net.pod_count(), 2u);
  const std::vector<LinkId> path = test::path_links(net, test::hop(0, 3), 1);
  EXPECT_EQ(net.name(path.at(1)), "a>b#1");
  EXPECT_EQ(net.link(path.at(1)).capacity, Rate::gbps(100));
  EXPECT_EQ(net.link(path.at(2)).capacity, Rate::gbps(40));
  EXPECT_EQ(net.link(path.at(2)).latency, Duration::micros(1));
}

// Ports of a server on switches of their own; cables carry the network's share of payload (96 % of 100 Gbps).
TEST(GraphSpec, PortsMayBeAttachedOneByOne) {
  const auto c = read_cluster(R"(kind: cluster
nodes: 2
server: dgx-h100
network: ib-2x400
fabric:
  custom:
    switches: [a, b]
    hosts: [{nodes: 0-1, switch: a, port: 0}, {nodes: 0-1, switch: b, port: 1}]
    cables: [{from: a, to: b, speed: 100 Gbps}]
)");
  ASSERT_TRUE(c.is_good) << c.messages.front();
  const Network net = build_network(c.spec);
  EXPECT_EQ(path_names(net, test::hop(0, 8)).at(2), "node0.nic0>a");
  EXPECT_EQ(path_names(net, test::hop(4, 12)).at(2), "node0.nic1>b");
  EXPECT_EQ(net.link(test::path_links(net, test::hop(0, 12)).at(3)).capacity, Rate::gbps(96));
}

TEST(GraphSpec, WhatIsPrintedIsReadBack) {
  const auto c = read_cluster(hosts(
      2, "  custom: {switches: [a, {name: b, tier: 1}], hosts: [{nodes: 0-1, switch: a}], cables: [{from: a, to: b}]}\n"));
  ConfigPrinter printer;
  cluster_fields().print(c.spec, printer);
  const auto again = read_cluster("kind: cluster\n" + printer.text());
  ASSERT_TRUE(again.is_good) << again.messages.front();
  ConfigPrinter second;
  cluster_fields().print(again.spec, second);
  EXPECT_EQ(printer.text(), second.text());
  EXPECT_EQ(again.spec.fabric.custom->switches.at(1).tier, 1);
}

TEST(GraphSpec, AShortSwitchMayBeReplacedOnTheCommandLine) {
  const auto c =
      read_cluster(hosts(2, "  custom: {switches: [a, b], hosts: [{nodes: 0-1, switch: a}], cables: [{from: a, to: b}]}\n"),
                   {"fabric.custom.switches[0].rack=x"});
  ASSERT_TRUE(c.is_good) << c.messages.front();
  EXPECT_EQ(c.spec.fabric.custom->switches.at(0).name, "a");
  EXPECT_EQ(c.spec.fabric.custom->switches.at(0).rack, "x");
}

TEST(GraphSpec, AClusterHasOneFabric) {
  EXPECT_EQ(
      errors(4, "  torus: {dimensions: [4]}\n  dragonfly: {groups: 2, routers_per_group: 2}\n"),
      (Names{"c.yaml:6:10: error: fabric.torus: is given together with dragonfly, and each is a whole fabric (keep one)"}));
  EXPECT_EQ(
      errors(4, "  torus: {dimensions: [4]}\n  spines: 2\n  wiring: rail\n"),
      (Names{
          "c.yaml:7:11: error: fabric.spines: belongs to a fabric of leaves and spines, and this one is a torus (remove it)",
          "c.yaml:8:11: error: fabric.wiring: belongs to a fabric of leaves and spines, and this one is a torus (remove it)"}));
  EXPECT_EQ(
      errors(4, "  torus: {dimensions: [4]}\n  in_network_reduction: true\n"),
      (Names{"c.yaml:7:25: error: fabric.in_network_reduction: belongs to a fabric of leaves and spines, and this one is a "
             "torus (remove it)"}));
}

TEST(GraphSpec, NodesNeedRoom) {
  EXPECT_EQ(read_cluster(hosts(17, "  dragonfly: {groups: 2, routers_per_group: 4, nodes_per_router: 2}\n") +
                         "core_link: {speed: 50 Gbps, latency: 3 us}\n")
                .messages,
            (Names{"c.yaml:6:23: error: fabric.dragonfly.groups: 2 groups of 4 routers have room for 16 nodes, and the cluster "
                   "has 17 (at least 3 groups)"}));
  EXPECT_EQ(errors(17, "  torus: {dimensions: [4, 4]}\n"),
            (Names{"c.yaml:6:23: error: fabric.torus.dimensions: the torus has room for 16 nodes, and the cluster has 17 "
                   "(larger dimensions, or more nodes_per_switch)"}));
}

TEST(GraphSpec, ATorusHasAFewDimensions) {
  EXPECT_EQ(errors(1, "  torus: {dimensions: []}\n").size(), 1u);
  EXPECT_EQ(errors(1, "  torus: {dimensions: [2, 2, 2, 2, 2, 2, 2]}\n").size(), 1u);
  EXPECT_EQ(errors(1, "  torus: {dimensions: [1000, 1000]}\n"),
            (Names{"c.yaml:6:23: error: fabric.torus.dimensions: the torus would have 1e+06 switches (at most 65536)"}));
}

TEST(GraphSpec, DragonfliesBetweenGroupsNeedCoreLinks) {
  EXPECT_EQ(errors(4, "  dragonfly: {groups: 2, routers_per_group: 2}\n").size(), 2u);  // speed and latency
  EXPECT_EQ(errors(2, "  dragonfly: {groups: 1, routers_per_group: 2}\n").size(), 0u);
}

TEST(GraphSpec, ParallelCablesAreCountedWhereTheSwitchesAre) {
  const auto c = read_cluster(
      "kind: cluster\nendpoints: 4\nhost_link: {speed: 100 Gbps, latency: 1 us}\n"
      "fabric_link: {speed: 100 Gbps, latency: 1 us, cables: 2}\nfabric: {torus: {dimensions: [4]}}\n");
  EXPECT_EQ(c.messages,
            (Names{"c.yaml:4:55: error: fabric_link.cables: counts cables between a leaf and a spine, which this fabric does "
                   "not have (give the speed of all of them as speed)"}));
}

// Everything wrong with names at once, each where it is written.
TEST(GraphSpec, NamesOfSwitchesAreChecked) {
  EXPECT_EQ(
      errors(2, R"(  custom:
    switches: [leaf0, leaf1, leaf1, node3, "a b"]
    hosts: [{nodes: 0-1, switch: leaf2}]
    cables: [{from: leaf0, to: leafl}, {from: leaf1, to: leaf1}]
)"),
      (Names{"c.yaml:7:30: error: fabric.custom.switches[2]: 'leaf1' is the name of switch number 1 too (each switch needs its "
             "own)",
             "c.yaml:7:37: error: fabric.custom.switches[3]: 'node3' is what a node is called (another name)",
             "c.yaml:7:44: error: fabric.custom.switches[4]: 'a b' is no name of a switch (letters, digits and _ . - ( ) , /)",
             "c.yaml:8:34: error: fabric.custom.hosts[0].switch: no switch is called 'leaf2' (did you mean 'leaf0'?)",
             "c.yaml:9:32: error: fabric.custom.cables[0].to: no switch is called 'leafl' (did you mean 'leaf0'?)",
             "c.yaml:9:40: error: fabric.custom.cables[1]: leads back to the switch it comes from (give two different "
             "switches)"}));
}

TEST(GraphSpec, EveryPortIsAttachedOnce) {
  EXPECT_EQ(errors(5, R"(  custom:
    switches: [a, b]
    hosts: [{nodes: 0-2, switch: a}, {nodes: 2-3, switch: b}, {nodes: 4-5, switch: b}, {nodes: 3, switch: a, port: 1}]
    cables: [{from: a, to: b}]
)"),
            (Names{"c.yaml:8:116: error: fabric.custom.hosts[3].port: nodes have no port 1 (ports are 0 to 0)",
                   "c.yaml:8:12: error: fabric.custom.hosts: 1 of 5 ports are attached to no switch, the first of them that of "
                   "node 4 (endpoints are 0 to 4)",
                   "c.yaml:8:38: error: fabric.custom.hosts[1]: attaches that of node 2, which hosts[0] has attached (attach "
                   "every port once)",
                   "c.yaml:8:71: error: fabric.custom.hosts[2].nodes: the cluster has no node 5 (endpoints are 0 to 4)"}));
}

TEST(GraphSpec, PartsMustBeJoined) {
  EXPECT_EQ(errors(3, R"(  custom:
    switches: [a, b, c, d]
    hosts: [{nodes: 0, switch: a}, {nodes: 1, switch: b}, {nodes: 2, switch: d}]
    cables: [{from: a, to: b}, {from: c, to: d}]
)"),
            (Names{"c.yaml:9:13: error: fabric.custom.cables: no path joins the switches 'a' and 'd', which have nodes (add "
                   "cables between the "
                   "two parts)"}));
}

// Switch a: 3 hosts and 2 + 1 cables.
TEST(GraphSpec, SwitchesHaveThePorts) {
  const std::string fabric = R"(  custom:
    switches: [a, b, c]
    hosts: [{nodes: 0-2, switch: a}]
    cables: [{from: a, to: b, count: 2}, {from: a, to: c}]
)";
  EXPECT_TRUE(errors(3, fabric + "  switch_ports: 6\n").empty());
  EXPECT_EQ(errors(3, fabric + "  switch_ports: 5\n"), (Names{"c.yaml:10:17: error: fabric.switch_ports: a switch needs 6 "
                                                              "ports and has 5 (fewer nodes on a switch, or fewer cables)"}));
}

TEST(GraphSpec, ThereMayBeTooManyLinks) {
  const Names messages = errors(1, "  dragonfly: {groups: 65536, routers_per_group: 1, global_cables: 1024}\n");
  EXPECT_NE(messages.back().find("links, more than 64000000"), std::string::npos) << messages.back();
}

}  // namespace
}  // namespace lockstep
