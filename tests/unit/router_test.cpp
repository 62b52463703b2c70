// SPDX-License-Identifier: Apache-2.0
#include "topology/routing/router.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "tests/support/topology_fixtures.h"

namespace lockstep {
namespace {

using test::hop;
using test::leaf_spine;
using test::three_tiers;

std::map<LinkTier, std::int64_t> share_by_tier(const Network& net, const Route& route) {
  std::map<LinkTier, std::int64_t> sum;
  for (const LinkShare& s : route.shares) sum[net.link(s.link).tier] += s.coefficient;
  return sum;
}

Route route_of(const Router& router, const Hop& h, std::uint64_t key = 0) {
  Route r;
  router.add(h, key, r);
  Router::finish(r);
  return r;
}

// 4 spines: W = 4; 4 on each of the two host links, 1 on each of 4 links up and 4 links down.
TEST(Router, SprayPutsAnEvenIntegerShareOnEverySpine) {
  const Network net = leaf_spine(4);
  const Router router(net, RoutingPolicy::kSpray, 0);
  EXPECT_EQ(router.weight(), 4);
  const Route r = route_of(router, hop(0, 4));
  EXPECT_EQ(r.shares.size(), 2u + 8);
  EXPECT_EQ(share_by_tier(net, r), (std::map<LinkTier, std::int64_t>{{LinkTier::kHost, 8}, {LinkTier::kLeafSpine, 8}}));
  EXPECT_EQ(r.latency, Duration::micros(4));
}

// Every tier carries the whole transfer up and again down: 2 W, W = 3 x 5 x 2 x 3 = 90.
TEST(Router, SprayConservesTheTransferOnEveryTier) {
  const Network net = three_tiers(2, 3);
  const Router router(net, RoutingPolicy::kSpray, 0);
  EXPECT_EQ(router.weight(), 90);
  EXPECT_EQ(
      share_by_tier(net, route_of(router, hop(0, 11))),
      (std::map<LinkTier, std::int64_t>{{LinkTier::kHost, 180}, {LinkTier::kLeafSpine, 180}, {LinkTier::kSpineCore, 180}}));
  // Within a pod: 6 paths, 15 units on each cable.
  for (const LinkShare& s : route_of(router, hop(0, 2)).shares) {
    EXPECT_EQ(s.coefficient, net.link(s.link).tier == LinkTier::kHost ? 90 : 15);
  }
}

// The shares computed per tier are those of adding up all paths one by one.
TEST(Router, SprayEqualsTheSumOfItsPaths) {
  const Network net = three_tiers(2, 3);
  const Router spray(net, RoutingPolicy::kSpray, 0);
  const Router single(net, RoutingPolicy::kStatic, 0);
  Route sum;
  for (int i = 0; i < 90; ++i) single.add_on_path(hop(0, 11), i, sum);
  Router::finish(sum);
  EXPECT_EQ(route_of(spray, hop(0, 11)).shares, sum.shares);
}

// 3 spines x 2 cables up from a leaf, 3 x 5 x 3 up from a pod, W = 90: the first of the 6 stands for them with 90/6, the first of the 45
// with 90/45, once up and once down.
TEST(Router, OneLinkStandsForABundle) {
  const Network net = three_tiers(2, 3);
  const Router router(net, RoutingPolicy::kSpray, 0, Bundling::kOn);
  EXPECT_EQ(router.weight(), 90);
  std::map<std::string, std::int64_t> shares;
  for (const LinkShare& s : route_of(router, hop(0, 11)).shares) shares[net.name(s.link)] = s.coefficient;
  EXPECT_EQ(shares, (std::map<std::string, std::int64_t>{{"host0>pod0.leaf0", 90},
                                                         {"pod0.leaf0>pod0.spine0#0", 15},
                                                         {"pod0.spine0>core0#0", 2},
                                                         {"core0>pod2.spine0#0", 2},
                                                         {"pod2.spine0>pod2.leaf1#0", 15},
                                                         {"pod2.leaf1>host11", 90}}));
}

// Leaf and pod, direction by direction; host links and an unbundled router's links speak for themselves.
TEST(Router, TheFirstLinkOfALeafOrPodIsTheRepresentative) {
  const Network net = three_tiers(2, 3);
  const Router router(net, RoutingPolicy::kSpray, 0, Bundling::kOn);
  const Router plain(net, RoutingPolicy::kSpray, 0);
  const Router ecmp(net, RoutingPolicy::kEcmp, 0, Bundling::kOn);
  std::map<std::string, std::string> of;
  for (std::size_t l = 0; l < net.link_count(); ++l) {
    const LinkId link = LinkId::from_index(l);
    of[net.name(link)] = net.name(router.representative(link));
    EXPECT_EQ(plain.representative(link), link);
    EXPECT_EQ(ecmp.representative(link), link);
  }
  EXPECT_EQ(of["host3>pod0.leaf1"], "host3>pod0.leaf1");
  EXPECT_EQ(of["pod0.leaf1>pod0.spine2#1"], "pod0.leaf1>pod0.spine0#0");
  EXPECT_EQ(of["pod0.spine2>pod0.leaf1#1"], "pod0.spine0>pod0.leaf1#0");
  EXPECT_EQ(of["pod1.spine2>core14#2"], "pod1.spine0>core0#0");
  EXPECT_EQ(of["core7>pod1.spine1#0"], "core0>pod1.spine0#0");
}

// A fixed path loads one link of a bundle more than the others.
TEST(Router, BundlesTakeNoFixedPaths) {
  const Network net = leaf_spine(4);
  Route r;
  EXPECT_THROW(Router(net, RoutingPolicy::kSpray, 0, Bundling::kOn).add_on_path(hop(0, 4), 1, r), InternalError);
}

// 12,000 keys on 4 paths: 3,000 each expected; sigma = sqrt(12000 x 1/4 x 3/4) = 47, so 5 sigma = 237.
TEST(Router, EcmpSpreadsFlowKeysEvenly) {
  const Network net = leaf_spine(4);
  const Router router(net, RoutingPolicy::kEcmp, 7);
  EXPECT_EQ(router.weight(), 1);
  std::map<LinkId, int> load;
  for (std::uint64_t key = 0; key < 12'000; ++key) {
    for (const LinkShare& s : route_of(router, hop(0, 4), key).shares) {
      if (net.kind(net.link(s.link).to) == DeviceKind::kSpine) ++load[s.link];
    }
  }
  EXPECT_EQ(load.size(), 4u);
  for (const auto& [link, n] : load) EXPECT_NEAR(n, 3'000, 237) << net.name(link);
}

TEST(Router, EcmpDependsOnSeedAndKeyAndNothingElse) {
  const Network net = leaf_spine(16);
  const Router a(net, RoutingPolicy::kEcmp, 1);
  const Router same(net, RoutingPolicy::kEcmp, 1);
  const Router other(net, RoutingPolicy::kEcmp, 2);
  int differ = 0;
  for (std::uint64_t key = 0; key < 100; ++key) {
    EXPECT_EQ(route_of(a, hop(0, 4), key).shares, route_of(same, hop(0, 4), key).shares);
    differ += route_of(a, hop(0, 4), key).shares != route_of(other, hop(0, 4), key).shares ? 1 : 0;
  }
  EXPECT_GT(differ, 80);  // 15/16 of 100 expected
}

// The path chosen is part of results: a change of the hash must be seen.
TEST(Router, EcmpChoicesArePinned) {
  const Network net = leaf_spine(16);
  const Router router(net, RoutingPolicy::kEcmp, 1);
  std::vector<std::uint32_t> spines;
  for (std::uint64_t key = 0; key < 6; ++key) {
    for (const LinkShare& s : route_of(router, hop(0, 4), key).shares) {
      const DeviceId to = net.link(s.link).to;
      if (net.kind(to) == DeviceKind::kSpine) spines.push_back(to.value() - test::clos(net).spine(0).value());
    }
  }
  EXPECT_EQ(spines, (std::vector<std::uint32_t>{0, 15, 0, 9, 15, 4}));
}

// Each of N queue pairs carries 1 of W = N, the first over the path that the connection would take alone. What meets on a link adds up, and
// host links carry all of it: 3 + 3, and 3 up and 3 down over spines.
TEST(Router, QueuePairsSplitAConnectionEvenly) {
  const Network net = leaf_spine(16);
  const Router one(net, RoutingPolicy::kEcmp, 1);
  const Router three(net, Routing{.policy = RoutingPolicy::kEcmp, .queue_pairs = 3}, 1);
  EXPECT_EQ(three.weight(), 3);
  std::map<std::size_t, int> by_paths;
  for (std::uint64_t key = 0; key < 200; ++key) {
    const Route r = route_of(three, hop(0, 4), key);
    EXPECT_EQ(share_by_tier(net, r), (std::map<LinkTier, std::int64_t>{{LinkTier::kHost, 6}, {LinkTier::kLeafSpine, 6}}));
    for (const LinkShare& s : route_of(one, hop(0, 4), key).shares) {
      EXPECT_TRUE(std::any_of(r.shares.begin(), r.shares.end(), [&](const LinkShare& t) { return t.link == s.link; }));
    }
    ++by_paths[(r.shares.size() - 2) / 2];
  }
  // All three differ with probability 15/16 x 14/16 = 0.820: 164 of 200, sigma = sqrt(200 x 0.820 x 0.180) = 5.4.
  EXPECT_NEAR(by_paths[3], 164, 5 * 5.4);
  EXPECT_GT(by_paths[2], 0);
}

// Static paths do not depend on the queue pair, nor is there anything to choose under one leaf.
TEST(Router, QueuePairsWithoutAChoiceStayTogether) {
  const Network net = leaf_spine(4);
  EXPECT_EQ(Router(net, Routing{.policy = RoutingPolicy::kStatic, .queue_pairs = 3}, 0).weight(), 1);
  const Router three(net, Routing{.policy = RoutingPolicy::kEcmp, .queue_pairs = 3}, 0);
  for (const LinkShare& s : route_of(three, hop(0, 1)).shares) EXPECT_EQ(s.coefficient, 3);
}

// P = 4 spines, share 3/4, 2 queue pairs: W = 4 lcm(4, 2) = 16, of which 12 are spread, 3 on each of 8 trunks, and 2 go with each queue pair.
TEST(Router, FlowletsAreSpreadAndTheRestIsHashed) {
  const Network net = leaf_spine(4);
  const Routing routing{.policy = RoutingPolicy::kFlowlet, .queue_pairs = 2, .flowlet_percent = 75};
  const Router router(net, routing, 5, Bundling::kOn);
  const Router ecmp(net, Routing{.policy = RoutingPolicy::kEcmp, .queue_pairs = 2}, 5);
  EXPECT_EQ(router.weight(), 16);
  for (std::uint64_t key = 0; key < 20; ++key) {
    std::map<LinkId, std::int64_t> expected;
    for (const LinkShare& s : route_of(ecmp, hop(0, 4), key).shares) expected[s.link] = 2 * s.coefficient;
    for (const LinkShare& s : route_of(Router(net, RoutingPolicy::kSpray, 0), hop(0, 4)).shares) {
      expected[s.link] += 3 * s.coefficient;
    }
    std::map<LinkId, std::int64_t> shares;
    for (const LinkShare& s : route_of(router, hop(0, 4), key).shares)
      EXPECT_TRUE(shares.emplace(s.link, s.coefficient).second);
    EXPECT_EQ(shares, expected);
  }
}

// Nothing in flowlets is ECMP, everything is spray, up to the scale: every coefficient over the weight is the same.
TEST(Router, FlowletsReachFromEcmpToSpray) {
  const Network net = three_tiers(2, 3);
  const auto expect_same = [&](int percent, RoutingPolicy policy) {
    const Router router(net, Routing{.policy = RoutingPolicy::kFlowlet, .flowlet_percent = percent}, 3);
    const Router other(net, policy, 3);
    const std::vector<LinkShare> a = route_of(router, hop(0, 11), 8).shares;
    const std::vector<LinkShare> b = route_of(other, hop(0, 11), 8).shares;
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].link, b[i].link);
      EXPECT_EQ(a[i].coefficient * other.weight(), b[i].coefficient * router.weight());
    }
  };
  expect_same(0, RoutingPolicy::kEcmp);
  expect_same(100, RoutingPolicy::kSpray);
}

