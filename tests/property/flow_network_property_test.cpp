// SPDX-License-Identifier: Apache-2.0
// Whole histories of transfers: every strategy of the solver, every order of calls within an instant, and a naive simulation that fills from
// nothing at every event must give the same completion ticks.
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "sim/network/flow_network.h"
#include "sim/network/max_min/reference_filling.h"
#include "tests/property/max_min_random.h"

namespace lockstep {
namespace {

using max_min::AuditScope;
using max_min::Strategy;

struct Call {
  std::int64_t at_ps = 0;
  std::vector<LinkShare> shares;  // empty: a change of capacity
  std::int64_t weight = 1;
  std::int64_t bytes = 0;
  std::int64_t latency_ps = 0;
  std::int64_t rate_cap = 0;
  std::size_t link = 0;
  std::int64_t capacity = 0;
};

struct History {
  std::vector<std::int64_t> capacities;
  std::vector<Call> calls;  // by time
};

History random_history() {
  History h;
  const auto links = *rc::gen::inRange<std::size_t>(1, 9);
  h.capacities = *rc::gen::container<std::vector<std::int64_t>>(links, test::any_capacity());
  const auto count = *rc::gen::inRange(1, 40);
  std::int64_t now = 0;
  for (int i = 0; i < count; ++i) {
    Call c;
    // Often at the same instant as the call before, so that batches form.
    if (*rc::gen::inRange(0, 3) == 0) now += *rc::gen::inRange<std::int64_t>(0, 2'000'000);
    c.at_ps = now;
    if (*rc::gen::inRange(0, 8) == 0) {
      c.link = *rc::gen::inRange<std::size_t>(0, links);
      c.capacity = *test::any_capacity();
      // A link changes at most once an instant: two changes of one link are ordered by nature.
      const auto is_same = [&c](const Call& o) { return o.at_ps == c.at_ps && o.shares.empty() && o.link == c.link; };
      if (std::any_of(h.calls.begin(), h.calls.end(), is_same)) continue;
    } else {
      c.shares = test::random_shares(links, 4);
      c.weight = *rc::gen::element<std::int64_t>(1, 1, 3, 4096);
      c.bytes = *rc::gen::weightedOneOf<std::int64_t>({{1, rc::gen::inRange<std::int64_t>(0, 2)},
                                                       {6, rc::gen::inRange<std::int64_t>(1, 200'000)},
                                                       {1, rc::gen::just<std::int64_t>(10'000'000'000'000)}});
      c.latency_ps = *rc::gen::element<std::int64_t>(0, 0, 1, 1000, 600'000);
      if (*rc::gen::inRange(0, 5) == 0) c.rate_cap = 1 + *test::any_capacity();
    }
    h.calls.push_back(c);
  }
  return h;
}

using Ends = std::map<std::uint64_t, std::int64_t>;

void apply(FlowNetwork& net, const Call& c, std::uint64_t token) {
  const Instant now = Instant::picos(c.at_ps);
  if (c.shares.empty()) {
    net.set_capacity(now, LinkId::from_index(c.link), Rate::units(c.capacity));
  } else {
    net.start(now, {.shares = c.shares,
                    .weight = c.weight,
                    .bytes = c.bytes,
                    .latency = Duration::picos(c.latency_ps),
                    .rate_cap = Rate::units(c.rate_cap),
                    .token = token});
  }
}

// `shuffle`: 0 calls in order, after advance(); otherwise the calls of an instant and advance() come in an order drawn from it.
Ends play(const History& h, FlowOptions options, std::uint64_t shuffle) {
  std::vector<Rate> rates;
  for (const std::int64_t c : h.capacities) rates.push_back(Rate::units(c));
  FlowNetwork net(rates, options);
  Ends ends;
  std::vector<Completion> out;
  std::size_t next = 0;
  for (std::uint64_t step = 0;; ++step) {
    const Instant call = next < h.calls.size() ? Instant::picos(h.calls[next].at_ps) : Instant::never();
    const Instant now = std::min(call, net.next_event());
    if (now.is_never()) return ends;
    constexpr std::size_t kAdvance = ~std::size_t{0};
    std::vector<std::size_t> order = {kAdvance};
    for (; next < h.calls.size() && h.calls[next].at_ps == now.picos(); ++next) order.push_back(next);
    for (std::size_t i = order.size() - 1; shuffle != 0 && i > 0; --i) {
      std::swap(order[i], order[random_below(i + 1, shuffle, RandomStream::kTieShuffle, step, static_cast<std::uint32_t>(i))]);
    }
    out.clear();
    for (const std::size_t i : order) {
      if (i == kAdvance) {
        net.advance(now, out);
      } else {
        apply(net, h.calls[i], i);
      }
    }
    for (const Completion& c : out) ends[c.token] = now.picos();
    net.settle(now);
  }
}

// No groups, no clocks, no re-solve: at every event all levels from nothing, and every transfer counts its own moved amount.
Ends naive(const History& h) {
  struct Moving {
    std::uint64_t token;
    std::vector<LinkShare> shares;
    std::int64_t weight;
    Int128 left;  // rate units x picoseconds; at least 1, so that nothing still takes a picosecond and a rate
  };
  std::vector<std::int64_t> capacities = h.capacities;
  std::vector<Moving> moving;
  std::multimap<std::int64_t, std::uint64_t> in_latency;
  Ends ends;
  std::size_t next = 0;
  std::int64_t now = 0;
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  while (true) {
    std::vector<std::vector<LinkShare>> shares;
    for (const Moving& m : moving) shares.push_back(m.shares);
    const std::vector<std::int64_t> levels = max_min::reference_filling(capacities, shares);
    std::int64_t then = next < h.calls.size() ? h.calls[next].at_ps : kNever;
    if (!in_latency.empty()) then = std::min(then, in_latency.begin()->first);
    for (std::size_t i = 0; i < moving.size(); ++i) {
      const Int128 rate = static_cast<Int128>(levels[i]) * moving[i].weight;
      if (rate == 0) continue;
      const Int128 end = now + ceil_div(moving[i].left, rate);
      if (end < then) then = static_cast<std::int64_t>(end);
    }
    if (then == kNever) return ends;
    std::vector<Moving> still;
    for (std::size_t i = 0; i < moving.size(); ++i) {
      Moving& m = moving[i];
      m.left -= static_cast<Int128>(levels[i]) * m.weight * (then - now);
      if (m.left <= 0) {
        ends[m.token] = then;
      } else {
        still.push_back(m);
      }
    }
    moving.swap(still);
    now = then;
    for (; next < h.calls.size() && h.calls[next].at_ps == now; ++next) {
      if (h.calls[next].shares.empty()) {
        capacities[h.calls[next].link] = h.calls[next].capacity;
      } else {
        in_latency.emplace(now + h.calls[next].latency_ps, next);
      }
    }
    for (; !in_latency.empty() && in_latency.begin()->first == now; in_latency.erase(in_latency.begin())) {
      const Call& c = h.calls[in_latency.begin()->second];
      const Int128 work = static_cast<Int128>(c.bytes) * 65'536 * kPicosPerSecond;
      Moving m{in_latency.begin()->second, c.shares, c.weight, std::max<Int128>(1, work)};
      if (c.rate_cap > 0) {
        m.shares.push_back({LinkId::from_index(capacities.size()), c.weight});
        capacities.push_back(c.rate_cap);
      }
      moving.push_back(std::move(m));
    }
  }
}

TEST(FlowNetworkProperty, CompletionTicksEqualThoseOfANaiveSimulation) {
  test::check_property(1500, [] {
    const History h = random_history();
    RC_ASSERT(play(h, {.audit = AuditScope::kEverything}, 0) == naive(h));
  });
}

TEST(FlowNetworkProperty, NeitherStrategyNorOrderOfCallsChangesATick) {
  test::check_property(1000, [] {
    const History h = random_history();
    const Ends truth = play(h, {.strategy = Strategy::kAuto, .audit = AuditScope::kEverything}, 0);
    RC_ASSERT(play(h, {.strategy = Strategy::kLocal, .audit = AuditScope::kEverything}, 0) == truth);
    RC_ASSERT(play(h, {.strategy = Strategy::kGlobal, .audit = AuditScope::kEverything}, 0) == truth);
    for (std::uint64_t shuffle = 1; shuffle <= 3; ++shuffle) {
      RC_ASSERT(play(h, {.audit = AuditScope::kEverything}, shuffle) == truth);
    }
  });
}

}  // namespace
}  // namespace lockstep
