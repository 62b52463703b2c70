// SPDX-License-Identifier: Apache-2.0
// Load balance against counting: hashed connections are balls thrown into bins, and the last flow to end is one on the fullest of them.
// The counting here is by enumeration of all throws and knows nothing of networks.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "sim/experiment/routing_comparison.h"
#include "sim/experiment/traffic.h"
#include "sim/network/flow_network.h"
#include "sim/network/link_capacities.h"
#include "tests/support/cluster_fixtures.h"

namespace lockstep {
namespace {

// Hosts of leaf 0 each to its like on leaf 1; links of 12.5 bytes/ns without latency, as many uplinks as hosts of a leaf.
constexpr std::int64_t kBytes = 12'500'000;  // 1 ms alone

ClusterSpec two_leaves(int spines, const std::vector<std::string>& sets = {}) {
  std::vector<std::string> all = {"endpoints=" + std::to_string(2 * spines), "fabric.nodes_per_leaf=" + std::to_string(spines),
                                  "fabric.spines=" + std::to_string(spines), "host_link.latency=0 ns",
                                  "fabric_link.latency=0 ns"};
  all.insert(all.end(), sets.begin(), sets.end());
  return test::shipped_cluster("bench-leaf-spine", all);
}

TrafficTable permutation(int flows, int hosts_per_leaf) {
  TrafficTable table;
  for (int i = 0; i < flows; ++i) {
    table.add(EndpointId(static_cast<std::uint32_t>(i)), EndpointId(static_cast<std::uint32_t>(hosts_per_leaf + i)), kBytes, {},
              TrafficTable::kRouted, {});
  }
  return table;
}

TrafficResult run(const ClusterSpec& cluster, const TrafficTable& table, std::uint64_t seed) {
  const Network network = build_network(cluster);
  const TrafficRoutes routes(table, make_router(cluster, network, seed));
  FlowNetwork model(link_capacities(network));
  return run_traffic(table, routes, model);
}

double milliseconds(const ClusterSpec& cluster, const TrafficTable& table, std::uint64_t seed) {
  return run(cluster, table, seed).makespan.seconds() * 1e3;
}

// Of all ways to throw so many balls into bins: mean and variance of the fullest bin.
struct Fullest {
  double mean = 0;
  double variance = 0;
};
Fullest enumerate(int balls, int bins) {
  double sum = 0;
  double squares = 0;
  const auto ways = static_cast<std::int64_t>(std::pow(bins, balls) + 0.5);
  for (std::int64_t way = 0; way < ways; ++way) {
    std::vector<int> load(static_cast<std::size_t>(bins), 0);
    std::int64_t rest = way;
    for (int b = 0; b < balls; ++b, rest /= bins) ++load[static_cast<std::size_t>(rest % bins)];
    const double fullest = *std::max_element(load.begin(), load.end());
    sum += fullest;
    squares += fullest * fullest;
  }
  const auto n = static_cast<double>(ways);
  return {sum / n, squares / n - sum / n * (sum / n)};
}

// NVIDIA/nccl#307: two flows hashed on one uplink drop to half. Of two flows over U = 4 spines they meet for one seed in four, and then both
// take 2 ms, else 1 ms: of 1000 seeds 250, sigma = sqrt(1000 x 1/4 x 3/4) = 13.7.
TEST(RoutingOracle, TwoFlowsOnOneUplinkGetHalfEach) {
  const ClusterSpec cluster = two_leaves(4);
  const TrafficTable table = permutation(2, 4);
  int halved = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const TrafficResult r = run(cluster, table, seed);
    EXPECT_EQ(r.end[0], r.end[1]);
    const bool is_halved = r.end[0] == Instant() + Duration::micros(2'000);
    EXPECT_TRUE(is_halved || r.end[0] == Instant() + Duration::micros(1'000)) << r.end[0].picos();
    halved += is_halved ? 1 : 0;
  }
  EXPECT_NEAR(halved, 250, 5 * 13.7);
}

// All flows cross one leaf, so the makespan is the load of the fullest uplink, in flows: balls in bins. With N queue pairs each flow is N balls
// of 1/N. 4 flows on 4 spines: the fullest holds 2.125 on the mean, 8 halves of flows 1.80; 600 seeds are within 5 standard errors of it.
TEST(RoutingOracle, HashedFlowsAreBallsInBins) {
  for (const int pairs : {1, 2}) {
    const ClusterSpec cluster = two_leaves(4, {"queue_pairs=" + std::to_string(pairs)});
    const TrafficTable table = permutation(4, 4);
    const Fullest exact = enumerate(4 * pairs, 4);
    constexpr int kSeeds = 600;
    double sum = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const double balls = milliseconds(cluster, table, seed) * pairs;
      EXPECT_NEAR(balls, std::round(balls), 1e-6);  // whole balls, nothing in between
      sum += balls;
    }
    EXPECT_NEAR(sum / kSeeds, exact.mean, 5 * std::sqrt(exact.variance / kSeeds)) << pairs << " queue pairs";
  }
}

// More balls fill bins more evenly: the mean over seeds falls with every doubling of queue pairs, towards the 1 ms of an even spread.
TEST(RoutingOracle, MoreQueuePairsComeCloserToSpray) {
  const TrafficTable table = permutation(16, 16);
  double before = 16;
  for (const int pairs : {1, 2, 4, 8, 16, 32}) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      sum += milliseconds(two_leaves(16, {"queue_pairs=" + std::to_string(pairs)}), table, seed);
    }
    EXPECT_LT(sum / 60, 0.95 * before) << pairs;
    EXPECT_GT(sum / 60, 1);
    before = sum / 60;
  }
  EXPECT_NEAR(milliseconds(two_leaves(16, {"routing=spray"}), table, 0), 1, 1e-9);
}

// An uplink with k of n = U flows is loaded by f + (1 - f) k: the excess of the hottest over the mean of 1 shrinks by f, seed by seed.
TEST(RoutingOracle, FlowletsTakeTheirShareOfTheExcess) {
  const TrafficTable table = permutation(8, 8);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const double ecmp = milliseconds(two_leaves(8), table, seed);
    for (const double share : {0.0, 0.25, 0.6, 1.0}) {
      const ClusterSpec cluster = two_leaves(8, {"routing=flowlet", "flowlet_share=" + std::to_string(share)});
      EXPECT_NEAR(milliseconds(cluster, table, seed) - 1, (1 - share) * (ecmp - 1), 1e-6) << share;
    }
  }
}

