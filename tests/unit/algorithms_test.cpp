// SPDX-License-Identifier: Apache-2.0
// Times of collective algorithms against closed forms on round networks, and the choice among them.
#include <gtest/gtest.h>

#include <cmath>

#include "base/diagnostics.h"
#include "sim/experiment/collective.h"
#include "tests/support/shipped.h"
#include "topology/network.h"
#include "workloads/collectives/communicator.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMB = 1'000'000;
constexpr double kPort = 400e9;  // NVLink, byte/s
constexpr double kNic = 50e9;

// Boxes of 8 GPUs under one leaf; latencies are zero unless the tuning has some.
Network boxes(std::uint32_t nodes, int nics, int nodes_per_leaf = 64, int spines = 1) {
  const Wire nvlink = Wire::pure(Rate::bytes_per_second(kPort), {});
  const Wire pcie = Wire::pure(Rate::bytes_per_second(10 * kNic), {});
  const Wire wire = Wire::pure(Rate::bytes_per_second(kNic), {});
  return Network({.nodes = nodes,
                  .server = NvSwitchServer({.gpus = 8, .nics = nics, .nvlink = nvlink, .gpu_pcie = pcie, .nic_pcie = pcie}),
                  .fabric = {.nodes_per_leaf = nodes_per_leaf, .spines = spines, .host = wire, .leaf_spine = wire}});
}