// P = 4: W = 19 x 4 = 76, all of it on host links and 76/4 x 20/19 = 20 on each trunk. One spine has no alternative: 19 on all links.
TEST(Router, AdaptiveIsSprayWithIdlePorts) {
  const Network net = leaf_spine(4);
  for (const Bundling bundling : {Bundling::kOff, Bundling::kOn}) {
    const Router router(net, RoutingPolicy::kAdaptive, 0, bundling);
    EXPECT_EQ(router.weight(), 76);
    for (const LinkShare& s : route_of(router, hop(0, 4)).shares) {
      EXPECT_EQ(s.coefficient, net.link(s.link).tier == LinkTier::kHost ? 76 : 20);
    }
  }
  const Network one = leaf_spine(1);
  for (const LinkShare& s : route_of(Router(one, RoutingPolicy::kAdaptive, 0), hop(0, 4)).shares) EXPECT_EQ(s.coefficient, 19);
}

// source + destination = 1 + 6 = 7, modulo 4 spines: spine 3.
TEST(Router, StaticTakesTheSumOfTheEnds) {
  const Network net = leaf_spine(4);
  const Router router(net, RoutingPolicy::kStatic, 0);
  Route expected;
  router.add_on_path(hop(1, 6), 3, expected);
  Router::finish(expected);
  EXPECT_EQ(route_of(router, hop(1, 6), 99).shares, expected.shares);
}

