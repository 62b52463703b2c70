// SPDX-License-Identifier: Apache-2.0
// The constants of the collective library: those shipped, and how a cluster names and changes them.
#include "topology/hardware/tuning_spec.h"

#include <gtest/gtest.h>

#include "sim/experiment/cluster_run.h"
#include "tests/support/cluster_fixtures.h"
#include "tests/support/shipped.h"

namespace lockstep {
namespace {

constexpr std::size_t kSimple = 2;

double microseconds(Duration d) { return d.seconds() * 1e6; }

// NCCL v2.30.7, src/graph/tuning.cc: baseLatencies, hwLatencies, llMaxBw.
TEST(Tuning, ShippedConstantsAreThoseOfTheTuner) {
  const TuningSpec t = test::shipped_tuning();
  EXPECT_EQ(t.name, "nccl");
  EXPECT_DOUBLE_EQ(microseconds(t.ring.ll.base), 6.6);
  EXPECT_DOUBLE_EQ(microseconds(t.ring.ll128.nvlink_hop), 1.9);
  EXPECT_DOUBLE_EQ(microseconds(t.ring.simple.pcie_hop), 5.7);
  EXPECT_DOUBLE_EQ(microseconds(t.ring.simple.network_hop), 14);
  EXPECT_DOUBLE_EQ(microseconds(t.tree.ll128.network_hop), 8.5);
  EXPECT_EQ(t.tree.ll.rate_factor, 1 / 3.8);
  EXPECT_EQ(t.tree.ll128.rate_factor_one_node, 7.0 / 9);
  EXPECT_EQ(t.tree_inside_share, 0.92 * 0.85);
  EXPECT_EQ(t.of(GpuGeneration::kHopper).ll_limit[1], Rate::bytes_per_second(45e9));
  EXPECT_EQ(t.of(GpuGeneration::kVolta).ll_limit[2], Rate::bytes_per_second(20.4e9));
}

// Launch is added to every base, hop_scale multiplies hops, inside a node and between nodes: simple ring 8.4 + 5 us, 3.4 x 2 us over
// NVLink, 14 x 0.5 us over the network, whose own file adds nothing.
TEST(Tuning, AClusterMayChangeSingleConstants) {
  const auto c = test::read_cluster(
      "kind: cluster\nnodes: 2\nserver: dgx-h100\nnetwork: ib-8x400\n",
      {"tuning.generations.hopper.launch=5 us", "tuning.generations.hopper.hop_scale=2", "tuning.transports.ib.hop_scale=0.5"});
  ASSERT_TRUE(c.is_good) << c.messages.front();
  const PreparedCluster prepared(c.spec, 0);
  const ProtocolCost& simple = prepared.tunings[1].ring[kSimple];
  EXPECT_DOUBLE_EQ(microseconds(simple.base), 13.4);
  EXPECT_DOUBLE_EQ(microseconds(simple.nvlink_hop), 6.8);
  EXPECT_DOUBLE_EQ(microseconds(simple.network_hop), 7);
}

TEST(Tuning, IsThatOfNcclUnlessAClusterNamesAnother) {
  const std::string cluster = "kind: cluster\nnodes: 1\nserver: dgx-h100\n";
  EXPECT_EQ(test::read_cluster(cluster).spec.tuning.name, "nccl");
  const auto inline_map = test::read_cluster(cluster + "tuning: {name: ours, tree_inside_share: 0.5}\n").spec.tuning;
  EXPECT_EQ(inline_map.name, "ours");
  EXPECT_EQ(inline_map.tree_inside_share, 0.5);
  EXPECT_EQ(inline_map.ring.simple.base, test::shipped_tuning().ring.simple.base);  // the rest is the default's
  const auto unknown = test::read_cluster(cluster + "tuning: nccll\n");
  ASSERT_EQ(unknown.messages.size(), 1u);
  EXPECT_EQ(unknown.messages[0], "c.yaml:4:9: error: tuning: unknown tuning 'nccll' (did you mean 'nccl'? known: nccl)");
}

TEST(Tuning, LimitsAreThree) {
  const auto c = test::read_cluster(
      "kind: cluster\nnodes: 1\nserver: dgx-h100\n"
      "tuning: {generations: {hopper: {ll_limit: [1 GB/s]}}}\n");
  ASSERT_EQ(c.messages.size(), 1u);
  EXPECT_EQ(c.messages[0],
            "c.yaml:4:43: error: tuning.generations.hopper.ll_limit: has 1 rates (three: groups on one node, two nodes, more)");
}

}  // namespace
}  // namespace lockstep
