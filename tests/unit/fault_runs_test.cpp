// SPDX-License-Identifier: Apache-2.0
// Faults that come and go: capacities change at their instants, transfers wait or go round, and no byte is lost or counted twice.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "sim/experiment/cluster_run.h"
#include "sim/experiment/job_run.h"
#include "sim/experiment/traffic.h"
#include "tests/support/cluster_fixtures.h"
#include "tests/support/shipped.h"
#include "workloads/schedule/training_program.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMilli = 1'000'000'000;  // in picoseconds

// Eight hosts in two racks on `spines` spines; 100 Gbps = 12.5 GB/s and 1 us everywhere.
ClusterSpec two_racks(int spines, const std::string& faults, const std::string& more = "") {
  const test::ReadCluster c = test::read_cluster(
      "kind: cluster\nendpoints: 8\nrouting: static\nhost_link: {speed: 100 Gbps, latency: 1 us}\n"
      "fabric_link: {speed: 100 Gbps, latency: 1 us}\nfabric: {nodes_per_leaf: 4, spines: " +
      std::to_string(spines) + "}\n" + more + "faults:\n" + faults);
  for (const std::string& m : c.messages) ADD_FAILURE() << m;
  return c.spec;
}

struct Traffic {
  TrafficResult result;
  std::vector<std::pair<std::string, std::int64_t>> bytes;  // by link that carried some
};

Traffic run(const ClusterSpec& cluster, const std::string& rows, NetworkKind kind = NetworkKind::kFlow) {
  const Network net = build_network(cluster);
  const Router router = make_router(cluster, net, 0);
  Diagnostics d;
  std::istringstream in("src,dst,bytes\n" + rows);
  const TrafficTable table = read_traffic(in, "flows", net.endpoint_count(), d);
  const TrafficRoutes routes(table, router);
  const Detours detours(cluster, 0, Bundling::kOff);
  TrafficDetours ways(table, detours);
  const auto model = make_network_model(kind, net);
  const LinkNames name = [&](LinkId l) { return net.name(l) + ", which " + ways.clock().describe(l); };
  Traffic out{.result = run_traffic(table, routes, *model, &ways, name), .bytes = {}};
  for (std::uint32_t l = 0; l < net.link_count(); ++l) {
    const std::int64_t bytes = model->usage(LinkId(l), out.result.makespan).bytes;
    if (bytes > 0) out.bytes.emplace_back(net.name(LinkId(l)), bytes);
  }
  return out;
}

