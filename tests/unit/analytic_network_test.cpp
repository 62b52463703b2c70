// SPDX-License-Identifier: Apache-2.0
#include "sim/network/analytic_network.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/network_fixtures.h"

namespace lockstep {
namespace {

using test::at;
using test::kBytePerPico;
using test::kLink0;
using test::run;

// 10 ps before the end of time a latency of 250 ps ends beyond it: that never happens.
TEST(AnalyticNetwork, WhatWouldBeginBeyondTheRangeOfTimeNeverDoes) {
  const Instant late = at(Instant::never().picos() - 10);
  AnalyticNetwork net(std::vector<Rate>{kBytePerPico});
  net.start(late, {.shares = kLink0, .bytes = 1, .latency = Duration::picos(250), .token = 1});
  net.settle(late);
  EXPECT_TRUE(net.next_event().is_never());
  EXPECT_EQ(net.in_flight(), 1);
  EXPECT_NE(net.describe_pending().find("beyond the range of time"), std::string::npos) << net.describe_pending();
}

// One transfer that stands for a million: each runs as if alone (1000 ps at 1 byte/ps), the link has seen a million times as much. The load,
// a million times the capacity of 2^16 x 10^12 units, is beyond 64 bits.
TEST(AnalyticNetwork, ATransferMayStandForManyOnOneLink) {
  AnalyticNetwork net(std::vector<Rate>{kBytePerPico});
  const std::vector<LinkShare> all{{LinkId(0), 1'000'000}};
  const std::vector<LinkShare> alone{{LinkId(0), 1}};
  net.start(at(0), {.shares = all, .alone = alone, .bytes = 1000, .members = 1'000'000, .token = 1});
  EXPECT_EQ(run(net).at(1), 1000);
  EXPECT_EQ(net.usage(LinkId(0), at(1000)).bytes, 1'000'000'000);
  EXPECT_DOUBLE_EQ(net.usage(LinkId(0), at(1000)).busy_s, 1e-9 * 1e6);
}

// Two flows on one link do not notice each other: 100 + 1000 ps and 3000 ps.
TEST(AnalyticNetwork, HasNoContention) {
  AnalyticNetwork net(std::vector<Rate>{kBytePerPico});
  net.start(at(0), {.shares = kLink0, .bytes = 1000, .latency = Duration::picos(100), .token = 1});
  net.start(at(0), {.shares = kLink0, .bytes = 3000, .token = 2});
  const auto ends = run(net);
  EXPECT_EQ(ends.at(1), 1100);
  EXPECT_EQ(ends.at(2), 3000);
  EXPECT_EQ(net.usage(LinkId(0), at(3000)).bytes, 4000);
  EXPECT_DOUBLE_EQ(net.usage(LinkId(0), at(3000)).busy_s, 4000e-12);
}

// Members of one transfer do share: coefficient 4 at weight 2 halves the rate. 100 bytes -> 200 ps.
TEST(AnalyticNetwork, LetsMembersShareTheirLinks) {
  AnalyticNetwork net(std::vector<Rate>{kBytePerPico});
  const std::vector<LinkShare> shares = {{LinkId(0), 4}};
  net.start(at(0), {.shares = shares, .weight = 2, .bytes = 100, .token = 1});
  EXPECT_EQ(run(net).at(1), 200);
}

TEST(AnalyticNetwork, TakesAtLeastOnePicosecond) {
  AnalyticNetwork net(std::vector<Rate>{kBytePerPico});
  net.start(at(0), {.shares = kLink0, .bytes = 0, .token = 1});
  net.start(at(0), {.bytes = 100, .token = 2});
  const auto ends = run(net);
  EXPECT_EQ(ends.at(1), 1);
  EXPECT_EQ(ends.at(2), 1);
}

// Half of 1000 bytes at full rate, then a dead link for 100 ps, then the rest at half rate: 500 + 100 + 1000.
TEST(AnalyticNetwork, FollowsCapacityChanges) {
  AnalyticNetwork net(std::vector<Rate>{kBytePerPico});
  std::vector<Completion> out;
  net.start(at(0), {.shares = kLink0, .bytes = 1000, .token = 1});
  net.advance(at(500), out);
  net.set_capacity(at(500), LinkId(0), Rate::units(0));
  net.advance(at(600), out);
  net.set_capacity(at(600), LinkId(0), Rate::units(kBytePerPico.units() / 2));
  EXPECT_EQ(run(net).at(1), 1600);
}

TEST(AnalyticNetwork, SaysWhatADeadLinkStops) {
  AnalyticNetwork net(std::vector<Rate>{Rate::units(0)});
  net.start(at(0), {.shares = kLink0, .bytes = 1000, .token = 17});
  EXPECT_TRUE(net.next_event().is_never());
  EXPECT_EQ(net.describe_pending(), "transfer 17 of 1000 bytes is stopped by link 0");
  EXPECT_THROW(net.finish(at(0)), SimulationError);
}

}  // namespace
}  // namespace lockstep
