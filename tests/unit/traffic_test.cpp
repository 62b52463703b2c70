// SPDX-License-Identifier: Apache-2.0
// Flows on the fabric of the benchmarks: 100 Gbit/s = 12.5 bytes/ns, 1 us a link, 32 hosts a leaf.
#include "sim/experiment/traffic.h"

#include <gtest/gtest.h>

#include "sim/network/analytic_network.h"
#include "sim/network/flow_network.h"
#include "sim/network/link_capacities.h"
#include "tests/support/cluster_fixtures.h"

namespace lockstep {
namespace {

class Traffic : public ::testing::Test {
 protected:
  void add(std::uint32_t src, std::uint32_t dst, std::int64_t bytes, Duration start = {}, std::int64_t path = 0,
           std::vector<std::uint32_t> after = {}) {
    table_.add(EndpointId(src), EndpointId(dst), bytes, start, path, after);
  }
  template <class Model>
  TrafficResult run() {
    const TrafficRoutes routes(table_, router_);
    Model model(link_capacities(network_));
    return run_traffic(table_, routes, model);
  }

  ClusterSpec cluster_ = test::shipped_cluster("bench-leaf-spine", {"endpoints=64"});
  Network network_ = build_network(cluster_);
  Router router_ = make_router(cluster_, network_, 0);
  TrafficTable table_;
};

// Under one leaf: 2 links, 2 us + 125,000 bytes / 12.5 bytes/ns = 12 us; over a spine: 4 us + 10 us.
TEST_F(Traffic, EndsAfterTheLatencyOfItsLinksPlusTheTransfer) {
  add(0, 1, 125'000);
  add(2, 40, 125'000);
  const TrafficResult r = run<FlowNetwork>();
  EXPECT_EQ(r.end[0], Instant() + Duration::micros(12));
  EXPECT_EQ(r.end[1], Instant() + Duration::micros(14));
  EXPECT_EQ(r.makespan, r.end[1]);
  EXPECT_EQ(r.events, 4);
}

// Two flows from different hosts over spine 3 share the leaf's uplink (20 us); over spines 3 and 4 they do not (10 us).
TEST_F(Traffic, PathsChooseTheSpine) {
  add(0, 40, 125'000, {}, 3);
  add(1, 41, 125'000, {}, 3);
  EXPECT_EQ(run<FlowNetwork>().end[0], Instant() + Duration::micros(24));
  table_.path[1] = 4;
  EXPECT_EQ(run<FlowNetwork>().end[0], Instant() + Duration::micros(14));
  table_.path[1] = 16 + 3;  // modulo the number of paths
  EXPECT_EQ(run<FlowNetwork>().end[0], Instant() + Duration::micros(24));
}

TEST_F(Traffic, TheAnalyticModelSeesNoContention) {
  add(0, 40, 125'000, {}, 3);
  add(1, 41, 125'000, {}, 3);
  EXPECT_EQ(run<AnalyticNetwork>().end[0], Instant() + Duration::micros(14));
}

// Row 2 waits for rows 0 (12 us) and 1 (start 5 us, end 17 us); its own time, 1 us, has passed. Row 3 waits for row 0 but not before 30 us.
TEST_F(Traffic, StartsWhenTimeAndPredecessorsAllowIt) {
  add(0, 1, 125'000);
  add(2, 3, 125'000, Duration::micros(5));
  add(4, 5, 125'000, Duration::micros(1), 0, {0, 1});
  add(6, 7, 125'000, Duration::micros(30), 0, {0});
  const TrafficResult r = run<FlowNetwork>();
  EXPECT_EQ(r.start[2], Instant() + Duration::micros(17));
  EXPECT_EQ(r.end[2], Instant() + Duration::micros(29));
  EXPECT_EQ(r.start[3], Instant() + Duration::micros(30));
}

// The fingerprint sees rows, sizes and ticks, nothing else.
TEST_F(Traffic, TheFingerprintTellsRunsApart) {
  add(0, 1, 125'000);
  add(2, 3, 125'001);
  const std::uint64_t once = run<FlowNetwork>().fingerprint;
  EXPECT_EQ(run<FlowNetwork>().fingerprint, once);
  table_.bytes[1] = 125'002;
  EXPECT_NE(run<FlowNetwork>().fingerprint, once);
}

TEST_F(Traffic, SaysWhatNeverEnds) {
  add(0, 1, 125'000);
  const TrafficRoutes routes(table_, router_);
  FlowNetwork dead(std::vector<Rate>(network_.link_count(), Rate::units(0)));
  EXPECT_THROW((void)run_traffic(table_, routes, dead), SimulationError);
}

// Rows with the same ends and path share their route; with hashing every row has its own.
TEST_F(Traffic, SharesRoutesThatMustBeEqual) {
  add(0, 40, 1, {}, 3);
  add(0, 40, 1, {}, 3);
  add(0, 40, 1, {}, TrafficTable::kRouted);
  const TrafficRoutes routes(table_, router_);
  EXPECT_EQ(routes.shares(0).data(), routes.shares(1).data());
  EXPECT_NE(routes.shares(0).data(), routes.shares(2).data());
  EXPECT_EQ(routes.shares(2).size(), 4u);
  EXPECT_EQ(routes.latency(0), Duration::micros(4));
}

}  // namespace
}  // namespace lockstep