// Two transfers over one host link: 1 + 1 on it, 1 on what only one of them uses.
TEST(Router, FinishAddsUpSharedLinks) {
  const Network net = leaf_spine(4);
  const Router router(net, RoutingPolicy::kStatic, 0);
  Route r;
  router.add_on_path(hop(0, 4), 0, r);
  router.add_on_path(hop(0, 8), 1, r);
  Router::finish(r);
  EXPECT_EQ(r.shares.size(), 7u);
  EXPECT_TRUE(std::is_sorted(r.shares.begin(), r.shares.end()));
  EXPECT_EQ(std::count_if(r.shares.begin(), r.shares.end(), [](const LinkShare& s) { return s.coefficient == 2; }), 1);
}

// {1: 2, 3: 4, 5: 1} + {0: 1, 3: 6, 7: 1}.
TEST(Router, SumMergesFinishedRoutes) {
  const Route a{.shares = {{LinkId(1), 2}, {LinkId(3), 4}, {LinkId(5), 1}}, .latency = Duration::picos(3)};
  const Route b{.shares = {{LinkId(0), 1}, {LinkId(3), 6}, {LinkId(7), 1}}, .latency = Duration::picos(5)};
  const std::vector<LinkShare> sum = {{LinkId(0), 1}, {LinkId(1), 2}, {LinkId(3), 10}, {LinkId(5), 1}, {LinkId(7), 1}};
  EXPECT_EQ(Router::sum(a, b).shares, sum);
  EXPECT_EQ(Router::sum(b, a).shares, sum);
  EXPECT_EQ(Router::sum(a, b).latency, Duration::picos(5));
  EXPECT_EQ(Router::sum(a, Route{}).shares, a.shares);
  EXPECT_EQ(Router::sum(Route{}, b).shares, b.shares);
}

// 3000 shares on 100 links are counted by link, the same shares with one far away are sorted: the sums are equal. Link l of 7i mod 100
// gets every 100th of the coefficients 1, 2, ... 3000.
TEST(Router, FinishAddsUpManySharesAndFew) {
  Route dense;
  for (std::uint32_t i = 0; i < 3000; ++i) dense.shares.push_back({LinkId(50 + 7 * i % 100), 1 + i});
  Route sparse = dense;
  sparse.shares.push_back({LinkId(1'000'000), 5});
  Router::finish(dense);
  Router::finish(sparse);
  ASSERT_EQ(dense.shares.size(), 100u);
  EXPECT_EQ(dense.shares[0], (LinkShare{LinkId(50), 30 * 1 + 100 * (29 * 30 / 2)}));
  EXPECT_EQ(sparse.shares.back(), (LinkShare{LinkId(1'000'000), 5}));
  sparse.shares.pop_back();
  EXPECT_EQ(dense.shares, sparse.shares);
}

}  // namespace
}  // namespace lockstep
