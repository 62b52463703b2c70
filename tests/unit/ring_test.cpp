// SPDX-License-Identifier: Apache-2.0
#include "workloads/collectives/ring.h"

#include <gtest/gtest.h>

#include <cmath>

#include <map>

#include "tests/support/shipped.h"
#include "topology/hardware/gpu_spec.h"
#include "topology/network.h"

namespace lockstep {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

Network dgx(std::uint32_t nodes, int nics) {
  const Wire nvlink = Wire::pure(Rate::bytes_per_second(240e9), {});
  const Wire pcie = Wire::pure(Rate::bytes_per_second(48e9), {});
  const Wire wire = Wire::pure(Rate::gbps(200), Duration::nanos(500));
  return Network({.nodes = nodes,
                  .server = NvSwitchServer({.gpus = 8, .nics = nics, .nvlink = nvlink, .gpu_pcie = pcie, .nic_pcie = pcie}),
                  .fabric = {.nodes_per_leaf = 4, .spines = 4, .host = wire, .leaf_spine = wire}});
}

std::vector<EndpointId> first(std::size_t n, std::size_t stride = 1) {
  std::vector<EndpointId> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(EndpointId::from_index(i * stride));
  return out;
}

// Sum of coefficients per tier.
std::map<LinkTier, std::int64_t> load(const Network& net, const Route& route) {
  std::map<LinkTier, std::int64_t> out;
  for (const LinkShare& s : route.shares) out[net.link(s.link).tier] += s.coefficient;
  return out;
}

// 8 GPUs in one box, one channel: every GPU sends to its successor, so 8 edges over 8 ports up and 8 down, once each.
TEST(Ring, UsesEveryNvlinkPortOnceInOneNode) {
  const Network net = dgx(1, 8);
  const Router router(net, RoutingPolicy::kStatic, 0);
  const RingShape shape = shape_ring(router, first(8), 0);
  EXPECT_EQ(shape.channels, 1);
  EXPECT_EQ(shape.closed.shares.size(), 16u);
  for (const LinkShare& s : shape.closed.shares) EXPECT_EQ(s.coefficient, shape.weight);
  EXPECT_EQ(load(net, shape.open)[LinkTier::kNvlink], 14 * shape.weight);  // the chain lacks the last edge
}

// 2 nodes x 8 GPUs x 8 NICs: 8 channels, each enters and leaves every node once over its own NIC. Inside a node a channel has 7 edges;
// 8 channels x 7 edges over 8 GPUs: 7 on every NVLink port.
TEST(Ring, RunsOverAllNicsOfANode) {
  const Network net = dgx(2, 8);
  const Router router(net, RoutingPolicy::kStatic, 0);
  const RingShape shape = shape_ring(router, first(16), 0);
  EXPECT_EQ(shape.channels, 8);
  for (const LinkShare& s : shape.closed.shares) {
    const LinkTier tier = net.link(s.link).tier;
    if (tier == LinkTier::kNvlink) {
      EXPECT_EQ(s.coefficient, 7 * shape.weight);
    }
    if (tier == LinkTier::kHost) {
      EXPECT_EQ(s.coefficient, shape.weight);
    }
  }
  EXPECT_EQ(load(net, shape.closed)[LinkTier::kHost], 2 * 2 * 8 * shape.weight);
}

// 8 nodes, four to a leaf, one GPU each, visited in the order of their ranks. In order only the hops 3 > 4 and 7 > 0 cross the spines; in turns between the
// leaves all 8 do. A crossing takes a link up and a link down.
TEST(Ring, VisitsNodesInTheOrderOfTheirFirstRanks) {
  const Network net = dgx(8, 8);
  const Router router(net, RoutingPolicy::kStatic, 0);
  std::vector<EndpointId> in_turns;
  for (const std::uint32_t node : {0u, 4u, 1u, 5u, 2u, 6u, 3u, 7u}) in_turns.push_back(EndpointId(8 * node));
  const RingShape in_order = shape_ring(router, first(8, 8), 0);
  const RingShape crossing = shape_ring(router, in_turns, 0);
  EXPECT_EQ(load(net, in_order.closed)[LinkTier::kLeafSpine], 2 * 2 * in_order.weight);
  EXPECT_EQ(load(net, crossing.closed)[LinkTier::kLeafSpine], 2 * 8 * crossing.weight);
}

// One NIC per node carries every channel there is: one.
TEST(Ring, HasOneChannelPerNicOfItsMembers) {
  const Network one_nic = dgx(2, 1);
  EXPECT_EQ(shape_ring(Router(one_nic, RoutingPolicy::kStatic, 0), first(16), 0).channels, 1);
  // One GPU per node owns one NIC.
  const Network net = dgx(4, 8);
  const RingShape shape = shape_ring(Router(net, RoutingPolicy::kStatic, 0), first(4, 8), 0);
  EXPECT_EQ(shape.channels, 1);
  EXPECT_EQ(shape.nvlink_channels, 0);
  EXPECT_EQ(shape.nodes, 4);
  // Two members per node own two.
  std::vector<EndpointId> pairs;
  for (std::uint32_t node = 0; node < 4; ++node) {
    pairs.push_back(EndpointId(node * 8));
    pairs.push_back(EndpointId(node * 8 + 1));
  }
  EXPECT_EQ(shape_ring(Router(net, RoutingPolicy::kStatic, 0), pairs, 0).channels, 2);
}

// However many channels a ring has, the weights of its members over all channels sum to one sharer's: 240 = 8 x 30 = 1 x 240.
TEST(Ring, ChannelsShareOneWeight) {
  const Network net = dgx(2, 8);
  const Router router(net, RoutingPolicy::kStatic, 0);
  EXPECT_EQ(shape_ring(router, first(16), 0).weight, kSharerWeight / 8);
  EXPECT_EQ(shape_ring(router, first(8), 0).weight, kSharerWeight);
}

// Bytes per edge for n = 8, one channel: all_reduce 2 x 7/8 S, all_gather 7/8 S, broadcast S. 8 members, 7 on the chain.
TEST(Ring, CarriesTheBytesOfItsCollective) {
  const Network net = dgx(1, 8);
  const Router router(net, RoutingPolicy::kStatic, 0);
  const RingShape shape = shape_ring(router, first(8), 0);
  const CollectiveTuning tuning =
      tuning_for(test::shipped_tuning(), GpuGeneration::kAmpere, Rate::bytes_per_second(240e9), 0.5, 1);
  const Rate line = undisturbed_rate(net, shape.closed, shape.weight);
  EXPECT_EQ(lower_ring(shape, tuning, CollectiveKind::kAllReduce, kGiB, line).bytes, 2 * kGiB / 8 * 7);
  EXPECT_EQ(lower_ring(shape, tuning, CollectiveKind::kAllGather, kGiB, line).bytes, kGiB / 8 * 7);
  EXPECT_EQ(lower_ring(shape, tuning, CollectiveKind::kReduceScatter, kGiB, line).members, 8);
  const LoweredRing chain = lower_ring(shape, tuning, CollectiveKind::kBroadcast, kGiB, line);
  EXPECT_EQ(chain.bytes, kGiB);
  EXPECT_EQ(chain.members, 7);
  // A size that does not divide rounds up: 2 x 7/8 x 3 bytes = 5.25.
  EXPECT_EQ(lower_ring(shape, tuning, CollectiveKind::kAllReduce, 3, line).bytes, 6);
}

// all_reduce on n GPUs has 2n-1 primitives of which one does not send; with drain d the rate is capped at (1 - d/(2n-1)) of the port:
// n = 2: 240 (1 - 0.5/3) = 200 GB/s; n = 8: 240 (1 - 0.5/15) = 232 GB/s. all_gather has n primitives: n = 8: 240 (1 - 0.5/8) = 225.
TEST(Ring, DrainCapsSmallRingsMost) {
  const Network net = dgx(1, 8);
  const Router router(net, RoutingPolicy::kStatic, 0);
  const CollectiveTuning tuning =
      tuning_for(test::shipped_tuning(), GpuGeneration::kAmpere, Rate::bytes_per_second(240e9), 0.5, 1);
  const auto cap = [&](std::size_t n, CollectiveKind kind) {
    const RingShape shape = shape_ring(router, first(n), 0);
    return lower_ring(shape, tuning, kind, 16 * kGiB, undisturbed_rate(net, shape.closed, shape.weight))
               .rate_cap.bytes_per_second() /
           1e9;
  };
  EXPECT_NEAR(cap(2, CollectiveKind::kAllReduce), 200, 1e-3);
  EXPECT_NEAR(cap(8, CollectiveKind::kAllReduce), 232, 1e-3);
  EXPECT_NEAR(cap(8, CollectiveKind::kAllGather), 225, 1e-3);
}

// Latency of n = 16 on 2 nodes, Simple: 8.4 + 28 x 3.4 + 2 x (14 + path) us; 30 steps, of which 2 x (2 - 1) between nodes.
// Path: PCIe and host links; only the host wires have latency, 2 x 500 ns under one leaf.
TEST(Ring, LatencyFollowsTheTable) {
  const Network net = dgx(2, 8);
  const Router router(net, RoutingPolicy::kStatic, 0);
  const RingShape shape = shape_ring(router, first(16), 0);
  const CollectiveTuning tuning =
      tuning_for(test::tuner_alone(), GpuGeneration::kAmpere, Rate::bytes_per_second(240e9), 0.5, 2);
  const Rate line = undisturbed_rate(net, shape.closed, shape.weight);
  const Protocol simple = Protocol::kSimple;
  const LoweredRing c = lower_ring(shape, tuning, CollectiveKind::kAllReduce, 0, line, &simple);
  EXPECT_EQ(c.latency, Duration::nanos(8400 + 28 * 3400 + 2 * (14000 + 1000)));
}

// What was measured beside the tuner's tables: A100 launch in 8 us, take 1.5 times the steps inside a node and fill a pipeline for sqrt(6 us x
// transfer). On one node of 8, Simple, S = 1 MiB over one port of 240 GB/s: 8 + 8.4 + 14 x 5.1 us, 14/8 S / 240 = 7.65 us, sqrt(6 x 7.65) = 6.77.
TEST(Ring, LaunchStepsAndFillAreMeasured) {
  const Network net = dgx(1, 8);
  const Router router(net, RoutingPolicy::kStatic, 0);
  const RingShape shape = shape_ring(router, first(8), 0);
  const CollectiveTuning tuning =
      tuning_for(test::shipped_tuning(), GpuGeneration::kAmpere, Rate::bytes_per_second(240e9), 0, 1);
  const Rate line = undisturbed_rate(net, shape.closed, shape.weight);
  const Protocol simple = Protocol::kSimple;
  const auto lowered = [&](std::int64_t bytes) {
    return lower_ring(shape, tuning, CollectiveKind::kAllReduce, bytes, line, &simple);
  };
  EXPECT_EQ(lowered(0).latency, Duration::nanos(8000 + 8400 + 14 * 5100));
  constexpr std::int64_t kMib = 1 << 20;
  const double transfer = 14.0 / 8 * kMib / 240e9;
  EXPECT_NEAR((lowered(kMib).latency - lowered(0).latency).seconds(), std::sqrt(6e-6 * transfer), 1e-9);
  EXPECT_NEAR((lowered(16 * kMib).latency - lowered(0).latency).seconds(), std::sqrt(16 * 6e-6 * transfer),
              1e-9);  // twice, not 16 times
}

// Small messages take LL (least latency), large ones Simple (full bandwidth).
TEST(Ring, ChoosesTheProtocolByTime) {
  const Network net = dgx(1, 8);
  const Router router(net, RoutingPolicy::kStatic, 0);
  const RingShape shape = shape_ring(router, first(8), 0);
  const CollectiveTuning tuning =
      tuning_for(test::shipped_tuning(), GpuGeneration::kAmpere, Rate::bytes_per_second(240e9), 0.5, 1);
  const Rate line = undisturbed_rate(net, shape.closed, shape.weight);
  EXPECT_EQ(lower_ring(shape, tuning, CollectiveKind::kAllReduce, 8, line).protocol, Protocol::kLl);
  EXPECT_EQ(lower_ring(shape, tuning, CollectiveKind::kAllReduce, kGiB, line).protocol, Protocol::kSimple);
}

}  // namespace
}  // namespace lockstep
