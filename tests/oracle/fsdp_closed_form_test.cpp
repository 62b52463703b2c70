// SPDX-License-Identifier: Apache-2.0
// Llama-3 8B, fully sharded over two nodes, one sequence of 8192 per GPU, no recompute, no accumulation, BF16 gradients: the step is short
// enough to write down.
//
// Ring over n = 16 GPUs, 2 nodes, C channels (one per NIC): an all-gather or reduce-scatter of S bytes puts (n-1)/n S / C on each NIC, which
// moves at the NIC's payload rate r, so it takes t(S) = (n-1)/n S / (C r) (or the NVLink cap where that is lower). With L layers of S bytes
// and a root unit (embedding and head) of R bytes:
//
// The kernels of a pass take K undisturbed; while communication is in flight they run at 1/(1 + s) of their speed, so beside T of it they
// take slowed(K, T) = K + T s/(1 + s). Forward F, backward B:
//
//   forward  = max(slowed(F, L t(S)), L t(S))
//   backward = max(slowed(B, 2 L t(S)), 2 L t(S))     gather and scatter of every layer share the NICs
//   step     = t(R) + t(S)                    first gathers, exposed
//            + forward + backward
//            + t(S) + t(R)                    last scatters, exposed
//            + optimizer
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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
  const double layer_bytes =
      2.0 * static_cast<double>(part_parameters(model, ModelPart::kAttention) + part_parameters(model, ModelPart::kMlp));
  const double root_bytes =
      2.0 * static_cast<double>(part_parameters(model, ModelPart::kEmbedding) + part_parameters(model, ModelPart::kHead));
  const double n = 16;
  const NetworkSpec& net = *cluster.network;
  double nic = net.nic_rate.bytes_per_second() * net.payload_efficiency.value;
  if (!net.gpudirect) nic = std::min(nic, net.host_path_rate.bytes_per_second());
  nic = std::min(nic, cluster.server->gpu.pcie.payload.bytes_per_second());
  const double nvlink =
      cluster.server->gpu.nvlink->payload().bytes_per_second() * (1 - cluster.server->gpu.nvlink->ring_drain.value / n);
  const double rate = std::min(nvlink, nic * cluster.ports_per_node());
  const auto t = [&](double bytes) { return (n - 1) / n * bytes / rate; };

  const auto longer = [&](double kernels, double communication) {
    return std::max(kernels + communication * gpu.comm_slowdown / (1 + gpu.comm_slowdown), communication);
  };
  const double forward = longer(test::pass_time(program, model, true), layers * t(layer_bytes));
  const double backward = longer(test::pass_time(program, model, false), 2 * layers * t(layer_bytes));
  const double optimizer = program.kernels()[optimizer_kernel_id(0)].time.seconds();
  return t(root_bytes) + t(layer_bytes) + forward + backward + t(layer_bytes) + t(root_bytes) + optimizer;
}

class FsdpOnTwoNodes : public ::testing::TestWithParam<const char*> {};

TEST_P(FsdpOnTwoNodes, IsTheLongerOfComputeAndCommunicationPlusExposedEnds) {
  const Scenario s = test::scenario("llama3-8b-fsdp", {"cluster.nodes=2", std::string("cluster.network=") + GetParam()});
  const RunResult run = run_job(s.spec.cluster, s.plan, {.compares_with_ideal = false});
  const double expected = closed_form(s);
  EXPECT_NEAR(run.step_time_s / expected, 1, 0.10) << run.step_time_s << " s against " << expected << " s";
}

INSTANTIATE_TEST_SUITE_P(Networks, FsdpOnTwoNodes,
                         ::testing::Values("ib-8x400", "roce-8x400", "tcp-1x100", "ib-8x50", "ib-1x400", "roce-4x100",
                                           "tcp-2x25"));

// A faster NIC never hurts.
TEST(Fsdp, StepTimeFallsWithTheNicRate) {
  for (const char* transport : {"ib", "roce", "tcp"}) {
    double last = HUGE_VAL;
    for (const int gbps : {10, 25, 40, 50, 100, 200, 400, 800}) {
      const Scenario s =
          test::scenario("llama3-8b-fsdp", {"cluster.nodes=2", fmt::format("cluster.network={}-8x{}", transport, gbps)});
      const double step = run_job(s.spec.cluster, s.plan, {.compares_with_ideal = false}).step_time_s;
      EXPECT_LE(step, last) << transport << " at " << gbps << " Gbps";
      last = step;
    }
  }
}

}  // namespace
}  // namespace lockstep
