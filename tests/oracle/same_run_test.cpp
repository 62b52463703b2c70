// SPDX-License-Identifier: Apache-2.0
// Law 3 on whole steps: the same input gives the same run, and the order among simultaneous events is nobody's business.
#include <gtest/gtest.h>

#include "sim/experiment/job_run.h"
#include "tests/support/shipped.h"
#include "workloads/model/flops.h"

namespace lockstep {
namespace {

struct Case {
  const char* scenario;
  std::vector<std::string> assignments;
};

class WholeStep : public ::testing::TestWithParam<Case> {};

TEST_P(WholeStep, IsTheSameWithShuffledTies) {
  const Scenario s = test::scenario(GetParam().scenario, GetParam().assignments);
  const RunResult plain = run_job(s.spec.cluster, s.plan, {.seed = 7});
  for (std::uint64_t tie_seed = 1; tie_seed <= 4; ++tie_seed) {
    const RunResult shuffled = run_job(s.spec.cluster, s.plan, {.seed = 7, .tie_seed = tie_seed});
    EXPECT_EQ(shuffled.fingerprint, plain.fingerprint);
    EXPECT_EQ(shuffled.step_time_s, plain.step_time_s);
    EXPECT_EQ(shuffled.ideal_step_time_s, plain.ideal_step_time_s);
    EXPECT_EQ(shuffled.breakdown_s, plain.breakdown_s);
    EXPECT_EQ(shuffled.events, plain.events);
  }
}

TEST_P(WholeStep, IsTheSameWithoutSymmetry) {
  const Scenario s = test::scenario(GetParam().scenario, GetParam().assignments);
  const RunResult with = run_job(s.spec.cluster, s.plan, {.seed = 7});
  const RunResult without = run_job(s.spec.cluster, s.plan, {.seed = 7, .uses_symmetry = false});
  EXPECT_EQ(without.fingerprint, with.fingerprint);
  EXPECT_EQ(without.step_time_s, with.step_time_s);
  EXPECT_EQ(without.ideal_step_time_s, with.ideal_step_time_s);
  EXPECT_EQ(without.breakdown_s, with.breakdown_s);
  EXPECT_EQ(without.events, with.events);
}

// The parts sum to the step, the ideal network is never slower, sharing never faster than no sharing.
TEST_P(WholeStep, KeepsItsBooks) {
  const Scenario s = test::scenario(GetParam().scenario, GetParam().assignments);
  const RunResult flow = run_job(s.spec.cluster, s.plan, {});
  double sum = 0;
  for (const double part : flow.breakdown_s) sum += part;
  EXPECT_NEAR(sum, flow.step_time_s, 1e-9 * flow.step_time_s);
  EXPECT_LE(flow.ideal_step_time_s, flow.step_time_s);
  const RunResult alone = run_job(s.spec.cluster, s.plan, {.network = NetworkKind::kAnalytic});
  EXPECT_LE(alone.step_time_s, flow.step_time_s);
  EXPECT_LE(flow.ideal_step_time_s, alone.step_time_s);
  for (const LinkReport& link : flow.links) EXPECT_LE(link.utilization, 1 + 1e-9) << link.name;
}

// What follows from the step time t on n GPUs: mfu = model FLOPs / (n t peak), hfu counts recompute in the same way, a step costs n t price,
// and money buys t_ideal / t of what it would on the ideal network.
TEST_P(WholeStep, DerivesItsRatesAndCostsFromTheStepTime) {
  const Scenario s = test::scenario(GetParam().scenario, GetParam().assignments);
  const RunResult r = run_job(s.spec.cluster, s.plan, {});
  const StepFlops flops = step_flops(s.plan);
  const double gpus = static_cast<double>(r.gpus);
  const double peak = r.peak_tflops * 1e12;
  EXPECT_NEAR(r.mfu.value() * gpus * r.step_time_s * peak, flops.model, 1e-9 * flops.model);
  EXPECT_NEAR(r.hfu.value() * gpus * r.step_time_s * peak, flops.hardware, 1e-9 * flops.hardware);
  EXPECT_NEAR(r.tokens_per_s.value() * r.step_time_s, static_cast<double>(s.plan.global_batch * s.plan.job.seq_len), 1e-3);
  ASSERT_TRUE(r.cost.has_value());
  const double price = s.spec.cluster.price_per_gpu_hour->usd;
  EXPECT_NEAR(r.cost->usd_per_step, gpus * price * r.step_time_s / 3600, 1e-9 * r.cost->usd_per_step);
  EXPECT_NEAR(r.cost->usd_per_million_tokens.value() * static_cast<double>(s.plan.global_batch * s.plan.job.seq_len) / 1e6,
              r.cost->usd_per_step, 1e-9 * r.cost->usd_per_step);
  EXPECT_NEAR(r.cost->effective_usd_per_gpu_hour / price, r.step_time_s / r.ideal_step_time_s, 1e-9);
}

// Two equal nodes of 8, tp 8: swapping the nodes changes nothing; dealing each tensor-parallel group over both of them sends its collectives
// through NICs and makes the step longer.
TEST(Placement, DecidesWhereCollectivesRun) {
  const auto step = [](const std::string& placement) {
    std::vector<std::string> set = {"cluster.nodes=2", "job.tp=8", "job.sequence_parallel=true"};
    if (!placement.empty()) set.push_back("job.placement=" + placement);
    const Scenario s = test::scenario("llama3-8b-fsdp", set);
    return run_job(s.spec.cluster, s.plan, {}).step_time_s;
  };
  const double packed = step("");
  EXPECT_EQ(step("[8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7]"), packed);
  EXPECT_GT(step("[0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15]"), 1.1 * packed);
}

INSTANTIATE_TEST_SUITE_P(
    Scenarios, WholeStep,
    ::testing::Values(Case{"llama3-8b-fsdp", {"cluster.nodes=4", "cluster.network=roce-8x100"}},
                      Case{"llama3-70b-3d", {"cluster.nodes=8", "job.gradient_accumulation=6", "cluster.network=tcp-2x100"}},
                      Case{"llama3-70b-3d",
                           {"cluster.nodes=8", "cluster.network=roce-8x100", "job.gradient_accumulation=8",
                            "job.virtual_stages=2", "job.strategy=fsdp", "job.tp_overlap=backward"}},
                      Case{"llama3.2-1b-ddp", {}}, Case{"gpt-22b-a100", {}}));

}  // namespace
}  // namespace lockstep
