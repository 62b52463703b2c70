// SPDX-License-Identifier: Apache-2.0
// Llama-3 8B, sharded inside each of two nodes of eight and copied between them (shard_group 8), one sequence of 8192 per GPU, BF16 gradients.
//
// Gathers and scatters are rings of 8 over NVLink: t(S) = 7/8 S / v with v the port's payload less what a ring's drain costs. Each GPU is
// left with S/8 of a gradient and all-reduces it with its like on the other node: a ring of 2 moves 2 (1/2) S/8 each way, eight of them S
// over the C NICs of rate r a node has: u(S) = S / (C r). With L layers of S bytes, a root of R, kernels of a pass K and communication
// beside them T, slowed(K, T) = K + T s/(1 + s) as in fsdp_closed_form_test.cpp:
//
//   forward  = max(slowed(F, L t(S)), L t(S))
//   backward = max(slowed(B, T), T), T = max(2 L t(S), L u(S))     the all-reduces have a stream and links of their own
//   step     = t(R) + t(S) + forward + backward + t(R) + u(R) + optimizer
//
// the last two: the root's gradients leave when the embedding is done, scatter before all-reduce.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/experiment/job_run.h"
#include "tests/support/pass_time.h"
#include "tests/support/shipped.h"
#include "workloads/schedule/training_program.h"

namespace lockstep {
namespace {

double closed_form(const Scenario& scenario) {
  const ClusterSpec& cluster = scenario.spec.cluster;
  const GpuPerformance gpu = performance_of(cluster.server->gpu);
  const TrainingProgram program(scenario.plan, gpu);
  const TransformerSpec& model = scenario.spec.job->model;
  const auto layers = static_cast<double>(model.layers);
  const auto bytes_of = [&](ModelPart a, ModelPart b) {
    return 2.0 * static_cast<double>(part_parameters(model, a) + part_parameters(model, b));
  };
  const double layer = bytes_of(ModelPart::kAttention, ModelPart::kMlp);
  const double root = bytes_of(ModelPart::kEmbedding, ModelPart::kHead);
  const NetworkSpec& net = *cluster.network;
  double nic = net.nic_rate.bytes_per_second() * net.payload_efficiency.value;
  if (!net.gpudirect) nic = std::min(nic, net.host_path_rate.bytes_per_second());
  nic = std::min(nic, cluster.server->gpu.pcie.payload.bytes_per_second());
  const double nvlink =
      cluster.server->gpu.nvlink->payload().bytes_per_second() * (1 - cluster.server->gpu.nvlink->ring_drain.value / 8);
  const auto t = [&](double bytes) { return 7.0 / 8 * bytes / nvlink; };
  const auto u = [&](double bytes) { return bytes / (nic * cluster.ports_per_node()); };
  const auto longer = [&](double kernels, double communication) {
    return std::max(kernels + communication * gpu.comm_slowdown / (1 + gpu.comm_slowdown), communication);
  };
  const double forward = longer(test::pass_time(program, model, true), layers * t(layer));
  const double backward = longer(test::pass_time(program, model, false), std::max(2 * layers * t(layer), layers * u(layer)));
  const double optimizer = program.kernels()[optimizer_kernel_id(0)].time.seconds();
  return t(root) + t(layer) + forward + backward + t(root) + u(root) + optimizer;
}

Scenario two_nodes(const std::string& network, const std::string& shard_group) {
  return test::scenario("llama3-8b-fsdp", {"cluster.nodes=2", "cluster.network=" + network, "job.shard_group=" + shard_group});
}

double step(const Scenario& s) { return run_job(s.spec.cluster, s.plan, {.compares_with_ideal = false}).step_time_s; }

class HybridShard : public ::testing::TestWithParam<const char*> {};

TEST_P(HybridShard, OnTwoNodesIsTheLongerOfComputeAndCommunicationPlusExposedEnds) {
  const Scenario s = two_nodes(GetParam(), "8");
  const double expected = closed_form(s);
  const double predicted = step(s);
  EXPECT_NEAR(predicted / expected, 1, 0.05) << predicted << " s against " << expected << " s";
}

INSTANTIATE_TEST_SUITE_P(Networks, HybridShard,
                         ::testing::Values("ib-8x400", "roce-8x400", "tcp-1x100", "ib-8x50", "ib-1x400", "roce-4x100",
                                           "tcp-2x25"));

// Where the network decides, steps are as the bytes that leave a node. Full sharding gathers every layer twice and the root once and
// scatters all: 15/16 (3 L S + 2 R). Shard groups of a node all-reduce S/8 from each of eight GPUs: L S + R. With R = 2.1 of 16.1 GB: 2.69.
TEST(HybridShard, IsFasterThanFullShardingByTheBytesThatLeaveANodeOnASlowFabric) {
  EXPECT_NEAR(step(two_nodes("tcp-1x1", "16")) / step(two_nodes("tcp-1x1", "8")), 2.69, 0.03);
}

// Where full sharding hides behind compute anyway there is nothing to win, and every rank updates an eighth of the weights, not a sixteenth.
TEST(HybridShard, GainsNothingOnAFastFabric) {
  const double full = step(two_nodes("ib-8x400", "16"));
  const double hybrid = step(two_nodes("ib-8x400", "8"));
  EXPECT_GE(hybrid, full);
  EXPECT_LE(hybrid, 1.03 * full);
}

// Groups of all replicas are no groups: the same integers, also where paths are hashed.
TEST(HybridShard, OfAllReplicasIsFullShardingToThePicosecond) {
  for (const char* network : {"ib-8x400", "roce-8x100", "tcp-1x25"}) {
    const Scenario one_group = two_nodes(network, "16");
    const Scenario none = test::scenario("llama3-8b-fsdp", {"cluster.nodes=2", std::string("cluster.network=") + network});
    const RunResult a = run_job(one_group.spec.cluster, one_group.plan, {.seed = 3, .compares_with_ideal = false});
    const RunResult b = run_job(none.spec.cluster, none.plan, {.seed = 3, .compares_with_ideal = false});
    EXPECT_EQ(a.step_time_s, b.step_time_s) << network;
    EXPECT_EQ(a.events, b.events) << network;
    EXPECT_EQ(a.fingerprint, b.fingerprint) << network;
    EXPECT_EQ(a.breakdown_s, b.breakdown_s) << network;
  }
}

}  // namespace
}  // namespace lockstep
