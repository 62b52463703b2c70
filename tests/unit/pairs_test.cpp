// SPDX-License-Identifier: Apache-2.0
// all_to_all as a stage of a program: against closed forms, and token exchange against DeepEP's published rates.
#include "workloads/collectives/pairs.h"

#include <gtest/gtest.h>

#include "tests/support/shipped.h"
#include "topology/cluster_spec.h"
#include "workloads/collectives/communicator.h"

namespace lockstep {
namespace {

// Boxes of 8 GPUs with NVLink of 400 GB/s and a NIC of 50 GB/s each, under one leaf; no latencies.
Network boxes(std::uint32_t nodes) {
  const Wire nvlink = Wire::pure(Rate::bytes_per_second(400e9), {});
  const Wire nic = Wire::pure(Rate::bytes_per_second(50e9), {});
  const Wire pcie = Wire::pure(Rate::bytes_per_second(500e9), {});
  return Network({.nodes = nodes,
                  .server = NvSwitchServer({.gpus = 8, .nics = 8, .nvlink = nvlink, .gpu_pcie = pcie, .nic_pcie = pcie}),
                  .fabric = {.nodes_per_leaf = 64, .spines = 1, .host = nic, .leaf_spine = nic}});
}

double seconds(const Network& net, std::int64_t bytes, const TokenRouting& routing) {
  const Router router(net, RoutingPolicy::kSpray, 0);
  std::vector<EndpointId> members;
  for (std::size_t e = 0; e < net.endpoint_count(); ++e) members.push_back(EndpointId::from_index(e));
  std::vector<FormRoute> routes;
  const CommunicatorShape shape = shape_communicator(
      router, {.members = members, .kinds = 1u << static_cast<unsigned>(CollectiveKind::kAllToAll), .routing = routing},
      routes);
  const CollectiveTuning none;
  const std::array<CollectiveTuning, 3> tunings = {none, none, none};
  LoweredCollective lowered;
  lower_collective({.ring = shape.ring,
                    .closed_rate = shape.closed_rate,
                    .open_rate = shape.open_rate,
                    .others = shape.others,
                    .tunings = tunings,
                    .kind = CollectiveKind::kAllToAll,
                    .bytes = bytes},
                   lowered);
  return undisturbed_seconds(lowered);
}

// S / n to each of 7 peers over one port: 7/8 x 8 GB / 400 GB/s. On four nodes 24 of 32 leave through the NIC: 3/4 x 8 GB / 50 GB/s.
TEST(AllToAll, TakesAsLongAsTheSlowestLinkNeeds) {
  EXPECT_NEAR(seconds(boxes(1), 8'000'000'000, {}), 7.0 / 8 * 8 / 400, 1e-6);
  EXPECT_NEAR(seconds(boxes(4), 8'000'000'000, {}), 3.0 / 4 * 8 / 50, 1e-5);
}

// One of 4 experts in two draws: 1 - 3/4 x 2/3 = 1/2. All of one: 1. Eight of 256 on 8 of 64 parts (32 experts): 1 - C(224,8)/C(256,8) = 0.6613.
TEST(TokenRouting, CountsChoicesWithoutRepetition) {
  EXPECT_DOUBLE_EQ(hit_probability({4, 2}, 1), 0.5);
  EXPECT_DOUBLE_EQ(hit_probability({4, 2}, 3), 1);
  EXPECT_DOUBLE_EQ(hit_probability({8, 1}, 2), 0.25);
  double missed = 1;
  for (int i = 0; i < 8; ++i) missed *= (224.0 - i) / (256.0 - i);
  EXPECT_DOUBLE_EQ(hit_probability({256, 8}, 32), 1 - missed);
}

// Eight of 256 experts on four nodes: P = 1 - C(192,8)/C(256,8) = 0.904 of the tokens go to each of three others, once, instead of a quarter of
// eight copies: 8 x (1/4) / 0.904 = 2.2 times faster, but for 93 % of the rate.
TEST(TokenRouting, OneCopyPerNodeIsFasterByTheCopiesItSaves) {
  const Network net = boxes(4);
  const double saved = 2 / hit_probability({256, 8}, 64);
  const double plain = seconds(net, 8'000'000'000, {});
  EXPECT_NEAR(plain / seconds(net, 8'000'000'000, {256, 8}), saved * 0.93, 0.001);
  EXPECT_GT(saved, 2);
}

// One copy per token has nothing to share: as plain, but for the kernels' share of the rate.
TEST(TokenRouting, OneExpertPerTokenSavesNothing) {
  EXPECT_NEAR(seconds(boxes(4), 8'000'000'000, {256, 1}) * 0.93, seconds(boxes(4), 8'000'000'000, {}), 1e-4);
  EXPECT_NEAR(seconds(boxes(1), 8'000'000'000, {256, 1}) * 0.86, seconds(boxes(1), 8'000'000'000, {}), 1e-5);
}

// Published are bytes that go to all nodes (on one node, to all GPUs), the sender's own too, over the time. DeepEP, V3: hidden 7168, 8 of 256.
// On two nodes NVLink decides on an H800 (5.7 messages inside for one outside) and the NIC on an H100; `SM90` of that row is taken for one.
TEST(TokenRouting, MatchesDeepEp) {
  struct Row {
    const char* gpu;
    const char* nodes;
    std::int64_t count;
    std::int64_t tokens;
    double dispatch;
    double combine;
  };
  const Row rows[] = {{"h800-sxm", "nodes=1", 1, 4096, 153, 158}, {"h800-sxm", "nodes=4", 4, 4096, 58, 57},
                      {"h800-sxm", "nodes=8", 8, 4096, 51, 50},   {"h800-sxm", "nodes=2", 2, 4096, 43, 43},
                      {"h100-sxm", "nodes=2", 2, 8192, 90, 81},   {"h100-sxm", "nodes=4", 4, 8192, 61, 61},
                      {"b200-sxm", "nodes=1", 1, 8192, 726, 740}};
  for (const Row& row : rows) {
    const Network net = build_network(test::cluster("dgx-h100", {row.nodes, std::string("server.gpu=") + row.gpu}));
    const std::int64_t token = 7168 * 2;
    const double time = seconds(net, row.tokens * 8 * token, {256, 8});
    const std::int64_t places = row.count == 1 ? 8 : row.count;
    const double bytes = hit_probability({256, 8}, 256 / places) * static_cast<double>(places * row.tokens * token);
    const double rate = bytes / time * 1e-9;
    EXPECT_NEAR(rate / row.dispatch, 1, row.dispatch == 43 ? 0.16 : 0.06) << row.gpu << ' ' << row.nodes;
    EXPECT_NEAR(rate / row.combine, 1, row.combine == 43 ? 0.16 : 0.11);
  }
}

}  // namespace
}  // namespace lockstep
