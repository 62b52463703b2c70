// SPDX-License-Identifier: Apache-2.0
// Traffic on a torus, a dragonfly and a rail-only fabric against what paper and pencil say. Every cable 100 Gbit/s = 12.5
// bytes/ns and 1 us.
#include <gtest/gtest.h>

#include "sim/experiment/traffic.h"
#include "sim/network/flow_network.h"
#include "sim/network/link_capacities.h"
#include "tests/support/topology_fixtures.h"

namespace lockstep {
namespace {

using test::kUnitWire;

constexpr std::int64_t kBytes = 1'250'000;  // 100 us of one cable

Network on_switches(SwitchLayout layout, std::uint32_t switches) {
  NetworkPlan plan{.nodes = switches};
  plan.graph =
      GraphShape{.layout = std::move(layout), .switch_of_port = {}, .host = Wire::pure(Rate::gbps(10'000), kUnitWire.latency)};
  for (std::uint32_t s = 0; s < switches; ++s) plan.graph->switch_of_port.push_back(s);
  return Network(plan);
}

// All rows start at once; when each ends, in us.
std::vector<std::int64_t> ends(const Network& net, RoutingPolicy policy,
                               const std::vector<std::pair<std::uint32_t, std::uint32_t>>& rows) {
  TrafficTable table;
  for (const auto& [from, to] : rows) table.add(EndpointId(from), EndpointId(to), kBytes, {}, -1, {});
  const TrafficRoutes routes(table, Router(net, policy, 0));
  FlowNetwork model(link_capacities(net));
  std::vector<std::int64_t> out;
  for (const Instant end : run_traffic(table, routes, model).end) out.push_back(end.picos() / 1'000'000);
  return out;
}

// Every host sends to the one k further round the ring: each cable carries k flows, each has 1/k of it. 2 + k us, then k x 100
// us.
TEST(TorusTraffic, AShiftByKIsKTimesAsLong) {
  for (std::uint32_t k = 1; k <= 4; ++k) {
    const Network net = on_switches(Torus({9}, kUnitWire), 9);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> rows;
    for (std::uint32_t h = 0; h < 9; ++h) rows.emplace_back(h, (h + k) % 9);
    for (const std::int64_t us : ends(net, RoutingPolicy::kEcmp, rows)) EXPECT_EQ(us, 2 + k + k * 100);
  }
}

// Half way round 8: sprayed, half of each flow goes either way, so each cable carries 4 halves of either direction's flows: 2
// flows' worth. 4 hops and 2 to the hosts.
TEST(TorusTraffic, HalfWayRoundUsesBothDirections) {
  const Network net = on_switches(Torus({8}, kUnitWire), 8);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> rows;
  for (std::uint32_t h = 0; h < 8; ++h) rows.emplace_back(h, (h + 4) % 8);
  for (const std::int64_t us : ends(net, RoutingPolicy::kSpray, rows)) EXPECT_EQ(us, 6 + 200);
}

// A shift by (2, 1) of 5 x 5: the cables of the first dimension carry two flows each, those of the second one.
TEST(TorusTraffic, TheBusiestDimensionDecides) {
  const Network net = on_switches(Torus({5, 5}, kUnitWire), 25);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> rows;
  for (std::uint32_t h = 0; h < 25; ++h) rows.emplace_back(h, (h / 5 + 2) % 5 * 5 + (h + 1) % 5);
  for (const std::int64_t us : ends(net, RoutingPolicy::kEcmp, rows)) EXPECT_EQ(us, 2 + 3 + 200);
}

// All four routers of a group send to the same group over its one global cable: a quarter each, 400 us. Latency 2 for the
// hosts, 1 across, and a local hop on either side where the router is not the one that holds the cable.
TEST(DragonflyTraffic, OneGlobalCableIsSharedByTheGroup) {
  const Network net =
      on_switches(Dragonfly({.groups = 3, .routers_per_group = 4, .global_cables = 1}, kUnitWire, kUnitWire), 12);

  const std::vector<std::int64_t> us = ends(net, RoutingPolicy::kEcmp, {{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  for (const std::int64_t end : us) {
    EXPECT_GE(end, 400);
    EXPECT_LE(end, 405);
  }
  // Group 1 meets it on router 1. Flows 0 and 1 need one local hop, 4 us, and the cable is full from then on: the last byte is
  // through at 404.
  EXPECT_EQ(*std::max_element(us.begin(), us.end()), 404);
}

// Four cables instead: sprayed over all of them the group has 4 x 100 Gbit/s across, and local cables carry a quarter at most:
// each flow has a whole cable's worth. The longest path is local, global, local: 5 us.
TEST(DragonflyTraffic, ACablePerRouterCarriesThemAll) {
  const Network net =
      on_switches(Dragonfly({.groups = 3, .routers_per_group = 4, .global_cables = 4}, kUnitWire, kUnitWire), 12);
  for (const std::int64_t us : ends(net, RoutingPolicy::kSpray, {{0, 4}, {1, 5}, {2, 6}, {3, 7}})) EXPECT_EQ(us, 5 + 100);
}

// Boxes of 4 GPUs: every GPU of node 0 sends to GPU 0 of node 1. All four flows leave on rail 0, three of them by way of
// NVLink, and share NIC 0: 400 us. Rail by rail they do not meet.
TEST(RailOnlyTraffic, OneRailIsOneCable) {
  const Wire fast = Wire::pure(Rate::bytes_per_second(1000e9), Duration());
  const Network net({.nodes = 2,
                     .server = NvSwitchServer({.gpus = 4, .nics = 4, .nvlink = fast, .gpu_pcie = fast, .nic_pcie = fast}),
                     .fabric = {.nodes_per_leaf = 2, .wiring = Wiring::kRailOnly, .host = kUnitWire}});
  for (const std::int64_t us : ends(net, RoutingPolicy::kSpray, {{0, 4}, {1, 4}, {2, 4}, {3, 4}})) EXPECT_EQ(us, 2 + 400);
  for (const std::int64_t us : ends(net, RoutingPolicy::kSpray, {{0, 4}, {1, 5}, {2, 6}, {3, 7}})) EXPECT_EQ(us, 2 + 100);
}

}  // namespace
}  // namespace lockstep