// No latency, no protocol but the full one counts: all three are alike.
CollectiveTuning plain() {
  CollectiveTuning t;
  t.nvlink = Rate::bytes_per_second(kPort);
  return t;
}
// Times that can be told apart in a sum: base 1 s, NVLink hop 1 ms, network hop 1 us.
CollectiveTuning counting() {
  CollectiveTuning t;
  for (auto* rows : {&t.ring, &t.tree}) {
    for (ProtocolCost& c : *rows) {
      c.base = Duration::micros(1'000'000);
      c.nvlink_hop = Duration::micros(1'000);
      c.network_hop = Duration::micros(1);
    }
  }
  return t;
}

CollectiveRequest request(CollectiveKind kind, Algorithm algorithm, std::size_t gpus, std::int64_t size,
                          std::size_t stride = 1) {
  CollectiveRequest r{.kind = kind, .sizes = {size}, .algorithm = algorithm};
  for (std::size_t i = 0; i < gpus; ++i) r.members.push_back(EndpointId::from_index(i * stride));
  return r;
}

double seconds(const Network& net, const CollectiveTuning& t, const CollectiveRequest& r,
               NetworkKind kind = NetworkKind::kFlow) {
  const Router router(net, RoutingPolicy::kStatic, 0);
  return run_collective(r, router, {t, t, t}, kind).front().time_s;
}

// ---- closed forms: bandwidth ----

// One box, n = 8, port B. Ring: 2 x 7/8 S. Tree: a chain, S up and S down through every port amid it: 2 S. Halving/doubling: S/2 + S/4
// + S/8 twice: 2 x 7/8 S.
TEST(Algorithms, FillThePortInOneBox) {
  const Network net = boxes(1, 8);
  const std::int64_t s = 800 * kMB;
  const double unit = static_cast<double>(s) / kPort;
  const auto time = [&](CollectiveKind kind, Algorithm a) { return seconds(net, plain(), request(kind, a, 8, s)); };
  EXPECT_NEAR(time(CollectiveKind::kAllReduce, Algorithm::kRing), 1.75 * unit, 1e-11);
  EXPECT_NEAR(time(CollectiveKind::kAllReduce, Algorithm::kTree), 2 * unit, 1e-11);
  EXPECT_NEAR(time(CollectiveKind::kAllReduce, Algorithm::kHalvingDoubling), 1.75 * unit, 1e-11);
  EXPECT_NEAR(time(CollectiveKind::kAllGather, Algorithm::kHalvingDoubling), 0.875 * unit, 1e-11);
  EXPECT_NEAR(time(CollectiveKind::kReduceScatter, Algorithm::kHalvingDoubling), 0.875 * unit, 1e-11);
  EXPECT_NEAR(time(CollectiveKind::kBroadcast, Algorithm::kTree), unit, 1e-11);
  EXPECT_NEAR(time(CollectiveKind::kReduce, Algorithm::kTree), unit, 1e-11);
  // Six ranks: two fold first and are served last: S + 2 x 3/4 S + S.
  EXPECT_NEAR(seconds(net, plain(), request(CollectiveKind::kAllReduce, Algorithm::kHalvingDoubling, 6, s)), 3.5 * unit, 1e-11);
}

// N boxes with one NIC each, 8 GPUs a box. A ring crosses each NIC once: 2(n-1)/n S. A tree: with two nodes each is the root of one
// tree and sends S/2 up and S/2 down: S. With more, who has two children sends S/2 to its parent, S/2 to each child, and S/2 up as a leaf of the
// other tree: 2 S.
TEST(Algorithms, TwoNodesOfATreeMoveHalfOfWhatMoreDo) {
  const std::int64_t s = 800 * kMB;
  const double unit = static_cast<double>(s) / kNic;
  const auto time = [&](std::uint32_t nodes, Algorithm a) {
    return seconds(boxes(nodes, 1), plain(), request(CollectiveKind::kAllReduce, a, 8 * nodes, s));
  };
  EXPECT_NEAR(time(2, Algorithm::kRing), 2.0 * 15 / 16 * unit, 1e-11);
  EXPECT_NEAR(time(2, Algorithm::kTree), unit, 1e-11);
  EXPECT_NEAR(time(4, Algorithm::kTree), 2 * unit, 1e-11);
  EXPECT_NEAR(time(9, Algorithm::kTree), 2 * unit, 1e-11);
}

// Broadcast from one of N nodes over one NIC each: the root's node feeds two trees with S/2 each, an inner node sends S/2 twice. One
// way everything is S/B, whatever N is.
TEST(Algorithms, ATreeBroadcastsAtTheRateOfTheNic) {
  const std::int64_t s = 800 * kMB;
  for (const std::uint32_t nodes : {2u, 3u, 8u, 9u}) {
    for (const CollectiveKind kind : {CollectiveKind::kBroadcast, CollectiveKind::kReduce}) {
      EXPECT_NEAR(seconds(boxes(nodes, 1), plain(), request(kind, Algorithm::kTree, 8 * nodes, s)),
                  static_cast<double>(s) / kNic, 1e-11)
          << nodes << " " << to_text(kind);
    }
  }
}

// 4 boxes x 8 GPUs x 8 NICs. Inside 7/8 S over the port, across 2 x 3/4 x S/8 over a NIC each, inside 7/8 S again.
TEST(Algorithms, HierarchicalIsThreeRings) {
  const Network net = boxes(4, 8);
  const std::int64_t s = 800 * kMB;
  const double inside = 0.875 * static_cast<double>(s) / kPort;
  const double across = 0.75 * static_cast<double>(s) / 8 / kNic;
  const auto time = [&](CollectiveKind kind) { return seconds(net, plain(), request(kind, Algorithm::kHierarchical, 32, s)); };
  EXPECT_NEAR(time(CollectiveKind::kAllReduce), 2 * inside + 2 * across, 1e-11);
  EXPECT_NEAR(time(CollectiveKind::kAllGather), inside + across, 1e-11);
  EXPECT_NEAR(time(CollectiveKind::kReduceScatter), inside + across, 1e-11);
}

// The same with two NICs a box: four rings share one, so across takes four times as long.
TEST(Algorithms, RingsAcrossShareNics) {
  const std::int64_t s = 800 * kMB;
  const double inside = 0.875 * static_cast<double>(s) / kPort;
  const double across = 4 * 0.75 * static_cast<double>(s) / 8 / kNic;
  EXPECT_NEAR(seconds(boxes(4, 2), plain(), request(CollectiveKind::kAllGather, Algorithm::kHierarchical, 32, s)),
              inside + across, 1e-11);
}

// A GPU with two NICs exchanges over both.
TEST(Algorithms, AGpuUsesAllNicsOfItsOwn) {
  const std::int64_t s = 800 * kMB;
  const double half = static_cast<double>(s) / 2 / kNic;
  const auto time = [&](int nics, Algorithm a) {
    return seconds(boxes(2, nics), plain(), request(CollectiveKind::kAllGather, a, 2, s, 8));
  };
  EXPECT_NEAR(time(8, Algorithm::kHalvingDoubling), half, 1e-11);
  EXPECT_NEAR(time(16, Algorithm::kHalvingDoubling), half / 2, 1e-11);
}

// Contention between members: 8 boxes of one GPU, one NIC each, two to a leaf of one spine, so a leaf's two nodes share one uplink of the
// rate of a NIC. Distance 1 stays under the leaf: S/8. Distances 2 and 4 leave it, two senders on the uplink: S/4 x 2 and S/2 x 2.
TEST(Algorithms, ExchangesQueueAtATrunk) {
  const Network net = boxes(8, 1, 2, 1);
  const std::int64_t s = 800 * kMB;
  const CollectiveRequest r = request(CollectiveKind::kAllGather, Algorithm::kHalvingDoubling, 8, s, 8);
  EXPECT_NEAR(seconds(net, plain(), r), (0.125 + 0.5 + 1) * static_cast<double>(s) / kNic, 1e-11);
  // Analytic: the same, for members of a stage share links there as well.
  EXPECT_NEAR(seconds(net, plain(), r, NetworkKind::kAnalytic), (0.125 + 0.5 + 1) * static_cast<double>(s) / kNic, 1e-11);
}

// 4 boxes of 8 GPUs and 8 NICs, two boxes to a leaf, one uplink of the rate of a NIC. Hierarchical: each of 8 rings across leaves a leaf once with
// 3/4 S/8: 3/4 S on the uplink. Tree over nodes 0 1 | 2 3: of the edges 3-1, 1-0, 1-2 and, mirrored, 0-2, 2-3, 2-1 four cross, with S/2 each way:
// 2 S. Ring: 2 x 31/32 S.
TEST(Algorithms, TrunksAreShared) {
  const Network net = boxes(4, 8, 2, 1);
  const std::int64_t s = 800 * kMB;
  const double trunk = static_cast<double>(s) / kNic;
  const auto time = [&](CollectiveKind kind, Algorithm a) { return seconds(net, plain(), request(kind, a, 32, s)); };
  const double inside = 0.875 * static_cast<double>(s) / kPort;
  EXPECT_NEAR(time(CollectiveKind::kAllGather, Algorithm::kHierarchical), inside + 0.75 * trunk, 1e-10);
  EXPECT_NEAR(time(CollectiveKind::kAllReduce, Algorithm::kTree), 2 * trunk, 1e-10);
  EXPECT_NEAR(time(CollectiveKind::kAllReduce, Algorithm::kRing), 2.0 * 31 / 32 * trunk, 1e-10);
}

// ---- closed forms: latency ----

// 8 nodes x 8 GPUs, empty messages; base . NVLink hops . network hops, read off as seconds . milliseconds . microseconds.
//   ring          1 . 2 x 63 - 2 x 7 = 112 . 2 x 7 = 14
//   tree          1 . 2 x 7 = 14           . 2 x log2 8 = 6
//   hierarchical  3 . 7 + 7 = 14           . 2 x 7 = 14
//   halving       1 . 2 x 3 = 6            . 2 x 3 = 6
TEST(Algorithms, HopsAreCounted) {
  const Network net = boxes(8, 8);
  const auto micros = [&](Algorithm a, CollectiveKind kind = CollectiveKind::kAllReduce, std::size_t gpus = 64) {
    return std::llround(seconds(net, counting(), request(kind, a, gpus, 0)) * 1e6);
  };
  EXPECT_EQ(micros(Algorithm::kRing), 1'112'014);
  EXPECT_EQ(micros(Algorithm::kTree), 1'014'006);
  EXPECT_EQ(micros(Algorithm::kHierarchical), 3'014'014);
  EXPECT_EQ(micros(Algorithm::kHalvingDoubling), 1'006'006);
  // One way: chain of 7; the root's hop and a tree over 7 nodes, depth 2.
  EXPECT_EQ(micros(Algorithm::kTree, CollectiveKind::kBroadcast), 1'007'003);
  EXPECT_EQ(micros(Algorithm::kHalvingDoubling, CollectiveKind::kAllGather), 1'003'003);
  // 24 = 16 + 8: on the first two nodes 8 fold into 8, inside, and are served again; these and the 8 of the third node exchange at distance 1
  // and 2 inside, at 4 inside the third and between the others (the longer hop counts, here NVLink's), at 8 between.
  EXPECT_EQ(micros(Algorithm::kHalvingDoubling, CollectiveKind::kAllReduce, 24), 1'008'002);
}

// LL, LL128, Simple of trees: payload 1/3.8, 7/9 on one node or 120/128 on several, 1; bases 6.8, 14, 8.4 us; hops 0.6, 1.25, 4 and 5, 8.5, 14
// us; trees leave 1 - 0.92 x 0.85 of the port. Source: NCCL's tuner. LL is limited to half of llMaxBw of the reduced data.
TEST(Algorithms, TreeConstantsAreThoseOfTheTuner) {
  const CollectiveTuning t = tuning_for(test::tuner_alone(), GpuGeneration::kHopper, Rate::bytes_per_second(kPort), 0, 2);
  const Network net = boxes(2, 1);
  const auto time = [&](Protocol p, std::int64_t size) {
    CollectiveRequest r = request(CollectiveKind::kAllReduce, Algorithm::kTree, 4, size, 4);  // two GPUs of each box
    r.protocol = p;
    return seconds(net, t, r);
  };
  EXPECT_NEAR(time(Protocol::kLl, 0), (6.8 + 2 * 0.6 + 2 * 5) * 1e-6, 2e-12);
  EXPECT_NEAR(time(Protocol::kLl128, 0), (14 + 2 * 1.25 + 2 * 8.5) * 1e-6, 2e-12);
  EXPECT_NEAR(time(Protocol::kSimple, 0), (8.4 + 2 * 4 + 2 * 14) * 1e-6, 2e-12);
  const std::int64_t s = 800 * kMB;
  const double unit = static_cast<double>(s) / kNic;
  EXPECT_NEAR(time(Protocol::kLl, s) - time(Protocol::kLl, 0), 3.8 * unit, 1e-9);
  EXPECT_NEAR(time(Protocol::kLl128, s) - time(Protocol::kLl128, 0), 128.0 / 120 * unit, 1e-9);
  EXPECT_NEAR(time(Protocol::kSimple, s) - time(Protocol::kSimple, 0), unit, 1e-9);
  // One box of two GPUs: S over the port each way, at 0.782 of it. LL: llMaxBw 141 GB/s of bus bandwidth is 70.5 of data.
  const CollectiveTuning one = tuning_for(test::tuner_alone(), GpuGeneration::kHopper, Rate::bytes_per_second(kPort), 0, 1);
  CollectiveRequest r = request(CollectiveKind::kAllReduce, Algorithm::kTree, 2, s);
  r.protocol = Protocol::kSimple;
  EXPECT_NEAR(seconds(boxes(1, 1), one, r), (8.4 + 2 * 4) * 1e-6 + static_cast<double>(s) / (0.782 * kPort), 1e-9);
  r.protocol = Protocol::kLl;
  EXPECT_NEAR(seconds(boxes(1, 1), one, r), (6.8 + 2 * 0.6) * 1e-6 + static_cast<double>(s) / 70.5e9, 1e-9);
}

// ---- choice ----

// auto is as fast as the fastest that can be forced, on an undisturbed network, for every kind, size and number of GPUs.
TEST(Algorithms, AutoIsNeverSlowerThanAnyForced) {
  const CollectiveTuning t = tuning_for(test::shipped_tuning(), GpuGeneration::kHopper, Rate::bytes_per_second(kPort), 0.2, 3);
  const Network net = boxes(4, 4, 2, 1);
  int refused = 0;
  for (const std::size_t gpus : {2u, 6u, 8u, 16u, 24u, 32u}) {
    for (const CollectiveKind kind : kStagedKinds) {
      for (std::int64_t size = 8; size < std::int64_t{1} << 34; size *= 16) {
        const double best = seconds(net, t, request(kind, Algorithm::kAuto, gpus, size));
        double forced = 1e9;
        for (const Algorithm a : kAlgorithms) {
          if (!is_of_nccl(a) || a == Algorithm::kPat) continue;  // auto leaves them out
          try {
            forced = std::min(forced, seconds(net, t, request(kind, a, gpus, size)));
          } catch (const UserError&) {
            ++refused;
          }
        }
        // A stage of one protocol rounds up to a picosecond, the estimate does not.
        EXPECT_NEAR(best, forced, 1e-11) << to_text(kind) << " " << gpus << " GPUs " << size;
      }
    }
  }
  EXPECT_GT(refused, 0);
}

// Small messages want few hops, large ones few bytes.
TEST(Algorithms, TheChoiceCrossesOverWithSize) {
  const CollectiveTuning t = tuning_for(test::shipped_tuning(), GpuGeneration::kHopper, Rate::bytes_per_second(kPort), 0.2, 3);
  const Network net = boxes(4, 8);
  const Router router(net, RoutingPolicy::kStatic, 0);
  CollectiveRequest r = request(CollectiveKind::kAllReduce, Algorithm::kAuto, 32, 8);
  r.sizes.push_back(std::int64_t{1} << 33);
  const auto rows = run_collective(r, router, {t, t, t}, NetworkKind::kFlow);
  EXPECT_EQ(rows[0].algorithm, "tree");
  EXPECT_EQ(rows[1].algorithm, "ring");
}

// What cannot be done is refused with what can.
TEST(Algorithms, OneThatCannotIsRefused) {
  const auto message = [](CollectiveKind kind, Algorithm a, std::size_t gpus) -> std::string {
    try {
      static_cast<void>(seconds(boxes(2, 8), plain(), request(kind, a, gpus, 8)));
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message(CollectiveKind::kAllGather, Algorithm::kTree, 16).substr(0, 68),
            "error: the algorithm 'tree' cannot do all_gather on these 16 GPUs (t");
  EXPECT_NE(message(CollectiveKind::kAllGather, Algorithm::kTree, 16).find("by ring, pat, hierarchical, halving_doubling"),
            std::string::npos);
  EXPECT_NE(message(CollectiveKind::kAllReduce, Algorithm::kHierarchical, 12).find("by ring, tree, halving_doubling"),
            std::string::npos);
  EXPECT_NE(message(CollectiveKind::kReduceScatter, Algorithm::kHalvingDoubling, 12).find("by ring"), std::string::npos);
  EXPECT_NE(message(CollectiveKind::kAllToAll, Algorithm::kRing, 16).find("by direct"), std::string::npos);
  EXPECT_EQ(message(CollectiveKind::kAllToAll, Algorithm::kDirect, 16), "");
}

}  // namespace
}  // namespace lockstep
