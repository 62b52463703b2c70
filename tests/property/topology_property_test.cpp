// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "tests/property/random_network.h"
#include "topology/graph_analysis.h"
#include "topology/routing/router.h"

namespace lockstep {
namespace {

using test::assert_conserved;
using test::between;
using test::random_hop;
using test::random_network;

// Consecutive links join, the first leaves the source and the last reaches the destination, no link is used twice and no device
// met twice (but a PCIe switch, by a copy that goes up to host memory and comes down again); all paths of a pair are different
// and equally long.
RC_GTEST_PROP(TopologyProperty, EveryPathLeadsFromSourceToDestination, ()) {
  const Network net = random_network();
  const Hop h = random_hop(net);
  std::set<std::vector<LinkId>> distinct;
  const std::int64_t paths = net.path_count(h);
  RC_ASSERT(paths > 0);
  RC_ASSERT(net.max_path_count() % paths == 0);
  for (std::int64_t i = 0; i < paths; ++i) {
    const std::vector<LinkId> links = test::path_links(net, h, i);
    std::set<DeviceId> met{net.device_of(h.from)};
    std::set<LinkId> used;
    DeviceId at = net.device_of(h.from);
    for (const LinkId l : links) {
      RC_ASSERT(net.link(l).from == at);
      at = net.link(l).to;
      RC_ASSERT(used.insert(l).second);
      RC_ASSERT(met.insert(at).second || net.kind(at) == DeviceKind::kPcieSwitch);
    }
    RC_ASSERT(at == net.device_of(h.to));
    distinct.insert(links);
  }
  RC_ASSERT(distinct.size() == static_cast<std::size_t>(paths));
  RC_ASSERT(distinct.begin()->size() == distinct.rbegin()->size());
}

// A sprayed transfer is a flow in the graph: W leaves the source, W reaches the destination, and what enters any other device leaves it.
RC_GTEST_PROP(TopologyProperty, SprayIsConservedAtEveryDevice, ()) {
  const Network net = random_network();
  const Router router(net, RoutingPolicy::kSpray, 0);
  const Hop h = random_hop(net);
  Route route;
  router.add(h, 0, route);
  Router::finish(route);
  assert_conserved(net, h, route, router.weight());
}

// The same shares come from adding up all equal-cost paths, each with weight 1, times W / paths.
RC_GTEST_PROP(TopologyProperty, SprayIsTheSumOfItsPaths, ()) {
  const Network net = random_network();
  const Router spray(net, RoutingPolicy::kSpray, 0);
  const Router single(net, RoutingPolicy::kStatic, 0);
  const Hop h = random_hop(net);
  Route expected;
  for (std::int64_t i = 0; i < net.path_count(h); ++i) single.add_on_path(h, i, expected);
  Router::finish(expected);
  for (LinkShare& s : expected.shares) s.coefficient *= spray.weight() / net.path_count(h);
  Route route;
  spray.add(h, 0, route);
  Router::finish(route);
  RC_ASSERT(route.shares == expected.shares);
  RC_ASSERT(route.latency == expected.latency);
}

// The latency told with a path is the sum over its links.
RC_GTEST_PROP(TopologyProperty, LatencyIsThatOfTheLinks, ()) {
  const auto wire = [](int nanos) { return Wire::pure(Rate::gbps(100), Duration::nanos(nanos)); };
  const Network net = random_network({wire(between(0, 9)), wire(between(0, 9)), wire(between(0, 9))});
  const Hop h = random_hop(net);
  std::vector<LinkShare> shares;
  const Duration told = net.append_path(h, between(0, 1'000), 1, shares);
  Duration sum;
  for (const LinkShare& s : shares) sum += net.link(s.link).latency;
  RC_ASSERT(told == sum);
}

// Whatever the policy picks is one of the equal-cost paths.
RC_GTEST_PROP(TopologyProperty, EveryPolicyPicksAnEqualCostPath, ()) {
  const Network net = random_network();
  const auto policy = *rc::gen::element(RoutingPolicy::kEcmp, RoutingPolicy::kStatic);
  const Router router(net, policy, *rc::gen::arbitrary<std::uint64_t>());
  const Hop h = random_hop(net);
  Route route;
  router.add(h, *rc::gen::arbitrary<std::uint64_t>(), route);
  Router::finish(route);
  bool is_found = false;
  for (std::int64_t i = 0; i < net.path_count(h) && !is_found; ++i) {
    Route path;
    router.add_on_path(h, i, path);
    Router::finish(path);
    is_found = path.shares == route.shares;
  }
  RC_ASSERT(is_found);
}

// Bisection by max-flow against a closed form. Equal leaves of one pod: each side has half of them, and each of its leaves sends the
// lesser of its ports and its uplinks.
RC_GTEST_PROP(TopologyProperty, BisectionOfALeafSpineIsItsClosedForm, ()) {
  const int leaves = 2 * between(1, 6);
  const int hosts = between(1, 6);
  const int spines = between(1, 6);
  const int cables = between(1, 3);
  const Network net({.nodes = static_cast<std::uint32_t>(leaves * hosts),
                     .fabric = {.nodes_per_leaf = hosts,
                                .spines = spines,
                                .leaf_spine_cables = cables,
                                .host = test::kUnitWire,
                                .leaf_spine = test::kUnitWire}});
  const GraphReport r = analyze_graph(net);
  RC_ASSERT(r.is_connected);
  RC_ASSERT(*r.bisection_bps == std::int64_t{100'000'000'000} * (leaves / 2) * std::min(hosts, spines * cables));
  RC_ASSERT(*r.disjoint_paths == spines * cables);
}

// Units of r leaves, one pod: each half has half of the units, and each of their leaves sends the lesser of its ports (one of each node)
// and its uplinks. Every spine has r x cables to the first unit and as many to the last.
RC_GTEST_PROP(TopologyProperty, BisectionOfARailFabricIsItsClosedForm, ()) {
  const int units = 2 * between(1, 4);
  const int nodes = between(1, 6);
  const int rails = between(1, 5);
  const int spines = between(1, 6);
  const int cables = between(1, 3);
  const Wire fast = Wire::pure(Rate::gbps(1'000), Duration());
  const Network net =
      Network({.nodes = static_cast<std::uint32_t>(units * nodes),
               .server = NvSwitchServer({.gpus = 2, .nics = rails, .nvlink = fast, .gpu_pcie = fast, .nic_pcie = fast}),
               .fabric = {.nodes_per_leaf = nodes,
                          .wiring = Wiring::kRail,
                          .spines = spines,
                          .leaf_spine_cables = cables,
                          .host = test::kUnitWire,
                          .leaf_spine = test::kUnitWire}});
  const GraphReport r = analyze_graph(net);
  RC_ASSERT(r.is_connected);
  RC_ASSERT(*r.bisection_bps == std::int64_t{100'000'000'000} * (units / 2) * rails * std::min(nodes, spines * cables));
  RC_ASSERT(*r.disjoint_paths == rails * spines * cables);
}

// Full pods, an even number of them: each leaf sends the lesser of ports and uplinks, each pod the lesser of that and what its spines
// have upwards.
RC_GTEST_PROP(TopologyProperty, BisectionOfAFatTreeIsItsClosedForm, ()) {
  const int pods = 2 * between(1, 3);
  const int leaves = between(1, 4);
  const int hosts = between(1, 4);
  const int spines = between(1, 4);
  const int cores = between(1, 4);
  const int cables = between(1, 2);
  const Network net({.nodes = static_cast<std::uint32_t>(pods * leaves * hosts),
                     .fabric = {.nodes_per_leaf = hosts,
                                .leaves_per_pod = leaves,
                                .spines = spines,
                                .cores_per_spine = cores,
                                .spine_core_cables = cables,
                                .host = test::kUnitWire,
                                .leaf_spine = test::kUnitWire,
                                .spine_core = test::kUnitWire}});
  const int pod = std::min(leaves * std::min(hosts, spines), spines * std::min(leaves, cores * cables));
  RC_ASSERT(*analyze_graph(net).bisection_bps == std::int64_t{100'000'000'000} * (pods / 2) * pod);
}

}  // namespace
}  // namespace lockstep