// Uplinks that all flows fill: 20/19 ms. With twice the uplinks there is room, and the ports of the hosts set the pace: 1 ms.
TEST(RoutingOracle, AdaptiveReaches95PercentOfAFullFabric) {
  const TrafficTable table = permutation(8, 8);
  EXPECT_NEAR(milliseconds(two_leaves(8, {"routing=adaptive"}), table, 0), 20.0 / 19, 1e-6);
  EXPECT_NEAR(milliseconds(two_leaves(8, {"routing=adaptive", "fabric.spines=16"}), table, 0), 1, 1e-8);
}

// The mean over seeds of the bus bandwidth of a ring.
double busbw(const ClusterSpec& cluster, const Routing& routing, int seeds) {
  CollectiveRequest request{
      .kind = CollectiveKind::kAllReduce, .sizes = {std::int64_t{4} << 30}, .algorithm = Algorithm::kRing};
  for (std::int64_t i = 0; i < cluster.gpus(); ++i) request.members.push_back(EndpointId(static_cast<std::uint32_t>(i)));
  double sum = 0;
  for (int s = 0; s < seeds; ++s) {
    const RoutingTrial one{.routings = {routing}, .first_seed = static_cast<std::uint64_t>(s)};
    sum += compare_routings(request, cluster, one, NetworkKind::kFlow).front().busbw_gb_per_s;
  }
  return sum / seeds;
}

// NVIDIA/nccl-tests#169, a sign test: rings of 2, 3, 4 to 5 and 6 nodes of 8 A100 with 8x100G RoCE reach 100, 70, 58 and 40 GB/s, which should stay near
// flat. Which leaf the nodes are on is not told; two to a leaf, two nodes meet nobody and every further node is more chances to
// collide. Spread evenly it does stay flat: within 1 %.
TEST(RoutingOracle, CollisionsGrowWithTheNumberOfNodes) {
  const auto mean = [](int nodes, RoutingPolicy policy, int seeds) {
    const ClusterSpec cluster =
        test::shipped_cluster("dgx-a100", {"nodes=" + std::to_string(nodes), "network=roce-8x100", "fabric.nodes_per_leaf=2"});
    return busbw(cluster, Routing{.policy = policy}, seeds);
  };
  const double two = mean(2, RoutingPolicy::kEcmp, 1);
  const double three = mean(3, RoutingPolicy::kEcmp, 100);
  const double six = mean(6, RoutingPolicy::kEcmp, 100);
  EXPECT_NEAR(two, 95, 5);
  EXPECT_LT(three, 0.8 * two);
  EXPECT_LT(six, 0.95 * three);
  EXPECT_NEAR(mean(6, RoutingPolicy::kSpray, 1), two, 0.01 * two);
}

// uccl-project/uccl#153, a sign test: on six HGX nodes across racks with as much bandwidth above the leaves as below them, collisions are the main
// loss. Each cure takes a part of it: hashing alone, four queue pairs (Gangidi et al., SIGCOMM 2024, gain up to 40 % by them), adaptive, spray.
TEST(RoutingOracle, ANonBlockingFabricLosesToCollisionsAndEachCureHelps) {
  const ClusterSpec cluster = test::shipped_cluster("dgx-h100", {"nodes=6", "network=roce-8x400", "fabric.nodes_per_leaf=1"});
  const double ecmp = busbw(cluster, Routing{.policy = RoutingPolicy::kEcmp}, 30);
  const double four = busbw(cluster, Routing{.policy = RoutingPolicy::kEcmp, .queue_pairs = 4}, 30);
  const double adaptive = busbw(cluster, Routing{.policy = RoutingPolicy::kAdaptive}, 1);
  const double spray = busbw(cluster, Routing{.policy = RoutingPolicy::kSpray}, 1);
  EXPECT_LT(ecmp, 0.5 * spray);
  EXPECT_GT(four, 1.2 * ecmp);
  EXPECT_GT(adaptive, 1.2 * four);
  EXPECT_GT(spray, 1.02 * adaptive);
}

}  // namespace
}  // namespace lockstep