// 12.5 GB take a second after 4 us of latency. Its only way is dead for 300 ms: that is what it costs, to the picosecond.
TEST(FaultRuns, AFlapWithoutAnotherWayCostsItsLength) {
  for (const NetworkKind kind : {NetworkKind::kFlow, NetworkKind::kAnalytic}) {
    const ClusterSpec c =
        two_racks(1, "- {link: \"leaf0>spine0\", state: failed, from: 200 ms, until: 500 ms}\n", "reroute_after: 10 ms\n");
    const Traffic t = run(c, "0,4,12500000000\n", kind);
    EXPECT_EQ(t.result.makespan.picos(), 1'300 * kMilli + 4'000'000);
    ASSERT_EQ(t.result.faults.size(), 1u);
    EXPECT_EQ(t.result.faults[0].first.picos(), 200 * kMilli);
    EXPECT_EQ(t.result.faults[0].rerouted, 0);
    for (const auto& [name, bytes] : t.bytes) EXPECT_EQ(bytes, 12'500'000'000) << name;
  }
}

// With another spine it waits for 50 ms, until the failure is noticed, and then goes on over that. 200 ms less 4 us at 12.5 GB/s went by
// the first way, the rest by the second; together all bytes.
TEST(FaultRuns, AFlowGoesRoundADeadLinkAfterTheTimeItTakesToNotice) {
  for (const NetworkKind kind : {NetworkKind::kFlow, NetworkKind::kAnalytic}) {
    const ClusterSpec c = two_racks(2, "- {switch: spine0, state: failed, from: 200 ms}\n", "reroute_after: 50 ms\n");
    const Traffic t = run(c, "0,4,12500000000\n", kind);
    EXPECT_EQ(t.result.makespan.picos(), 1'050 * kMilli + 4'000'000);
    EXPECT_EQ(t.result.faults.at(0).rerouted, 1);
    const std::vector<std::pair<std::string, std::int64_t>> expected = {
        {"host0>leaf0", 12'500'000'000},  {"leaf1>host4", 12'500'000'000}, {"leaf0>spine0", 2'499'950'000},
        {"leaf0>spine1", 10'000'050'000}, {"spine0>leaf1", 2'499'950'000}, {"spine1>leaf1", 10'000'050'000}};
    std::vector<std::pair<std::string, std::int64_t>> got = t.bytes;
    std::vector<std::pair<std::string, std::int64_t>> want = expected;
    std::sort(got.begin(), got.end());
    std::sort(want.begin(), want.end());
    EXPECT_EQ(got, want);
  }
}

// Back before anybody noticed: the flow waited, and stays where it is.
TEST(FaultRuns, AShortFlapIsWaitedFor) {
  const ClusterSpec c = two_racks(2, "- {link: \"leaf0>spine0\", state: failed, from: 200 ms, until: 230 ms, every: 500 ms}\n",
                                  "reroute_after: 50 ms\n");
  const Traffic t = run(c, "0,4,12500000000\n");  // moves from 0 to 200, 230 to 700, 730 to 1060 ms
  EXPECT_EQ(t.result.makespan.picos(), 1'060 * kMilli + 4'000'000);
  EXPECT_EQ(t.result.faults.at(0).times, 2);
  EXPECT_EQ(t.result.faults.at(0).rerouted, 0);
}

// Half a second at half the rate moves a quarter of it: 0.25 s more.
TEST(FaultRuns, ALinkMayBeSlowForAWhile) {
  const ClusterSpec c = two_racks(2, "- {link: \"host0>leaf0\", rate: 50 %, from: 300 ms, until: 800 ms}\n");
  EXPECT_EQ(run(c, "0,4,12500000000\n").result.makespan.picos(), 1'250 * kMilli + 4'000'000);
}

TEST(FaultRuns, WhatNeverEndsNamesTheDeadLink) {
  const ClusterSpec c = two_racks(1, "- {link: \"leaf0>spine0\", state: failed, from: 200 ms}\n");
  for (const NetworkKind kind : {NetworkKind::kFlow, NetworkKind::kAnalytic}) {
    try {
      static_cast<void>(run(c, "0,4,12500000000\n1,2,5\n", kind));
      FAIL() << "it ended";
    } catch (const SimulationError& e) {
      EXPECT_NE(std::string(e.what()).find("1 of 2 flows never end"), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("is stopped by leaf0>spine0, which failed at 200 ms"), std::string::npos)
          << e.what();
    }
  }
}

// 65 of 80 spines lose leaf 0 at the same instant: two states. The flow over spine 64 waits for 50 ms and goes on over one of the other 15.
TEST(FaultRuns, AnyNumberOfFailuresAtOneInstantIsOneState) {
  std::string faults;
  for (int s = 0; s < 65; ++s) faults += fmt::format("- {{link: \"leaf0>spine{}\", state: failed, from: 200 ms}}\n", s);
  ClusterSpec c = two_racks(80, faults, "reroute_after: 50 ms\n");
  EXPECT_EQ(FaultStates(build_healthy_network(c), c.faults, c.detection_time()).states().size(), 2u);
  c.routing = RoutingPolicy::kSpray;  // every spine takes part
  const Traffic t = run(c, "0,4,12500000000\n");
  EXPECT_EQ(t.result.faults.at(64).rerouted, 1);
  // Together: 12.5 GB/s but for the 50 ms in which the dead 65 hold all up.
  EXPECT_NEAR(t.result.makespan.seconds(), 1.05, 1e-5);
}

// Beginning at different times, each set is a network of its own. Failures that are over before anybody notices make none.
TEST(FaultRuns, ManyFailuresOneAfterTheOtherAreTooMany) {
  const auto staggered = [](int lasts_ms) {
    std::vector<FaultSpec> faults;
    for (int s = 0; s < 65; ++s) {
      faults.push_back({.link = fmt::format("leaf0>spine{}", s),
                        .state = FaultState::kFailed,
                        .from = Duration::picos(s * kMilli),
                        .until = Duration::picos((s + lasts_ms) * kMilli)});
    }
    return faults;
  };
  const Network healthy = build_healthy_network(two_racks(80, "- {link: \"leaf0>spine0\", rate: 100 %}\n"));
  EXPECT_THROW(static_cast<void>(FaultStates(healthy, staggered(100), Duration::picos(10 * kMilli))), UserError);
  const FaultStates short_ones(healthy, staggered(5), Duration::picos(10 * kMilli));
  EXPECT_TRUE(short_ones.noticed().empty());
  EXPECT_EQ(short_ones.states().size(), 1u);
}

// Every 2,000,000 s within 106 days = 9,223,372 s: the fifth time after the first would be beyond time itself. Nothing brings host 0 back.
TEST(FaultRuns, WhatWouldComeBeyondTheEndOfTimeNeverComes) {
  const ClusterSpec c = two_racks(2,
                                  "- {link: \"host0>leaf0\", state: failed, from: 0 s}\n"
                                  "- {link: \"host1>leaf0\", state: failed, from: 1 ms, until: 2 ms, every: 2000000 s}\n");
  EXPECT_THROW(static_cast<void>(run(c, "0,4,12500000000\n")), SimulationError);
}

// A link is back after 60 s, 30,000 changes of another link later: the flow takes its second from then on. One that never comes back is
// given up all the same.
TEST(FaultRuns, FlapsOfOtherLinksDoNotEndTheWait) {
  const std::string flaps = "- {link: \"host1>leaf0\", state: failed, from: 1 ms, until: 3 ms, every: 4 ms}\n";
  const ClusterSpec c = two_racks(2, "- {link: \"host0>leaf0\", state: failed, from: 0 s, until: 60 s}\n" + flaps);
  EXPECT_EQ(run(c, "0,4,12500000000\n").result.makespan.picos(), 61'000 * kMilli);
  const ClusterSpec again =
      two_racks(2, "- {link: \"host0>leaf0\", state: failed, from: 0 s, until: 60 s, every: 100 s}\n" + flaps);
  EXPECT_EQ(run(again, "0,4,12500000000\n").result.makespan.picos(), 61'000 * kMilli);
  const ClusterSpec gone = two_racks(2, "- {link: \"host0>leaf0\", state: failed, from: 0 s}\n" + flaps);
  EXPECT_THROW(static_cast<void>(run(gone, "0,4,12500000000\n")), SimulationError);
}

// Hashing over what survives: of three spines the last is dead, which leaves the paths of a fabric with two, in the same order. All flows
// end at the same picoseconds.
TEST(FaultRuns, ADeadSpineLeavesTheFabricWithoutIt) {
  std::string rows;
  for (int s = 0; s < 8; ++s) {
    for (int d = 0; d < 8; ++d) {
      if (s != d) rows += fmt::format("{},{},{}\n", s, d, 1'000'000 + 7919 * (8 * s + d));
    }
  }
  ClusterSpec three = two_racks(3, "- {switch: spine2, state: failed}\n");
  ClusterSpec two = two_racks(2, "- {link: \"leaf0>spine0\", rate: 100 %}\n");
  for (const RoutingPolicy policy : {RoutingPolicy::kEcmp, RoutingPolicy::kStatic}) {
    three.routing = two.routing = policy;
    EXPECT_EQ(run(three, rows).result.end, run(two, rows).result.end);
  }
}

// Any flows, any failures that end: what each link carried adds up to the bytes that were sent, at every tier.
TEST(FaultRuns, NoByteIsLostOrCountedTwice) {
  ClusterSpec c = two_racks(3,
                            "- {link: \"leaf0>spine0\", state: failed, from: 100 us, until: 900 us, every: 1 ms}\n"
                            "- {switch: spine1, state: failed, from: 250 us, until: 700 us}\n"
                            "- {link: \"leaf1>spine2\", rate: 30 %, from: 50 us, until: 2 ms}\n",
                            "reroute_after: 60 us\n");
  std::string rows;
  for (int i = 0; i < 4; ++i) {
    for (int j = 4; j < 8; ++j) rows += fmt::format("{},{},{}\n{},{},{}\n", i, j, 3'000'001 + 1013 * i, j, i, 777'777 + 17 * j);
  }
  for (const RoutingPolicy policy : {RoutingPolicy::kEcmp, RoutingPolicy::kSpray}) {
    c.routing = policy;
    const Traffic t = run(c, rows);
    std::int64_t sent = 0;
    std::int64_t up = 0;
    std::int64_t down = 0;
    std::int64_t into_leaf1 = 0;
    for (const auto& [name, bytes] : t.bytes) {
      if (name.starts_with("host")) sent += bytes;
      if (name.starts_with("leaf") && name.find("spine") != std::string::npos) up += bytes;
      if (name.starts_with("spine")) down += bytes;
      if (name.ends_with(">leaf1") && name.starts_with("spine")) into_leaf1 += bytes;
    }
    // usage() rounds each link down once.
    EXPECT_NEAR(static_cast<double>(up), static_cast<double>(sent), 6);
    EXPECT_NEAR(static_cast<double>(down), static_cast<double>(sent), 6);
    EXPECT_NEAR(static_cast<double>(into_leaf1), 4.0 * (4 * 3'000'001 + 1013 * 6), 6);
    EXPECT_GT(t.result.faults.at(0).rerouted, 0);
  }
}

RunResult run_job_with(const std::vector<std::string>& sets, bool uses_symmetry = true) {
  const Scenario s = test::scenario("llama3.2-1b-ddp", sets);
  return run_job(s.spec.cluster, s.plan, {.uses_symmetry = uses_symmetry});
}

// A compute-bound step at the pace of its slow node: all of its kernels take half as long again. Known from the field as one slow GPU that
// all others wait for.
TEST(FaultRuns, ASlowNodeSetsThePace) {
  const std::vector<std::string> apart = {"cluster.nodes=2", "job.overlap_grad_reduce=false"};
  std::vector<std::string> slow = apart;
  slow.emplace_back("cluster.faults=[{node: 1, slowdown: 50 %}]");
  const RunResult a = run_job_with(apart);
  const RunResult b = run_job_with(slow);
  const double compute = a.breakdown_s[static_cast<std::size_t>(TimeClass::kCompute)];
  EXPECT_NEAR(b.step_time_s - a.step_time_s, 0.5 * compute, 0.01 * compute);
  EXPECT_EQ(b.ideal_step_time_s, a.ideal_step_time_s);
  EXPECT_EQ(b.healthy_step_time_s, a.step_time_s);
  EXPECT_EQ(b.slow_gpus, 8);
}

// A NIC that is dead for a while in the middle of a step: the step waits for it, both with and without symmetry, and says so.
TEST(FaultRuns, AFlapDuringAStepIsReported) {
  const std::vector<std::string> sets = {"cluster.nodes=2",
                                         "cluster.faults=[{nic: node1.nic3, state: failed, from: 1 ms, until: 2 s}]"};
  const RunResult r = run_job_with(sets);
  EXPECT_GT(r.step_time_s, 2.0);
  EXPECT_LT(*r.healthy_step_time_s, 2.0);
  ASSERT_EQ(r.faults.size(), 1u);
  EXPECT_EQ(r.faults[0].what, "node1.nic3 failed");
  EXPECT_EQ(r.faults[0].when, "from 1 ms until 2 s");
  EXPECT_EQ(r.faults[0].times, 1);
  const RunResult all = run_job_with(sets, false);
  EXPECT_EQ(all.fingerprint, r.fingerprint);
  EXPECT_EQ(all.step_time_s, r.step_time_s);
  EXPECT_LT(r.symmetry.rank_classes, 16);
}

TEST(FaultRuns, AJobThatCannotGoOnNamesRanksAndLink) {
  try {
    static_cast<void>(run_job_with({"cluster.nodes=2", "cluster.faults=[{nic: node1.nic3, state: failed, from: 1 ms}]"}));
    FAIL() << "it ended";
  } catch (const SimulationError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("waits for:"), std::string::npos) << text;
    EXPECT_NE(text.find("node1.nic3>"), std::string::npos) << text;
    EXPECT_NE(text.find("which failed at 1 ms"), std::string::npos) << text;
  }
}

TEST(FaultTimelines, ChangeWhenAFaultBeginsIsNoticedAndEnds) {
  const ClusterSpec c = two_racks(2, "- {link: \"leaf0>spine0\", state: failed, from: 2 ms, until: 5 ms, every: 10 ms}\n",
                                  "reroute_after: 1 ms\n");
  const Network healthy = build_healthy_network(c);
  const FaultStates states(healthy, c.faults, c.detection_time());
  EXPECT_EQ(states.states(), (std::vector<FaultSet>{{}, {0}}));
  const FaultTimeline line(states, healthy, c.detection_time());
  std::vector<std::int64_t> instants;
  std::vector<std::size_t> at;
  for (Instant t = line.next_change(0, Instant()); t < Instant() + Duration::picos(20 * kMilli); t = line.next_change(0, t)) {
    instants.push_back(t.picos() / kMilli);
    at.push_back(line.state(t));
  }
  EXPECT_EQ(instants, (std::vector<std::int64_t>{2, 3, 5, 12, 13, 15}));
  EXPECT_EQ(at, (std::vector<std::size_t>{0, 1, 0, 0, 1, 0}));
}

// Without a number of its own the time is that of the senders' timeout: 4.096 us x 2^20, or TCP's 200 ms.
TEST(FaultTimelines, NoticeAFailureAfterTheTimeoutOfTheTransport) {
  EXPECT_EQ(test::shipped_cluster("dgx-h100").detection_time(), Duration::picos(4'294'967'296'000));
  EXPECT_EQ(test::shipped_cluster("dgx-h100", {"network=tcp-1x100"}).detection_time(), Duration::micros(200'000));
}

}  // namespace
}  // namespace lockstep
