// SPDX-License-Identifier: Apache-2.0
// Algorithms whose sums are made in switches, and PAT: times against closed forms on round networks, and what may run where.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/diagnostics.h"
#include "sim/experiment/collective.h"
#include "tests/support/shipped.h"
#include "topology/network.h"
#include "workloads/collectives/aggregation.h"

namespace lockstep {
namespace {

constexpr std::int64_t kS = 800'000'000;
constexpr double kPort = 400e9;  // NVLink, byte/s
constexpr double kNic = 50e9;

struct Fabric {
  std::uint32_t nodes = 1;
  int nics = 8;
  int nodes_per_leaf = 64;
  int spines = 1;
  int leaves_per_pod = 0;
  bool has_reduction = false;
  bool has_nvls = true;
  RoutingPolicy routing = RoutingPolicy::kStatic;
};

// Boxes of 8 GPUs without latencies; every cable has the rate of a NIC.
Network boxes(const Fabric& f) {
  const Wire nvlink = Wire::pure(Rate::bytes_per_second(kPort), {});
  const Wire pcie = Wire::pure(Rate::bytes_per_second(10 * kNic), {});
  const Wire wire = Wire::pure(Rate::bytes_per_second(kNic), {});
  return Network({.nodes = f.nodes,
                  .server = NvSwitchServer({.gpus = 8, .nics = f.nics, .nvlink = nvlink, .gpu_pcie = pcie, .nic_pcie = pcie}),
                  .fabric = {.nodes_per_leaf = f.nodes_per_leaf,
                             .leaves_per_pod = f.leaves_per_pod,
                             .spines = f.spines,
                             .cores_per_spine = f.leaves_per_pod > 0 ? 1 : 0,
                             .host = wire,
                             .leaf_spine = wire,
                             .spine_core = wire},
                  .has_nvls = f.has_nvls,
                  .has_in_network_reduction = f.has_reduction});
}

CollectiveRequest request(CollectiveKind kind, Algorithm algorithm, std::size_t gpus, std::int64_t size,
                          std::size_t stride = 1) {
  CollectiveRequest r{.kind = kind, .sizes = {size}, .algorithm = algorithm};
  for (std::size_t i = 0; i < gpus; ++i) r.members.push_back(EndpointId::from_index(i * stride));
  return r;
}

CollectiveRow row(const Fabric& fabric, const CollectiveTuning& t, const CollectiveRequest& r) {
  const Network net = boxes(fabric);
  const Router router(net, fabric.routing, 0);
  return run_collective(r, router, {t, t, t}, NetworkKind::kFlow).front();
}
double all_reduce(const Fabric& fabric, Algorithm a, std::size_t stride = 1) {
  const std::size_t gpus = 8 * fabric.nodes / stride;
  return row(fabric, {}, request(CollectiveKind::kAllReduce, a, gpus, kS, stride)).time_s;
}

// n GPUs send their S to the NVSwitch and head one of n parts each: S + S/n out, S + S/n in. all_gather: S/n out, S in; reduce_scatter the
// other way round.
TEST(Nvls, MovesTheBufferOnceAndAnNthMore) {
  const double unit = static_cast<double>(kS) / kPort;
  for (const std::size_t n : {2u, 4u, 5u, 8u}) {
    const auto time = [&](CollectiveKind kind) { return row({}, {}, request(kind, Algorithm::kNvls, n, kS)).time_s; };
    EXPECT_NEAR(time(CollectiveKind::kAllReduce), (1 + 1.0 / static_cast<double>(n)) * unit, 1e-11) << n;
    EXPECT_NEAR(time(CollectiveKind::kAllGather), unit, 1e-11) << n;
    EXPECT_NEAR(time(CollectiveKind::kReduceScatter), unit, 1e-11) << n;
  }
}

// Four NICs a node, so four GPUs head a quarter each: S (1 + 1/4) over their NVLink, 0.31 S/(100 GB/s). Between nodes S over four NICs
// with two nodes, 2 S with four.
TEST(NvlsTree, IsATreeOfNodes) {
  const double nics = static_cast<double>(kS) / (4 * kNic);
  EXPECT_NEAR(all_reduce({.nodes = 2, .nics = 4}, Algorithm::kNvlsTree), nics, 1e-11);
  EXPECT_NEAR(all_reduce({.nodes = 4, .nics = 4}, Algorithm::kNvlsTree), 2 * nics, 1e-11);
  // Sixteen NICs are no longer the narrowest: eight heads, S (1 + 1/8).
  EXPECT_NEAR(all_reduce({.nodes = 2, .nics = 16}, Algorithm::kNvlsTree), 1.125 * static_cast<double>(kS) / kPort, 1e-11);
}

// Two NICs a node: S/2 through each, whatever the number of nodes. A leaf sends the sum of its nodes on once: S over one uplink of the rate of a
// NIC is what bounds two leaves, S/2 over each of two that are sprayed over. A ring would send 2 (n-1)/n S over that uplink.
TEST(Collnet, ALeafSendsOneStreamOn) {
  const double nic = static_cast<double>(kS) / kNic;
  for (const Algorithm a : {Algorithm::kCollnetChain, Algorithm::kNvls}) {
    for (const std::uint32_t nodes : {2u, 8u}) {
      EXPECT_NEAR(all_reduce({.nodes = nodes, .nics = 2, .has_reduction = true}, a), nic / 2, 1e-11) << to_text(a);
    }
    for (const int nodes_per_leaf : {1, 2, 4}) {
      const Fabric one{.nodes = 8, .nics = 2, .nodes_per_leaf = nodes_per_leaf, .has_reduction = true};
      EXPECT_NEAR(all_reduce(one, a), nic, 1e-11) << to_text(a) << " " << nodes_per_leaf;
      Fabric two = one;
      two.spines = 2;
      two.routing = RoutingPolicy::kSpray;
      EXPECT_NEAR(all_reduce(two, a), nic / 2, 1e-11) << to_text(a) << " " << nodes_per_leaf;
    }
  }
  // Three tiers, one spine a pod and one core.
  const Fabric pods{.nodes = 8, .nics = 1, .nodes_per_leaf = 2, .leaves_per_pod = 2, .has_reduction = true};
  EXPECT_NEAR(all_reduce(pods, Algorithm::kCollnetChain), nic, 1e-11);
}

// Eight heads: a GPU gets S/8 from seven others and sends S/8 to as many, twice: 7/4 S. With one member a node nothing is inside.
TEST(Collnet, DirectExchangesInsideTheNode) {
  const Fabric f{.nodes = 2, .nics = 8, .has_reduction = true};
  EXPECT_NEAR(all_reduce(f, Algorithm::kCollnetDirect), 1.75 * static_cast<double>(kS) / kPort, 1e-11);
  EXPECT_NEAR(all_reduce(f, Algorithm::kCollnetDirect, 8), static_cast<double>(kS) / kNic, 1e-11);
}

// Every link between switches carries the stream once each way: the links are those of a tree over all switches that the nodes use, both ways.
TEST(Aggregation, LoadsEveryLinkOnce) {
  const Network net = boxes({.nodes = 8, .nics = 1, .nodes_per_leaf = 2, .spines = 2});
  std::vector<AggregationPort> ports;
  for (std::uint32_t n = 0; n < 8; ++n) ports.push_back({net.endpoint(NodeId(n), 0), 0});
  for (const RoutingPolicy policy : {RoutingPolicy::kStatic, RoutingPolicy::kEcmp, RoutingPolicy::kSpray}) {
    const Router router(net, policy, 0);
    Route route;
    add_aggregation(router, ports, 7, route);
    std::int64_t hosts = 0;
    std::int64_t uplinks = 0;
    std::set<LinkId> seen;
    for (const LinkShare& s : route.shares) {
      EXPECT_TRUE(seen.insert(s.link).second);
      const LinkTier tier = net.link(s.link).tier;
      if (tier == LinkTier::kHost) hosts += s.coefficient;
      if (tier == LinkTier::kLeafSpine) uplinks += s.coefficient;
    }
    EXPECT_EQ(hosts, 2 * 8 * router.weight());
    EXPECT_EQ(uplinks, 2 * 4 * router.weight());
  }
}

// all_gather played with blocks: a rank starts with its own (offset 0); at distance d it gets from the one d behind whatever that has and it lacks.
// Every offset arrives once, in the numbers that are charged.
TEST(Pat, BringsEveryBlockOnce) {
  for (std::uint32_t n = 2; n <= 70; ++n) {
    std::set<std::uint32_t> held = {0};
    std::int64_t sum = 0;
    int steps = 0;
    while ((1u << steps) < n) ++steps;
    for (int k = steps - 1; k >= 0; --k) {
      std::set<std::uint32_t> got;
      for (const std::uint32_t offset : held) {
        if (offset + (1u << k) < n) got.insert(offset + (1u << k));
      }
      EXPECT_EQ(std::ssize(got), pat_blocks(n, k)) << n << " at " << (1u << k);
      for (const std::uint32_t offset : got) EXPECT_TRUE(held.insert(offset).second) << n;
      sum += pat_blocks(n, k);
    }
    EXPECT_EQ(held.size(), n);
    EXPECT_EQ(sum, n - 1);
  }
}

// One GPU a node: (n-1)/n S over its NIC, at the share of the links that PAT fills.
TEST(Pat, SendsAsManyBytesAsARing) {
  CollectiveTuning t;
  for (const std::uint32_t nodes : {2u, 6u, 8u}) {
    const double bytes = static_cast<double>(kS) * (nodes - 1) / nodes;
    for (const CollectiveKind kind : {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter}) {
      const auto time = [&] {
        return row({.nodes = nodes, .nics = 1}, t, request(kind, Algorithm::kPat, nodes, kS, 8)).time_s;
      };
      t.switches.pat.share = 1;
      EXPECT_NEAR(time(), bytes / kNic, 1e-9);
      t.switches.pat.share = 0.75;
      EXPECT_NEAR(time(), bytes / kNic / 0.75, 1e-9);
    }
  }
}

// 8 nodes x 8 GPUs, empty messages, with base, network and other latencies told apart as 1 s, 1 ms and 1 us. The tree is log2 8 = 3 deep, there and
// back; a chain has 7 hops, a direct exchange the links and 7 peers; PAT takes log2 64 = 6 steps, each with some pair in two nodes.
TEST(SwitchAlgorithms, HopsAreCounted) {
  CollectiveTuning t;
  const Duration s = Duration::micros(1'000'000);
  const Duration ms = Duration::micros(1'000);
  const Duration us = Duration::micros(1);
  t.switches.nvls.base = s;
  t.switches.nvls.tree_hop = ms;
  t.switches.nvls.reduction_hop = ms;
  t.switches.collnet = {.direct_network = s, .direct_inside = ms, .direct_per_peer = us, .chain_network = s, .chain_hop = us};
  t.switches.pat = {.base = s, .per_rank = us, .nvlink_hop = us, .pcie_hop = us, .network_hop = ms};
  const auto micros = [&](std::uint32_t nodes, Algorithm a, CollectiveKind kind = CollectiveKind::kAllReduce) {
    const CollectiveRequest r = request(kind, a, 8 * nodes, 0);
    return std::llround(row({.nodes = nodes, .nics = 8, .has_reduction = true}, t, r).time_s * 1e6);
  };
  EXPECT_EQ(micros(1, Algorithm::kNvls), 1'000'000);
  EXPECT_EQ(micros(8, Algorithm::kNvls), 1'001'000);
  EXPECT_EQ(micros(8, Algorithm::kNvlsTree), 1'006'000);
  EXPECT_EQ(micros(8, Algorithm::kCollnetDirect), 1'001'007);
  EXPECT_EQ(micros(8, Algorithm::kCollnetChain), 1'000'007);
  EXPECT_EQ(micros(8, Algorithm::kPat, CollectiveKind::kAllGather), 1'006'064);
}

// Shares and limits act: a quarter of NVLink; a limit in bytes of the buffer a second; a channel's limit in bus bandwidth, 8 channels of 30 GB/s being
// 240 x 16/30 GB/s of the buffer.
TEST(Nvls, IsBoundedByItsConstants) {
  const double s = static_cast<double>(kS);
  CollectiveTuning t;
  t.switches.nvls.link_share = 0.25;
  EXPECT_NEAR(row({}, t, request(CollectiveKind::kAllReduce, Algorithm::kNvls, 8, kS)).time_s, 4.5 * s / kPort, 1e-10);
  t = {};
  t.switches.nvls.limit = Rate::bytes_per_second(100e9);
  EXPECT_NEAR(row({}, t, request(CollectiveKind::kAllReduce, Algorithm::kNvls, 8, kS)).time_s, s / 100e9, 1e-9);
  t = {};
  t.switches.nvls.tree_channel_limit = Rate::bytes_per_second(30e9);
  EXPECT_NEAR(row({.nodes = 2}, t, request(CollectiveKind::kAllReduce, Algorithm::kNvlsTree, 16, kS)).time_s, s / 128e9, 1e-9);
}

// Where NVLS takes over on one node, as measured with it on and off: H200 from 5 GPUs, B200 from 6, and a GB200 NVL72; an H800 with eight links too.
TEST(Nvls, TakesOverWhereMeasured) {
  const auto beats = [](GpuGeneration g, double payload, int gpus) {
    return nvls_beats_ring(tuning_for(test::shipped_tuning(), g, Rate(), 0, 1).switches.nvls, gpus,
                           Rate::bytes_per_second(payload));
  };
  for (int n = 2; n <= 8; ++n) {
    EXPECT_EQ(beats(GpuGeneration::kHopper, 18 * 20.6e9, n), n >= 5) << n;
    EXPECT_EQ(beats(GpuGeneration::kBlackwell, 18 * 40.1e9, n), n >= 6) << n;
  }
  EXPECT_TRUE(beats(GpuGeneration::kBlackwell, 18 * 40.1e9, 72));
  EXPECT_TRUE(beats(GpuGeneration::kHopper, 8 * 20.6e9, 8));
}

// The choice is among NCCL's: exactly one candidate is chosen, and none that it could take is faster. The others say why not.
TEST(Candidates, TheChosenOneIsTheFastestThatMayRun) {
  for (const char* in_network : {"false", "true"}) {
    const PreparedCluster c(test::cluster("dgx-h100", {"nodes=4", std::string("fabric.in_network_reduction=") + in_network}),
                            0);
    for (const CollectiveKind kind : kStagedKinds) {
      for (const std::size_t gpus : {4u, 8u, 12u, 32u}) {
        CollectiveRequest r = request(kind, Algorithm::kAuto, gpus, 8);
        r.sizes = {8, 1 << 20, std::int64_t{1} << 33};
        r.explains = true;
        for (const CollectiveRow& row : run_collective(r, c.router, c.tunings, NetworkKind::kAnalytic)) {
          int chosen = 0;
          double best = 1e9;
          double taken = 0;
          for (const auto& [candidate, is_chosen] : row.candidates) {
            const double time = candidate.latency_s + candidate.transfer_s;
            if (candidate.exclusion.empty()) best = std::min(best, time);
            if (is_chosen) taken = time;
            chosen += is_chosen ? 1 : 0;
            EXPECT_TRUE(candidate.is_possible || !candidate.exclusion.empty());
            EXPECT_TRUE(!is_chosen || candidate.exclusion.empty());
            EXPECT_TRUE(!is_chosen || is_of_nccl(candidate.algorithm));
          }
          EXPECT_EQ(chosen, 1) << to_text(kind) << " " << gpus;
          EXPECT_EQ(taken, best) << to_text(kind) << " " << gpus << " " << row.size_bytes;
          EXPECT_NEAR(row.time_s, taken, 1e-9 * taken + 1e-11);
        }
      }
    }
  }
}

// A forced algorithm is shown beside what else could have run.
TEST(Candidates, AForcedOneIsAmongThem) {
  const PreparedCluster c(test::cluster("dgx-h100", {"nodes=2"}), 0);
  for (const Algorithm a : {Algorithm::kHierarchical, Algorithm::kRing, Algorithm::kNvlsTree}) {
    CollectiveRequest r = request(CollectiveKind::kAllReduce, a, 16, 1 << 20);
    r.explains = true;
    const CollectiveRow row = run_collective(r, c.router, c.tunings, NetworkKind::kFlow).front();
    int others = 0;
    for (const auto& [candidate, is_chosen] : row.candidates) {
      EXPECT_TRUE(!is_chosen || candidate.algorithm == a);
      if (candidate.algorithm == Algorithm::kTree) others += candidate.exclusion == "another algorithm is asked for" ? 1 : 0;
    }
    EXPECT_EQ(others, 3) << to_text(a);
    EXPECT_EQ(row.algorithm, to_text(a));
  }
}

TEST(Eligibility, SaysWhatIsMissing) {
  const auto why = [](const Fabric& f, Algorithm a, std::size_t gpus, CollectiveKind kind = CollectiveKind::kAllReduce) {
    const Network net = boxes(f);
    return refusal(a, kind, member_facts(net, request(kind, a, gpus, 8).members));
  };
  const Fabric bare{.nodes = 2, .has_nvls = false};
  const Fabric sharp{.nodes = 2, .has_reduction = true};
  EXPECT_EQ(why(bare, Algorithm::kNvls, 8), "no NVLS: the server has no nvls: true");
  EXPECT_EQ(why(bare, Algorithm::kCollnetChain, 16), "no SHARP: the fabric has no in_network_reduction: true");
  EXPECT_EQ(why({.nodes = 2}, Algorithm::kNvls, 16), "no SHARP: the fabric has no in_network_reduction: true");
  EXPECT_EQ(why({.nodes = 2}, Algorithm::kNvlsTree, 12), "NVLS needs equally many members on every node");
  EXPECT_EQ(why({.nodes = 2}, Algorithm::kNvlsTree, 8), "one node: nothing for a tree to join");
  EXPECT_EQ(why(sharp, Algorithm::kNvls, 16, CollectiveKind::kAllGather), "nvls does all_gather on one node only");
  EXPECT_EQ(why(sharp, Algorithm::kCollnetDirect, 8), "one node: nothing to reduce in the network");
  EXPECT_EQ(why(sharp, Algorithm::kCollnetDirect, 12), "");
  EXPECT_EQ(why(sharp, Algorithm::kNvls, 16), "");
  EXPECT_EQ(why(bare, Algorithm::kPat, 12, CollectiveKind::kAllGather), "");
  // NCCL's choice takes PAT with one member a node only.
  const Network net = boxes(bare);
  EXPECT_FALSE(omission(Algorithm::kPat, member_facts(net, request(CollectiveKind::kAllGather, Algorithm::kPat, 16, 8).members))
                   .empty());
  EXPECT_TRUE(
      omission(Algorithm::kPat, member_facts(net, request(CollectiveKind::kAllGather, Algorithm::kPat, 2, 8, 8).members))
          .empty());
}

// Links of equal capacity and coefficient stand for each other here too, to the picosecond.
TEST(SwitchAlgorithms, OneLinkStandsForItsEquals) {
  for (const char* routing : {"routing=ecmp", "routing=spray"}) {
    const PreparedCluster c(test::cluster("h100-roce-oversubscribed", {routing, "fabric.in_network_reduction=true"}), 3);
    for (const Algorithm a : {Algorithm::kNvls, Algorithm::kNvlsTree, Algorithm::kCollnetDirect, Algorithm::kCollnetChain}) {
      CollectiveRequest r = request(CollectiveKind::kAllReduce, a, 96, 12'345'678);
      const double merged = run_collective(r, c.router, c.tunings, NetworkKind::kFlow).front().time_s;
      r.uses_symmetry = false;
      EXPECT_EQ(merged, run_collective(r, c.router, c.tunings, NetworkKind::kFlow).front().time_s) << to_text(a);
    }
  }
}

}  // namespace
}  // namespace lockstep
