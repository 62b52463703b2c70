// SPDX-License-Identifier: Apache-2.0
// One link for each bundle of links that are always loaded alike: nothing that a network model says may depend on it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "sim/network/analytic_network.h"
#include "sim/network/flow_network.h"
#include "sim/network/link_capacities.h"
#include "tests/property/max_min_random.h"
#include "tests/property/random_network.h"

namespace lockstep {
namespace {

// A transfer over one or several hops, as a message or a ring has them.
struct Transfer {
  std::vector<Hop> hops;
  std::int64_t bytes = 0;
  std::int64_t at_ps = 0;
};

std::vector<Transfer> random_transfers(const Network& net) {
  std::vector<Transfer> transfers;
  std::int64_t now = 0;
  for (int i = test::between(1, 25); i > 0; --i) {
    if (test::between(0, 1) == 1) now += *rc::gen::inRange<std::int64_t>(0, 20'000'000);
    Transfer& t = transfers.emplace_back();
    for (int hops = *rc::gen::element(1, 1, 2, 5); hops > 0; --hops) t.hops.push_back(test::random_hop(net));
    t.bytes = *rc::gen::inRange<std::int64_t>(0, 200'000);
    t.at_ps = now;
  }
  return transfers;
}

struct Outcome {
  std::map<std::uint64_t, std::int64_t> ends;  // ticks by token
  std::vector<std::int64_t> bytes;             // by link
  std::vector<double> busy_s;
  bool operator==(const Outcome&) const = default;
};

Outcome play(const Router& router, const std::vector<Transfer>& transfers, NetworkModel& model) {
  std::vector<Route> routes(transfers.size());
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    for (const Hop& h : transfers[i].hops) router.add(h, i, routes[i]);
    Router::finish(routes[i]);
  }
  Outcome outcome;
  std::vector<Completion> done;
  Instant now;
  std::size_t next = 0;
  while (true) {
    const Instant call = next < transfers.size() ? Instant::picos(transfers[next].at_ps) : Instant::never();
    if (std::min(call, model.next_event()).is_never()) break;
    now = std::min(call, model.next_event());
    done.clear();
    model.advance(now, done);
    for (const Completion& c : done) outcome.ends[c.token] = now.picos();
    for (; next < transfers.size() && transfers[next].at_ps == now.picos(); ++next) {
      model.start(now, {.shares = routes[next].shares,
                        .weight = router.weight(),
                        .bytes = transfers[next].bytes,
                        .latency = routes[next].latency,
                        .token = next});
    }
    model.settle(now);
  }
  model.finish(now);
  for (std::size_t l = 0; l < router.network().link_count(); ++l) {
    const LinkUsage usage = model.usage(router.representative(LinkId::from_index(l)), now);
    outcome.bytes.push_back(usage.bytes);
    outcome.busy_s.push_back(usage.busy_s);
  }
  return outcome;
}

Wire random_wire() {
  return Wire::pure(Rate::gbps(*rc::gen::element<std::int64_t>(7, 25, 100, 400)), Duration::nanos(test::between(0, 1'000)));
}

// Links of a bundle have one capacity and, as long as everything is sprayed, one load: their levels are equal, so leaving out all but one
// of them leaves the lowest level on every path what it was. Ends and usage must be equal to the last bit.
TEST(BundlingProperty, OneLinkOfABundleSpeaksForAll) {
  test::check_property(400, [] {
    const Network net = test::random_network({random_wire(), random_wire(), random_wire()});
    const std::vector<Transfer> transfers = random_transfers(net);
    const auto policy = *rc::gen::element(RoutingPolicy::kSpray, RoutingPolicy::kAdaptive);
    const Router every(net, policy, 0);
    const Router bundled(net, policy, 0, Bundling::kOn);
    FlowNetwork flow_every(link_capacities(net), {.audit = max_min::AuditScope::kEverything});
    FlowNetwork flow_bundled(link_capacities(net), {.audit = max_min::AuditScope::kEverything});
    RC_ASSERT(play(every, transfers, flow_every) == play(bundled, transfers, flow_bundled));
    AnalyticNetwork analytic_every(link_capacities(net));
    AnalyticNetwork analytic_bundled(link_capacities(net));
    RC_ASSERT(play(every, transfers, analytic_every) == play(bundled, transfers, analytic_bundled));
  });
}

// The shares of the bundled route are those of the whole one on the links that stand for themselves, and all links are stood for.
TEST(BundlingProperty, BundledSharesAreThoseOfTheFirstLinks) {
  test::check_property(400, [] {
    const Network net = test::random_network();
    const auto policy = *rc::gen::element(RoutingPolicy::kSpray, RoutingPolicy::kAdaptive);
    const Router every(net, policy, 0);
    const Router bundled(net, policy, 0, Bundling::kOn);
    const Hop h = test::random_hop(net);
    Route whole;
    every.add(h, 0, whole);
    Router::finish(whole);
    std::vector<LinkShare> firsts;
    for (const LinkShare& s : whole.shares) {
      const LinkId first = bundled.representative(s.link);
      const auto of = [&](LinkId l) {
        return std::find_if(whole.shares.begin(), whole.shares.end(), [l](const LinkShare& x) { return x.link == l; });
      };
      RC_ASSERT(of(first) != whole.shares.end());
      RC_ASSERT(of(first)->coefficient == s.coefficient);
      RC_ASSERT(net.link(first).capacity == net.link(s.link).capacity);
      if (first == s.link) firsts.push_back(s);
    }
    Route few;
    bundled.add(h, 0, few);
    Router::finish(few);
    RC_ASSERT(few.shares == firsts);
    RC_ASSERT(few.shares.size() <= 16u);
    RC_ASSERT(few.latency == whole.latency);
    RC_ASSERT(bundled.weight() == every.weight());
  });
}

}  // namespace
}  // namespace lockstep
