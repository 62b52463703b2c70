// SPDX-License-Identifier: Apache-2.0
// Transfers on one or two links with their arithmetic. A rate of 1 byte per picosecond is 65536 x 10^12 units.
#include "sim/network/flow_network.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/network_fixtures.h"

namespace lockstep {
namespace {

using test::at;
using test::kBytePerPico;
using test::kLink0;
using test::run;

const std::vector<LinkShare> kLink1 = {{LinkId(1), 1}};
const std::vector<LinkShare> kBoth = {{LinkId(0), 1}, {LinkId(1), 1}};

void start(NetworkModel& net, Instant now, const std::vector<LinkShare>& shares, std::int64_t bytes, std::uint64_t token,
           Duration latency = {}) {
  net.start(now, {.shares = shares, .bytes = bytes, .latency = latency, .token = token});
}

// 1000 bytes at 1 byte/ps after 250 ps of latency -> 1250 ps.
TEST(FlowNetwork, EndsAfterLatencyPlusTransfer) {
  FlowNetwork net(std::vector<Rate>{kBytePerPico});
  start(net, at(0), kLink0, 1000, 1, Duration::picos(250));
  net.settle(at(0));
  EXPECT_EQ(net.next_event(), at(250));
  EXPECT_EQ(run(net).at(1), 1250);
  EXPECT_EQ(net.usage(LinkId(0), at(1250)).bytes, 1000);
  EXPECT_DOUBLE_EQ(net.usage(LinkId(0), at(1250)).busy_s, 1000e-12);
}

// Two flows of 1000 and 3000 bytes share 1 byte/ps: at 2000 ps the short one ends; the long one has 2000 left: 4000 ps.
TEST(FlowNetwork, SharesALinkAndSpeedsUpWhenOneEnds) {
  FlowNetwork net(std::vector<Rate>{kBytePerPico});
  start(net, at(0), kLink0, 1000, 1);
  start(net, at(0), kLink0, 3000, 2);
  net.settle(at(0));
  const auto ends = run(net);
  EXPECT_EQ(ends.at(1), 2000);
  EXPECT_EQ(ends.at(2), 4000);
}

// A flow consumes nothing while it is in its latency: the other has the whole link until 500 ps (500 of its 1000 bytes), then half: 500
// more bytes take 1000 ps.
TEST(FlowNetwork, ConsumesNothingDuringLatency) {
  FlowNetwork net(std::vector<Rate>{kBytePerPico});
  start(net, at(0), kLink0, 1000, 1);
  start(net, at(0), kLink0, 5000, 2, Duration::picos(500));
  net.settle(at(0));
  EXPECT_EQ(run(net).at(1), 1500);
}

// 10 bytes at 3 bytes per 1000 ps: 3333.33 ps rounds up to 3334.
TEST(FlowNetwork, RoundsCompletionsUpToAWholePicosecond) {
  FlowNetwork net(std::vector<Rate>{Rate::units(kBytePerPico.units() / 1000 * 3)});
  start(net, at(0), kLink0, 10, 1);
  net.settle(at(0));
  EXPECT_EQ(run(net).at(1), 3334);
}

TEST(FlowNetwork, TakesAtLeastOnePicosecondEvenForNothing) {
  FlowNetwork net(std::vector<Rate>{kBytePerPico});
  start(net, at(0), kLink0, 0, 1);
  start(net, at(0), kLink0, 0, 2, Duration::picos(7));
  net.start(at(0), {.bytes = 5, .token = 3});  // no links: no bandwidth to wait for
  net.settle(at(0));
  const auto ends = run(net);
  EXPECT_EQ(ends.at(1), 1);
  EXPECT_EQ(ends.at(2), 8);
  EXPECT_EQ(ends.at(3), 1);
}

// 10 TB at 100 Gbit/s: 800 s exactly.
TEST(FlowNetwork, MovesTenTerabytesExactly) {
  FlowNetwork net(std::vector<Rate>{Rate::gbps(100)});
  start(net, at(0), kLink0, 10'000'000'000'000, 1);
  net.settle(at(0));
  EXPECT_EQ(run(net).at(1), 800 * kPicosPerSecond);
}

// 1 byte at 1 unit (2^-16 byte/s) takes 65536 s. 2^63 - 1 bytes would take longer than time lasts: never, and nobody throws.
TEST(FlowNetwork, KnowsTheSlowestRateAndTheEndOfTime) {
  FlowNetwork net(std::vector<Rate>{Rate::units(1), Rate::units(1)});
  start(net, at(0), kLink0, 1, 1);
  start(net, at(0), kLink1, std::numeric_limits<std::int64_t>::max(), 2);
  net.settle(at(0));
  EXPECT_EQ(net.next_event(), at(65'536 * kPicosPerSecond));
  std::vector<Completion> out;
  net.advance(net.next_event(), out);
  net.settle(at(65'536 * kPicosPerSecond));
  EXPECT_TRUE(net.next_event().is_never());
  EXPECT_EQ(net.in_flight(), 1);
  EXPECT_THROW(net.finish(at(65'536 * kPicosPerSecond)), SimulationError);
}

// A ring of 3 with weight 2 whose members put 2 + 2 on link 0: level = 1 byte/ps / 4; a member moves at 2 x level = half a byte/ps.
// 100 bytes -> 200 ps; link 0 carries 4 / 2 x 100 bytes, 3 members x 100 are delivered.
TEST(FlowNetwork, CoupledMembersCountByCoefficient) {
  FlowNetwork net(std::vector<Rate>{kBytePerPico, kBytePerPico});
  const std::vector<LinkShare> shares = {{LinkId(0), 4}, {LinkId(1), 2}};
  net.start(at(0), {.shares = shares, .weight = 2, .bytes = 100, .members = 3, .token = 9});
  net.settle(at(0));
  EXPECT_EQ(net.load(LinkId(0)), kBytePerPico);
  std::vector<Completion> out;
  EXPECT_EQ(net.next_event(), at(200));
  net.advance(at(200), out);
  net.settle(at(200));
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].bytes, 300);
  EXPECT_EQ(net.usage(LinkId(0), at(200)).bytes, 200);
  EXPECT_EQ(net.usage(LinkId(1), at(200)).bytes, 100);
  EXPECT_DOUBLE_EQ(net.usage(LinkId(1), at(200)).busy_s, 100e-12);
}

// A cap of a quarter byte/ps on a free link: 100 bytes take 400 ps.
TEST(FlowNetwork, RespectsARateCap) {
  FlowNetwork net(std::vector<Rate>{kBytePerPico});
  net.start(at(0), {.shares = kLink0, .bytes = 100, .rate_cap = Rate::units(kBytePerPico.units() / 4), .token = 1});
  net.settle(at(0));
  EXPECT_EQ(run(net).at(1), 400);
}

// The link dies at 400 ps and comes back at half the rate at 1000 ps: 400 bytes, nothing, then 600 bytes in 1200 ps.
TEST(FlowNetwork, FollowsCapacityChanges) {
  FlowNetwork net(std::vector<Rate>{kBytePerPico});
  std::vector<Completion> out;
  start(net, at(0), kLink0, 1000, 1);
  net.settle(at(0));
  net.advance(at(400), out);
  net.set_capacity(at(400), LinkId(0), Rate::units(0));
  net.settle(at(400));
  EXPECT_TRUE(net.next_event().is_never());
  EXPECT_NE(net.describe_pending().find("stopped by link 0"), std::string::npos) << net.describe_pending();
  net.advance(at(1000), out);
  net.set_capacity(at(1000), LinkId(0), Rate::units(kBytePerPico.units() / 2));
  net.settle(at(1000));
  EXPECT_EQ(run(net).at(1), 2200);
  EXPECT_EQ(net.usage(LinkId(0), at(2200)).bytes, 1000);
  EXPECT_DOUBLE_EQ(net.usage(LinkId(0), at(2200)).busy_s, 1600e-12);  // 400 ps and 1200 ps of full use
}

// One that is due at the instant of a change ends there, and the change works on the rest, whatever is called first.
TEST(FlowNetwork, TheOrderOfCallsWithinAnInstantDoesNotMatter) {
  const auto play = [](bool capacity_first) {
    FlowNetwork net(std::vector<Rate>{kBytePerPico, kBytePerPico});
    std::vector<Completion> out;
    start(net, at(0), kLink0, 500, 1);  // alone with half of link 0: ends at 1000
    start(net, at(0), kBoth, 2000, 2);
    net.settle(at(0));
    if (capacity_first) {
      start(net, at(1000), kLink1, 900, 3);
      net.set_capacity(at(1000), LinkId(1), Rate::units(kBytePerPico.units() / 2));
      net.advance(at(1000), out);
    } else {
      net.advance(at(1000), out);
      net.set_capacity(at(1000), LinkId(1), Rate::units(kBytePerPico.units() / 2));
      start(net, at(1000), kLink1, 900, 3);
    }
    net.settle(at(1000));
    EXPECT_EQ(out.size(), 1u);
    return run(net);
  };
  const auto ends = play(true);
  EXPECT_EQ(ends, play(false));
  EXPECT_EQ(ends.at(3), 1000 + 3600);  // a quarter byte/ps each until 3 ends: 900 bytes
  EXPECT_EQ(ends.at(2), 4600 + 1200);  // 2000 - 500 - 900 = 600 bytes at half a byte/ps
}

TEST(FlowNetwork, RefusesToPassAnEventOver) {
  FlowNetwork net(std::vector<Rate>{kBytePerPico});
  std::vector<Completion> out;
  start(net, at(0), kLink0, 1000, 1);
  net.settle(at(0));
  EXPECT_THROW(net.advance(at(1001), out), InternalError);
}

// The range ends at 2^63 - 1 ps. Started 10 ps before it, a latency of 250 ps ends beyond: that never happens, which is no fault of
// the network; and what can happen, at the last picosecond but one, does.
TEST(FlowNetwork, WhatWouldBeginBeyondTheRangeOfTimeNeverDoes) {
  const Instant late = at(Instant::never().picos() - 10);
  FlowNetwork net(std::vector<Rate>{kBytePerPico});
  start(net, late, kLink0, 1, 1, Duration::picos(250));
  start(net, late, kLink0, 9, 2);
  net.settle(late);
  EXPECT_EQ(net.next_event(), at(Instant::never().picos() - 1));
  std::vector<Completion> out;
  net.advance(net.next_event(), out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].token, 2u);
  net.settle(at(Instant::never().picos() - 1));
  EXPECT_TRUE(net.next_event().is_never());
  EXPECT_EQ(net.in_flight(), 1);
  EXPECT_NE(net.describe_pending().find("beyond the range of time"), std::string::npos) << net.describe_pending();
}

TEST(FlowNetwork, RefusesUnsettledChangesAndTimeRunningBackwards) {
  FlowNetwork net(std::vector<Rate>{kBytePerPico});
  std::vector<Completion> out;
  start(net, at(5), kLink0, 1000, 1);
  EXPECT_THROW((void)net.next_event(), InternalError);
  EXPECT_THROW(net.advance(at(6), out), InternalError);
  EXPECT_THROW(net.advance(at(4), out), InternalError);
}

// The audit bites. Each fault is injected into a healthy run of three flows and must be noticed before the end.
FlowNetwork faulty(FlowFault fault) {
  FlowNetwork net(std::vector<Rate>{kBytePerPico, kBytePerPico},
                  {.audit = max_min::AuditScope::kTouched, .fault = fault, .fault_at = 0});
  start(net, at(0), kLink0, 1000, 1);
  start(net, at(0), kBoth, 2000, 2);
  start(net, at(0), kLink1, 4000, 3);
  return net;
}

TEST(FlowAudit, AHealthyRunPasses) {
  FlowNetwork net = faulty(FlowFault::kNone);
  net.settle(at(0));
  EXPECT_NO_THROW(run(net));
}

TEST(FlowAudit, OneUnitOfRateTooMuchIsNoticedAtOnce) {
  FlowNetwork net = faulty(FlowFault::kExcessRate);
  EXPECT_THROW(net.settle(at(0)), InternalError);
}

TEST(FlowAudit, ADroppedCompletionIsNoticedAtTheEnd) {
  FlowNetwork net = faulty(FlowFault::kDropCompletion);
  net.settle(at(0));
  EXPECT_THROW(run(net), SimulationError);
}

// A transfer whose wake-up is lost is overdue when its link changes next: here at 5000 ps, when another one starts on it.
TEST(FlowAudit, ALostWakeUpIsNoticedAtTheNextChange) {
  FlowNetwork net(std::vector<Rate>{kBytePerPico}, {.audit = max_min::AuditScope::kTouched, .fault = FlowFault::kLoseWakeup});
  start(net, at(0), kLink0, 1000, 1);
  net.settle(at(0));
  start(net, at(5000), kLink0, 1000, 2);
  EXPECT_THROW(net.settle(at(5000)), InternalError);
}

// Where nothing changes any more, it shows as an end with transfers in flight.
TEST(FlowAudit, ALostWakeUpIsNoticedAtTheEnd) {
  FlowNetwork net = faulty(FlowFault::kLoseWakeup);
  net.settle(at(0));
  EXPECT_THROW(run(net), SimulationError);
}

}  // namespace
}  // namespace lockstep
