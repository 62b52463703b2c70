// SPDX-License-Identifier: Apache-2.0
// Links, switches, NICs and nodes that are broken for good: what they leave of paths, rates and groups.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/experiment/collective.h"
#include "sim/network/flow_network.h"
#include "sim/network/link_capacities.h"
#include "tests/support/cluster_fixtures.h"
#include "tests/support/topology_fixtures.h"
#include "topology/faults/fault_states.h"
#include "workloads/collectives/node_groups.h"

namespace lockstep {
namespace {

FaultSpec link(const std::string& name) { return {.link = name, .state = FaultState::kFailed}; }
FaultSpec degraded(const std::string& name, double left) { return {.link = name, .rate = Fraction{left}}; }

Network broken(const Network& healthy, const std::vector<FaultSpec>& faults) {
  return FaultStates(healthy, faults, Duration()).network(healthy, 0);
}

std::vector<std::string> spray_names(const Network& net, const Hop& h, bool in_bundles) {
  std::vector<LinkShare> shares;
  const std::int64_t weight = net.spray_weight();
  in_bundles ? net.append_bundles(h, weight, shares) : net.append_spray(h, weight, shares);
  std::sort(shares.begin(), shares.end());
  std::vector<std::string> out;
  for (const LinkShare& s : shares) out.push_back(fmt::format("{} {}/{}", net.name(s.link), s.coefficient, weight));
  return out;
}

// 12 hosts, 4 a leaf, 3 spines. Without leaf0>spine1 leaf 0 and leaf 1 are joined by spines 0 and 2: two paths, half of a sprayed hop on
// each. Leaves 1 and 2 keep three. The common scale is lcm(3, 2) = 6.
TEST(Faults, PathsAreThoseThatSurvive) {
  const Network net = broken(test::leaf_spine(3), {link("leaf0>spine1")});
  EXPECT_EQ(net.path_count(test::hop(0, 4)), 2);
  EXPECT_EQ(net.path_count(test::hop(4, 0)), 2);
  EXPECT_EQ(net.path_count(test::hop(4, 8)), 3);
  EXPECT_EQ(net.spray_weight(), 6);
  EXPECT_EQ(test::path_names(net, test::hop(0, 4), 1),
            (std::vector<std::string>{"host0>leaf0", "leaf0>spine2", "spine2>leaf1", "leaf1>host4"}));
  EXPECT_EQ(test::path_names(net, test::hop(0, 4), 2), test::path_names(net, test::hop(0, 4), 0));
  EXPECT_EQ(spray_names(net, test::hop(0, 4), false),
            (std::vector<std::string>{"host0>leaf0 6/6", "leaf1>host4 6/6", "leaf0>spine0 3/6", "leaf0>spine2 3/6",
                                      "spine0>leaf1 3/6", "spine2>leaf1 3/6"}));
}

// One direction only: what comes down to leaf 0 still has three ways.
TEST(Faults, ADirectionOfACableFailsAlone) {
  FaultSpec up = link("leaf0>spine1");
  up.direction = FaultDirection::kForward;
  const Network net = broken(test::leaf_spine(3), {up});
  EXPECT_EQ(net.path_count(test::hop(0, 4)), 2);
  EXPECT_EQ(net.path_count(test::hop(4, 0)), 3);
}

// Spine 1 is odd, so its links stand alone; spine 2 is as spine 0, whose links stand for both.
TEST(Faults, LinksToRegularSpinesStillStandForEachOther) {
  const Network net = broken(test::leaf_spine(3), {link("leaf0>spine1")});
  EXPECT_EQ(spray_names(net, test::hop(4, 8), true),
            (std::vector<std::string>{"host4>leaf1 6/6", "leaf2>host8 6/6", "leaf1>spine0 2/6", "leaf1>spine1 2/6",
                                      "spine0>leaf2 2/6", "spine1>leaf2 2/6"}));
  for (std::uint32_t l = 0; l < net.link_count(); ++l) {
    const std::string name = net.name(LinkId(l));
    const std::string first = net.name(net.first_of_bundle(LinkId(l)));
    if (name == "leaf2>spine2") {
      EXPECT_EQ(first, "leaf2>spine0");
    } else if (name == "spine2>leaf1") {
      EXPECT_EQ(first, "spine0>leaf1");
    } else if (name == "leaf2>spine1" || name == "host3>leaf0") {
      EXPECT_EQ(first, name);
    }
  }
}

// The bundles of a broken fabric carry what the spray over all links does, link by link, on two and three tiers with parallel cables.
TEST(Faults, BundlesCarryWhatTheirLinksDo) {
  for (const Network& healthy : {test::leaf_spine(4, 2), test::three_tiers(2, 2)}) {
    std::vector<std::string> names;
    for (std::uint32_t l = healthy.first_fabric_link().value(); l < healthy.link_count(); l += 7) {
      if (healthy.link(LinkId(l)).tier == LinkTier::kHost) continue;
      const Network net = broken(healthy, {link(healthy.name(LinkId(l)))});
      for (std::uint32_t a = 0; a < net.endpoint_count(); a += 2) {
        for (std::uint32_t b = 1; b < net.endpoint_count(); b += 2) {
          std::vector<LinkShare> all;
          std::vector<LinkShare> bundled;
          net.append_spray(test::hop(a, b), net.spray_weight(), all);
          net.append_bundles(test::hop(a, b), net.spray_weight(), bundled);
          for (LinkShare& s : all) s.link = net.first_of_bundle(s.link);
          std::sort(all.begin(), all.end());
          all.erase(std::unique(all.begin(), all.end()), all.end());
          std::sort(bundled.begin(), bundled.end());
          ASSERT_EQ(all, bundled) << net.name(LinkId(l)) << " " << a << " > " << b;
        }
      }
    }
  }
}

// A degraded link has what is left of its rate; paths stay.
TEST(Faults, ADegradedLinkKeepsItsPathsAndLosesRate) {
  const Network net = broken(test::leaf_spine(2), {degraded("leaf0>spine1", 0.5)});
  EXPECT_EQ(net.path_count(test::hop(0, 4)), 2);
  for (std::uint32_t l = 0; l < net.link_count(); ++l) {
    const std::string name = net.name(LinkId(l));
    const bool is_slow = name == "leaf0>spine1" || name == "spine1>leaf0";
    EXPECT_EQ(net.link(LinkId(l)).capacity, Rate::gbps(is_slow ? 50 : 100)) << name;
  }
}

TEST(Faults, ASwitchTakesAllItsLinksAlong) {
  const Network net = broken(test::leaf_spine(3), {FaultSpec{.switch_name = "spine2", .state = FaultState::kFailed}});
  for (std::uint32_t b : {4u, 8u}) EXPECT_EQ(net.path_count(test::hop(0, b)), 2);
  EXPECT_EQ(net.conditions().size(), 6u);
}

// Two leaves with one spine each, and not the same: up and down once leads nowhere. Leaf 2 reaches both.
TEST(Faults, WhoCannotBeReachedIsNamedWithTheReason) {
  const Network net = broken(test::leaf_spine(2), {link("leaf0>spine1"), link("leaf1>spine0")});
  EXPECT_EQ(net.path_count(test::hop(0, 4)), 0);
  EXPECT_EQ(net.path_count(test::hop(0, 8)), 1);
  std::vector<LinkShare> out;
  try {
    net.append_path(test::hop(0, 4), 0, 1, out);
    FAIL() << "a path";
  } catch (const SimulationError& e) {
    EXPECT_STREQ(e.what(), "host0 cannot reach host4: no path is left (leaf0>spine1 failed, leaf1>spine0 failed)");
  }
}

// Four GPUs with a NIC each. Node 1 has lost NIC 2: its GPU 2 sends through NIC 3; a ring over all eight GPUs has three channels, on the
// same NICs of both nodes.
TEST(Faults, AGpuWithoutItsNicUsesTheNextOne) {
  const Network net = broken(test::boxes(2, 4, 4), {FaultSpec{.nic = "node1.nic2", .state = FaultState::kFailed}});
  EXPECT_EQ(net.nearest_nic(EndpointId(6)), 3);
  EXPECT_EQ(net.nearest_nic(EndpointId(2)), 2);
  std::vector<EndpointId> all;
  for (std::uint32_t e = 0; e < 8; ++e) all.emplace_back(e);
  MeshRings rings;
  for (const NodeGroup& g : group_by_node(net, all, rings)) EXPECT_EQ(g.nics, (std::vector<int>{0, 1, 3}));
  // A group of the GPUs 2 alone borrows there and leaves the other node's NIC as it is.
  const std::vector<EndpointId> pair{EndpointId(2), EndpointId(6)};
  const std::vector<NodeGroup> groups = group_by_node(net, pair, rings);
  EXPECT_EQ(groups[0].nics, std::vector<int>{2});
  EXPECT_EQ(groups[1].nics, std::vector<int>{3});
}

// Nothing of a node reaches its leaf: nobody reaches the node.
TEST(Faults, ANodeWithoutNicsCannotBeReached) {
  const Network net = broken(test::boxes(2, 2, 2), {FaultSpec{.node = 1, .state = FaultState::kFailed}});
  std::vector<LinkShare> out;
  EXPECT_THROW(net.append_path(test::hop(0, 2), 0, 1, out), SimulationError);
  out.clear();
  net.append_path(test::hop(2, 3), 0, 1, out);  // inside, over NVLink
  EXPECT_EQ(out.size(), 2u);
}

double busbw(const ClusterSpec& cluster, CollectiveKind kind) {
  const PreparedCluster prepared(cluster, 0);
  CollectiveRequest request{.kind = kind, .sizes = {std::int64_t{1} << 32}, .algorithm = Algorithm::kRing};
  if (kind == CollectiveKind::kAllToAll) request.algorithm = Algorithm::kAuto;
  for (std::uint32_t e = 0; e < prepared.network.endpoint_count(); ++e) request.members.emplace_back(e);
  return run_collective(request, prepared.router, prepared.tunings, NetworkKind::kFlow).front().busbw_gb_per_s;
}

ClusterSpec with(ClusterSpec c, std::vector<FaultSpec> faults) {
  c.faults = std::move(faults);
  return c;
}

// One NIC at a quarter of its 48 GB/s: every ring goes through every node, so eight channels go at 12 GB/s each.
// What 300 nodes at 14 GB/s (nccl#1454) may be due to: however many nodes, one bad link sets the pace.
TEST(Faults, OneDegradedNicSetsThePaceOfAllNodes) {
  const ClusterSpec cluster = test::shipped_cluster("dgx-h100", {"nodes=4"});
  const double all = busbw(cluster, CollectiveKind::kAllReduce);
  const double one_bad =
      busbw(with(cluster, {FaultSpec{.nic = "node2.nic5", .rate = Fraction{0.25}}}), CollectiveKind::kAllReduce);
  EXPECT_NEAR(one_bad, 8 * 12, 0.08 * 96);  // less what chunks and steps cost
  EXPECT_GT(all, 3.5 * one_bad);
  // All NICs of one node: the same pace.
  const double bad_node = busbw(with(cluster, {FaultSpec{.node = 2, .rate = Fraction{0.25}}}), CollectiveKind::kAllReduce);
  EXPECT_NEAR(bad_node, one_bad, 0.01 * one_bad);
  // Without the NIC seven of eight channels are left, at full speed: better than a bad NIC.
  const double failed =
      busbw(with(cluster, {FaultSpec{.nic = "node2.nic5", .state = FaultState::kFailed}}), CollectiveKind::kAllReduce);
  EXPECT_NEAR(failed / one_bad, 7 * 48.0 / (8 * 12), 0.05 * 3.5);
}

// Two racks of 4 hosts on k = 4 spines at line rate: sprayed cross traffic of a rack at full load keeps (k - 1)/k of its rate without one
// uplink. 4 hosts x 100 Gbps over 3 x 100 Gbps.
TEST(Faults, OneOfFourUplinksTakesAQuarterOfTheCrossTraffic) {
  ClusterSpec c = test::read_cluster(
                      "kind: cluster\nendpoints: 8\nrouting: spray\nhost_link: {speed: 100 Gbps, latency: 1 us}\n"
                      "fabric_link: {speed: 100 Gbps, latency: 1 us}\nfabric: {nodes_per_leaf: 4, spines: 4}\n")
                      .spec;
  const auto makespan = [](const ClusterSpec& cluster) {
    const Network net = build_network(cluster);
    const Router router = make_router(cluster, net, 0);
    FlowNetwork flow(link_capacities(net));
    std::vector<Route> routes(4);
    for (std::uint32_t h = 0; h < 4; ++h) {
      router.add(test::hop(h, h + 4), h, routes[h]);
      Router::finish(routes[h]);
      flow.start(Instant(), {.shares = routes[h].shares, .weight = router.weight(), .bytes = 12'500'000'000});
    }
    std::vector<Completion> done;
    flow.settle(Instant());
    Instant now;
    while (flow.in_flight() > 0) {
      now = flow.next_event();
      flow.advance(now, done);
      flow.settle(now);
    }
    return now.seconds();
  };
  EXPECT_NEAR(makespan(c), 1.0, 1e-9);
  EXPECT_NEAR(makespan(with(c, {link("leaf0>spine2")})), 4.0 / 3, 1e-9);
}

// A ring of four switches routes both ways round; without one cable the other way is left, however long.
TEST(Faults, AGraphFindsADetour) {
  const ClusterSpec c =
      test::read_cluster(
          "kind: cluster\nendpoints: 4\nhost_link: {speed: 100 Gbps, latency: 1 us}\n"
          "fabric_link: {speed: 100 Gbps, latency: 1 us}\nfabric: {torus: {dimensions: [4], nodes_per_switch: 1}}\n")
          .spec;
  const Network healthy = build_healthy_network(c);
  const std::string cable = test::path_names(healthy, test::hop(0, 1)).at(1);
  const Network net = broken(healthy, {link(cable)});
  EXPECT_EQ(test::path_names(net, test::hop(0, 1)).size(), 5u);  // three cables instead of one
  EXPECT_EQ(test::path_names(net, test::hop(1, 2)), test::path_names(healthy, test::hop(1, 2)));
  std::vector<LinkShare> out;
  EXPECT_EQ(net.append_path(test::hop(0, 1), 0, 1, out), Duration::micros(5));
}

TEST(Faults, WrongNamesGetAHint) {
  const auto messages = [](const std::string& fault) {
    return test::read_cluster(
               "kind: cluster\nendpoints: 8\nhost_link: {speed: 100 Gbps, latency: 1 us}\n"
               "fabric_link: {speed: 100 Gbps, latency: 1 us}\nfabric: {nodes_per_leaf: 4, spines: 2}\nfaults:\n- " +
               fault + "\n")
        .messages;
  };
  EXPECT_TRUE(messages("{link: \"leaf0>spine1\", rate: 50%}").empty());
  const auto expect = [&](const std::string& fault, const std::string& message) {
    const std::vector<std::string> got = messages(fault);
    ASSERT_EQ(got.size(), 1u) << fault;
    EXPECT_EQ(got.front(), "c.yaml:7:" + message);
  };
  expect("{link: \"leaf0>spin1\", state: failed}",
         "10: error: faults[0].link: nothing is called 'spin1' (did you mean 'spine1'?)");
  expect(
      "{link: \"leaf0>leaf1\", state: failed}",
      "10: error: faults[0].link: no link is called 'leaf0>leaf1' (like leaf0>host0, leaf0>host1, leaf0>host2, leaf0>host3)");
  expect("{switch: host1, state: failed}",
         "12: error: faults[0].switch: 'host1' is no switch (give nic, node or link for what is no switch)");
  expect("{node: 8, state: failed}", "10: error: faults[0].node: the cluster has no node 8 (nodes are 0 to 7)");
  expect("{node: 3}",
         "3: error: faults[0].state: nothing is wrong with it (state: failed, or what is left of its rate, like rate: 50 %)");
  expect("{switch: spine0, state: failed, from: 2 s, until: 1 s}",
         "53: error: faults[0].until: is no later than the fault begins (a later time)");
}

}  // namespace
}  // namespace lockstep
