// SPDX-License-Identifier: Apache-2.0
// Dragonfly, torus and custom graphs: counts, names, paths and shares by hand.
#include "topology/fabric/graph_fabric.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/check.h"
#include "base/diagnostics.h"
#include "tests/support/topology_fixtures.h"
#include "topology/graph_analysis.h"
#include "topology/routing/router.h"

namespace lockstep {
namespace {

using test::hop;
using test::kUnitWire;
using test::path_names;
using Names = std::vector<std::string>;

const Wire kLongWire = Wire::pure(Rate::gbps(100), Duration::micros(7));
constexpr std::int64_t kG100 = 100'000'000'000;  // bit/s

// Bare hosts, `per_switch` on each switch.
Network on_switches(SwitchLayout layout, std::uint32_t per_switch) {
  const std::uint32_t switches = std::visit([](const auto& l) { return l.switches(); }, layout);
  std::vector<std::uint32_t> of_port;
  for (std::uint32_t n = 0; n < switches * per_switch; ++n) of_port.push_back(n / per_switch);
  NetworkPlan plan{.nodes = switches * per_switch};
  plan.graph = GraphShape{.layout = std::move(layout), .switch_of_port = of_port, .host = kUnitWire};
  return Network(plan);
}

Network dragonfly(int groups, int routers, int cables, std::uint32_t hosts) {
  return on_switches(Dragonfly({.groups = groups, .routers_per_group = routers, .global_cables = cables}, kUnitWire, kLongWire),
                     hosts);
}

Network torus(const std::vector<int>& dimensions, std::uint32_t hosts = 1) {
  return on_switches(Torus(dimensions, kUnitWire), hosts);
}

Route sprayed(const Network& net, const Hop& h) {
  Route route;
  Router(net, RoutingPolicy::kSpray, 0).add(h, 0, route);
  Router::finish(route);
  return route;
}

// 9 groups of 4 routers with 2 hosts: 72 hosts and 36 routers; cables 72 to hosts, 9 x 6 local, 36 pairs of groups: links twice
// that.
TEST(DragonflyFabric, CountsAsDrawn) {
  const Network net = dragonfly(9, 4, 1, 2);
  EXPECT_EQ(net.device_count(), 72u + 36);
  EXPECT_EQ(net.link_count(), 2u * (72 + 54 + 36));
  EXPECT_EQ(net.rack_count(), 36u);
  EXPECT_EQ(net.pod_count(), 9u);
  EXPECT_EQ(net.rack_of(NodeId(9)), 4u);
  EXPECT_EQ(net.pod_of(NodeId(9)), 1u);
  EXPECT_EQ(net.kind(net.first_switch()), DeviceKind::kSwitch);
  EXPECT_TRUE(analyze_graph(net).is_connected);
}

// The balanced dragonfly of the paper: a = 2p = 2h, groups = a h + 1 = 9 with one cable between each two: every router has
// exactly h = 2 global cables.
TEST(DragonflyFabric, GlobalCablesAreSpreadEvenly) {
  std::map<std::uint32_t, int> globals;
  for (const SwitchCable& c : Dragonfly({.groups = 9, .routers_per_group = 4}, kUnitWire, kLongWire).cables()) {
    if (c.sort == 0) continue;
    ++globals[c.from];
    ++globals[c.to];
  }
  EXPECT_EQ(globals.size(), 36u);
  for (const auto& [router, count] : globals) EXPECT_EQ(count, 2) << router;
}

// Hosts 0 and 1 share router 0; host 2 is on router 1 of the same group; host 8 on router 0 of group 1. Group 1 is one further
// round, so its cable is number 0 of group 0 and leaves router 0; group 0 is eight further from group 1, so there it is number
// 7, on router 3.
TEST(DragonflyFabric, MinimalPathsAreLocalGlobalLocal) {
  const Network net = dragonfly(9, 4, 1, 2);
  EXPECT_EQ(path_names(net, hop(0, 1)), (Names{"host0>group0.router0", "group0.router0>host1"}));
  EXPECT_EQ(path_names(net, hop(0, 2)),
            (Names{"host0>group0.router0", "group0.router0>group0.router1", "group0.router1>host2"}));
  EXPECT_EQ(path_names(net, hop(0, 8)), (Names{"host0>group0.router0", "group0.router0>group1.router3",
                                               "group1.router3>group1.router0", "group1.router0>host8"}));
  EXPECT_EQ(path_names(net, hop(2, 14)), (Names{"host2>group0.router1", "group0.router1>group0.router0",
                                                "group0.router0>group1.router3", "group1.router3>host14"}));
}

// Three cables between two groups of two routers: number 0 and 2 on router 0, number 1 on router 1, at both ends. The first and
// the last join the same routers, so their names carry numbers.
TEST(DragonflyFabric, EveryGlobalCableIsAPath) {
  const Network net = dragonfly(2, 2, 3, 1);
  EXPECT_EQ(net.path_count(hop(0, 2)), 3);
  EXPECT_EQ(net.path_count(hop(0, 1)), 1);
  EXPECT_EQ(net.max_path_count(), 3);
  EXPECT_EQ(path_names(net, hop(0, 2), 0).at(1), "group0.router0>group1.router0#0");
  EXPECT_EQ(path_names(net, hop(0, 2), 1).at(1), "group0.router0>group0.router1");
  EXPECT_EQ(path_names(net, hop(0, 2), 1).at(2), "group0.router1>group1.router1");
  EXPECT_EQ(path_names(net, hop(0, 2), 2).at(1), "group0.router0>group1.router0#1");
}

// Host to router 1 us, local 1 us, global 7 us. Spray takes as long as its longest path: 1 + 1 + 7 + 1 + 1; path 0 has no local
// hop.
TEST(DragonflyFabric, LatencyIsThatOfThePathTaken) {
  const Network net = dragonfly(2, 2, 3, 1);
  std::vector<LinkShare> shares;
  EXPECT_EQ(net.append_path(hop(0, 2), 0, 1, shares), Duration::micros(9));
  EXPECT_EQ(net.append_path(hop(0, 2), 1, 1, shares), Duration::micros(11));
  EXPECT_EQ(sprayed(net, hop(0, 2)).latency, Duration::micros(11));
}

// Two groups of 2 x 2 hosts: 3 cables of 100 G are less than the 4 ports of a half.
TEST(DragonflyFabric, BisectionCutsTheGlobalCables) {
  const GraphReport r = analyze_graph(dragonfly(2, 2, 3, 2));
  EXPECT_EQ(r.bisection_bps, 3 * kG100);
  EXPECT_EQ(r.bisection_ports_bps, 4 * kG100);
  EXPECT_EQ(r.diameter, 4);  // every router holds a cable, so one local hop on either side is enough
}

// 4 x 3 x 2 x 1: rings of 4 and 3 have as many cables as switches, a ring of 2 one for two, a ring of 1 none.
TEST(TorusFabric, CountsAsDrawn) {
  const Network net = torus({4, 3, 2, 1}, 2);
  EXPECT_EQ(net.endpoint_count(), 48u);
  EXPECT_EQ(net.device_count(), 48u + 24);
  EXPECT_EQ(net.link_count(), 2u * (48 + 24 + 24 + 12));
  EXPECT_EQ(net.rack_count(), 24u);
  EXPECT_EQ(net.pod_count(), 1u);
  EXPECT_EQ(net.name(DeviceId(48 + 1 * 6 + 2 * 2 + 1)), "switch(1,2,1,0)");
}

// From (0,0) to (4,1) of 5 x 4: one step back round the first dimension, then one ahead in the second.
TEST(TorusFabric, TheFirstDimensionGoesFirstTheShorterWayRound) {
  const Network net = torus({5, 4});
  EXPECT_EQ(path_names(net, hop(0, 17)),
            (Names{"host0>switch(0,0)", "switch(0,0)>switch(4,0)", "switch(4,0)>switch(4,1)", "switch(4,1)>host17"}));
  EXPECT_EQ(net.path_count(hop(0, 17)), 1);
}

// From (0,0) to (2,2) of 4 x 4 both dimensions tie: four paths, of 2 + 2 hops.
TEST(TorusFabric, HalfWayRoundIsATie) {
  const Network net = torus({4, 4});
  EXPECT_EQ(net.max_path_count(), 4);
  EXPECT_EQ(net.path_count(hop(0, 10)), 4);
  EXPECT_EQ(net.path_count(hop(0, 8)), 2);
  EXPECT_EQ(net.path_count(hop(0, 9)), 2);
  std::set<Names> paths;
  for (int i = 0; i < 4; ++i) paths.insert(path_names(net, hop(0, 10), i));
  EXPECT_EQ(paths.size(), 4u);
  EXPECT_EQ(path_names(net, hop(0, 10), 3),
            (Names{"host0>switch(0,0)", "switch(0,0)>switch(3,0)", "switch(3,0)>switch(2,0)", "switch(2,0)>switch(2,3)",
                   "switch(2,3)>switch(2,2)", "switch(2,2)>host10"}));
}

// Weight 4 over four paths. Each half of them goes round the first dimension one way: 2 on each of its 4 links, and 2 on each
// of 4 of the second, whose two ways meet the first ones in switch (2,0).
TEST(TorusFabric, SharedLinksOfEqualPathsAreAddedUp) {
  const Network net = torus({4, 4});
  const Route route = sprayed(net, hop(0, 10));
  EXPECT_EQ(route.shares.size(), 2u + 8);
  for (const LinkShare& s : route.shares) {
    EXPECT_EQ(s.coefficient, net.link(s.link).tier == LinkTier::kHost ? 4 : 2);
  }
}

// In a ring of two the one cable leads both ways, and there is no tie.
TEST(TorusFabric, ARingOfTwoIsOneCable) {
  const Network net = torus({2, 2});
  EXPECT_EQ(net.link_count(), 2u * (4 + 4));
  EXPECT_EQ(net.max_path_count(), 1);
  EXPECT_EQ(path_names(net, hop(3, 0)),
            (Names{"host3>switch(1,1)", "switch(1,1)>switch(0,1)", "switch(0,1)>switch(0,0)", "switch(0,0)>host0"}));
}

// Halving the first dimension of 6 x 4 cuts every one of its 4 rings twice: 8 cables. Diameter 3 + 2 switch hops and the hosts.
TEST(TorusFabric, BisectionOfTheLongestDimension) {
  const GraphReport r = analyze_graph(torus({6, 4}));
  EXPECT_EQ(r.bisection_bps, 8 * kG100);
  EXPECT_EQ(r.disjoint_paths, 4);
  EXPECT_EQ(r.diameter, 7);
}

// a - b twice, a - c, c - d, b - d: two ways of two hops from a to d, one of them over either of two parallel cables.
//
//    a = b      nodes 0 on a, 1 on d
//    |   |
//    c - d
CustomGraph diamond(const std::vector<std::uint32_t>& roots) {
  return CustomGraph({{.name = "a", .rack = 0}, {.name = "b", .rack = 1}, {.name = "c", .rack = 2}, {.name = "d", .rack = 3}},
                     {{0, 1, 0}, {0, 1, 0}, {0, 2, 1}, {2, 3, 1}, {1, 3, 0}},
                     {{kUnitWire, LinkTier::kSwitch}, {kLongWire, LinkTier::kSwitch}}, roots);
}

Network custom(CustomGraph graph, const std::vector<std::uint32_t>& of_port) {
  NetworkPlan plan{.nodes = static_cast<std::uint32_t>(of_port.size())};
  plan.graph = GraphShape{.layout = std::move(graph), .switch_of_port = of_port, .host = kUnitWire};
  return Network(plan);
}

TEST(CustomFabric, ShortestPathsCountParallelCables) {
  const Network net = custom(diamond({0, 3}), {0, 3});
  EXPECT_EQ(net.path_count(hop(0, 1)), 3);
  EXPECT_EQ(path_names(net, hop(0, 1), 0), (Names{"host0>a", "a>b#0", "b>d", "d>host1"}));
  EXPECT_EQ(path_names(net, hop(0, 1), 1), (Names{"host0>a", "a>b#1", "b>d", "d>host1"}));
  EXPECT_EQ(path_names(net, hop(0, 1), 2), (Names{"host0>a", "a>c", "c>d", "d>host1"}));
  EXPECT_EQ(path_names(net, hop(1, 0), 2), (Names{"host1>d", "d>b", "b>a#1", "a>host0"}));
}

// A third of weight 3 on each path; b - d carries two of them. The way over c takes 7 + 7 us, and the hosts 1 us each.
TEST(CustomFabric, SprayIsEvenOverThePathsAndAsSlowAsTheLongest) {
  const Network net = custom(diamond({0, 3}), {0, 3});
  const Route route = sprayed(net, hop(0, 1));
  std::map<std::string, std::int64_t> share;
  for (const LinkShare& s : route.shares) share[net.name(s.link)] = s.coefficient;
  EXPECT_EQ(share, (std::map<std::string, std::int64_t>{
                       {"host0>a", 3}, {"a>b#0", 1}, {"a>b#1", 1}, {"a>c", 1}, {"b>d", 2}, {"c>d", 1}, {"d>host1", 3}}));
  EXPECT_EQ(route.latency, Duration::micros(16));
}

// 5 x 8 cables over a middle switch are 40 paths; 16 are used, at distances of 2.5 in the order of the first cable: 3, 3, 3, 3
// and 4 of the 8 paths of each.
TEST(CustomFabric, SixteenOfManyPathsSpreadOverTheFirstHops) {
  std::vector<SwitchCable> cables(5, {0, 1, 0});
  cables.insert(cables.end(), 8, {1, 2, 0});
  const Network net = custom(CustomGraph({{.name = "a"}, {.name = "m"}, {.name = "b"}}, cables, {{kUnitWire}}, {0, 2}), {0, 2});
  EXPECT_EQ(net.path_count(hop(0, 1)), 16);
  std::map<std::string, int> first;
  std::set<Names> distinct;
  for (int i = 0; i < 16; ++i) {
    const Names path = path_names(net, hop(0, 1), i);
    ++first[path.at(1)];
    distinct.insert(path);
  }
  EXPECT_EQ(distinct.size(), 16u);
  EXPECT_EQ(first.size(), 5u);
  for (const auto& [name, count] : first) EXPECT_TRUE(count == 3 || count == 4) << name << " " << count;
}

// Path counts 1, 2 and 3 occur: every share is whole on a scale of 6.
TEST(CustomFabric, TheSprayWeightIsDividedByEveryPathCount) {
  std::vector<SwitchCable> cables{{0, 1, 0}, {1, 2, 0}, {1, 2, 0}, {2, 3, 0}, {2, 3, 0}, {2, 3, 0}};
  const Network net =
      custom(CustomGraph({{.name = "a"}, {.name = "b"}, {.name = "c"}, {.name = "d"}}, cables, {{kUnitWire}}, {0, 1, 2, 3}),
             {0, 1, 2, 3});
  EXPECT_EQ(net.path_count(hop(0, 1)), 1);
  EXPECT_EQ(net.path_count(hop(0, 2)), 2);
  EXPECT_EQ(net.path_count(hop(0, 3)), 6);
  EXPECT_EQ(net.path_count(hop(2, 3)), 3);
  EXPECT_EQ(net.max_path_count(), 6);
  EXPECT_EQ(net.spray_weight(), 6);
}

// A long chain: the distance does not fit in a byte.
TEST(CustomFabric, DistancesMayBeLong) {
  std::vector<CustomSwitch> switches;
  std::vector<SwitchCable> cables;
  for (std::uint32_t s = 0; s < 1'000; ++s) {
    switches.push_back({.name = "s" + std::to_string(s)});
    if (s > 0) cables.push_back({s - 1, s, 0});
  }
  const Network net = custom(CustomGraph(switches, cables, {{kUnitWire}}, {0, 999}), {0, 999});
  EXPECT_EQ(path_names(net, hop(1, 0)).size(), 2u + 999);
}

TEST(CustomFabric, PartsThatNothingJoinsCannotTalk) {
  const Network net = custom(CustomGraph({{.name = "a"}, {.name = "b"}}, {}, {}, {0, 1}), {0, 1});
  EXPECT_EQ(net.path_count(hop(0, 1)), 0);
  EXPECT_THROW(std::ignore = path_names(net, hop(0, 1)), UserError);
  EXPECT_FALSE(analyze_graph(net).diameter);
}

// Nodes 0 and 2 on rack 5, node 1 on rack 3: racks are numbered as nodes meet them.
TEST(CustomFabric, RacksAreNumberedByTheirFirstNodes) {
  const Network net =
      custom(CustomGraph({{.name = "a", .rack = 5, .pod = 1}, {.name = "b", .rack = 3, .pod = 1}, {.name = "c", .rack = 5}},
                         {{0, 1, 0}, {1, 2, 0}}, {{kUnitWire}}, {0, 1, 2}),
             {0, 1, 2});
  EXPECT_EQ(net.rack_count(), 2u);
  EXPECT_EQ(net.rack_of(NodeId(0)), 0u);
  EXPECT_EQ(net.rack_of(NodeId(1)), 1u);
  EXPECT_EQ(net.rack_of(NodeId(2)), 0u);
  EXPECT_EQ(net.pod_count(), 2u);
}

// Two planes: port 0 of both boxes on a, port 1 on b. The nearest NIC of GPU 2 of 4 is NIC 1.
TEST(CustomFabric, EveryPortHasASwitchOfItsOwn) {
  NetworkPlan plan{
      .nodes = 2,
      .server = NvSwitchServer({.gpus = 4, .nics = 2, .nvlink = kUnitWire, .gpu_pcie = kUnitWire, .nic_pcie = kUnitWire})};
  plan.graph = GraphShape{.layout = CustomGraph({{.name = "a"}, {.name = "b"}}, {{0, 1, 0}}, {{kUnitWire}}, {0, 1}),
                          .switch_of_port = {0, 1, 0, 1},
                          .host = kUnitWire};
  const Network net(plan);
  EXPECT_EQ(path_names(net, hop(2, 6)).at(2), "node0.nic1>b");
  EXPECT_EQ(path_names(net, hop(2, 6)).at(3), "b>node1.nic1");
  EXPECT_EQ(path_names(net, hop(0, 6)).at(3), "a>b");
}

TEST(GraphFabric, UnattachedPortsAreABrokenPlan) {
  NetworkPlan plan{.nodes = 3};
  plan.graph = GraphShape{.layout = Torus({3}, kUnitWire), .switch_of_port = {0, 1}, .host = kUnitWire};
  EXPECT_THROW(std::ignore = Network(plan), InternalError);
  plan.graph->switch_of_port = {0, 1, 3};
  EXPECT_THROW(std::ignore = Network(plan), InternalError);
}

}  // namespace
}  // namespace lockstep
