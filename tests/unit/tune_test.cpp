// SPDX-License-Identifier: Apache-2.0
// Which plans a search looks at, what each takes at least, and how the reasons of the losers add up.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/experiment/tune/plan_bound.h"
#include "sim/experiment/tune/plan_space.h"
#include "sim/report/tune_reasons.h"
#include "tests/support/shipped.h"
#include "tests/support/workload_fixtures.h"
#include "workloads/schedule/training_program.h"

namespace lockstep {
namespace {

JobSpec job_of(TransformerSpec model) {
  JobSpec job;
  job.model = std::move(model);
  job.name = job.model.name;
  job.seq_len = 512;
  return job;
}

struct Made {
  std::optional<PlanSpace> space;
  std::string errors;
};
Made make(const JobSpec& job, std::int64_t batch, const ClusterSize& cluster, const std::vector<std::string>& assignments) {
  Diagnostics d;
  Made made{PlanSpace::make(job, batch, cluster, assignments, d), {}};
  made.errors = test::messages(d);
  return made;
}

std::vector<PlanChoice> all(const PlanSpace& space) {
  std::vector<PlanChoice> out;
  space.each([&](const PlanChoice& c) { out.push_back(c); });
  return out;
}

// 2 GPUs of one node, 8 heads, 4 layers, 4 sequences, flash attention:
//   tp 1: pp 1 (dp 2), 2 (dp 1); tp 2: pp 1 (dp 1)
//   tp 1 pp 1: v 1; ddp, distributed_optimizer, zero2, fsdp; micro-batches of 1, 2 (2 sequences a replica); recompute none, 25, 50, 75 %, full
//     4 x 2 x 5 = 40
//   tp 1 pp 2: v 1, 2 of 2 layers; ddp; micro-batches of 1, 2, 4; recompute none, full, for a stage has no four layers: 2 x 3 x 2 = 12
//   tp 2 pp 1: v 1; ddp; micro-batches of 1, 2, 4; recompute as the first: 3 x 5 = 15
TEST(PlanSpace, IsWhatTheDefaultsSay) {
  const Made made = make(job_of(test::tiny(4)), 4, 2, {});
  ASSERT_TRUE(made.space) << made.errors;
  const std::vector<PlanChoice> choices = all(*made.space);
  EXPECT_EQ(choices.size(), 40u + 12 + 15);
  EXPECT_EQ(std::count_if(choices.begin(), choices.end(), [](const PlanChoice& c) { return c.pp == 2; }), 12);
  for (const PlanChoice& c : choices) EXPECT_EQ(c.sequence_parallel, c.tp > 1);
  EXPECT_EQ(all(*made.space), choices);
}

// Experts of 8: of 2 x 2 ranks (dp 2, tp 2 with expert_tp 1) ep 1, 2, 4; of dp 2 alone (expert_tp 2) ep 1, 2.
TEST(PlanSpace, ExpertRanksAreCarvedOutOfReplicas) {
  JobSpec job = job_of(test::tiny(4));
  job.model.moe = MoeSpec{.experts = 8, .top_k = 2, .ffn = 128};
  const Made made = make(job, 4, 4, {"tp=2", "pp=1", "data_parallel=ddp", "micro_batch=1", "recompute=none"});
  ASSERT_TRUE(made.space) << made.errors;
  std::vector<std::string> texts;
  for (const PlanChoice& c : all(*made.space)) texts.push_back(made.space->text(c));
  EXPECT_EQ(texts,
            (std::vector<std::string>{"tp 2 pp 1 dp 2 ddp mb 1", "tp 2 pp 1 ep 2 dp 2 ddp mb 1", "tp 2 pp 1 ep 4 dp 2 ddp mb 1",
                                      "tp 2 pp 1 dp 2 ddp mb 1", "tp 2 pp 1 ep 2 expert tp 2 dp 2 ddp mb 1"}));
}

TEST(PlanSpace, LongSequencesAreAlsoSplit) {
  JobSpec job = job_of(test::tiny(4));
  job.seq_len = 32'768;
  const Made made = make(job, 8, 8, {"tp=1", "pp=1", "data_parallel=fsdp", "micro_batch=1", "recompute=full"});
  ASSERT_TRUE(made.space) << made.errors;
  std::vector<std::int64_t> cps;
  for (const PlanChoice& c : all(*made.space)) cps.push_back(c.cp);
  EXPECT_EQ(cps, (std::vector<std::int64_t>{1, 2, 4, 8}));
}

TEST(PlanSpace, AChoiceBecomesAJob) {
  JobSpec job = job_of(test::tiny(16));
  job.gradient_accumulation = 3;
  job.distributed_optimizer = true;
  const Made made = make(job, 64, ClusterSize(16, 8), {"prefetch=1,3", "recompute=50%"});
  ASSERT_TRUE(made.space) << made.errors;
  const JobSpec hybrid = made.space->job({.tp = 2,
                                          .pp = 2,
                                          .data_parallel = DataParallelKind::kHybrid,
                                          .micro_batch = 4,
                                          .recompute = {Recompute::kFull, 50},
                                          .sequence_parallel = true,
                                          .others = {1}});
  EXPECT_EQ(hybrid.strategy, Strategy::kFsdp);
  EXPECT_EQ(hybrid.shard_group, 4);  // replicas of tp 2 on a node of 8
  EXPECT_FALSE(hybrid.distributed_optimizer);
  EXPECT_EQ(hybrid.recompute_layers, 4);  // half of 8 layers a stage
  EXPECT_EQ(hybrid.prefetch, 3);
  EXPECT_EQ(hybrid.global_batch, 64);
  EXPECT_FALSE(hybrid.gradient_accumulation);
  EXPECT_EQ(made.space->fields({.others = {0}}).back(), "1");
}

TEST(PlanSpace, MistakesAreToldAtTheirOption) {
  const auto errors = [](const std::string& assignment) { return make(job_of(test::tiny(4)), 4, 2, {assignment}).errors; };
  EXPECT_EQ(errors("tp"), "--space tp: error: KEY=VALUE,VALUE,... is expected (for example tp=1,2,4,8)\n");
  EXPECT_EQ(errors("tp=0"), "--space tp=0: error: tp: '0' is out of range (1 to 1048576)\n");
  EXPECT_EQ(errors("pp=2,2"), "--space pp=2,2: error: pp: '2' is there twice (each value once)\n");
  EXPECT_EQ(
      errors("data_parallel=ddb"),
      "--space data_parallel=ddb: error: data_parallel: 'ddb' is no kind of data parallelism (ddp, distributed_optimizer, "
      "zero2, fsdp or hybrid)\n");
  EXPECT_EQ(
      errors("recompute=120%"),
      "--space recompute=120%: error: recompute: '120%' is nothing to compute again (none, selective, full, or a share of "
      "the layers as 50%)\n");
  EXPECT_EQ(errors("strategy=fsdp"),
            "--space strategy=fsdp: error: strategy: is not searched by itself (data_parallel=ddp,distributed_optimizer,zero2,"
            "fsdp,hybrid)\n");
  EXPECT_NE(errors("prefetsh=1").find("did you mean 'prefetch'"), std::string::npos) << errors("prefetsh=1");
}

std::int64_t picos(const TrainingProgram& program, ModelPart part, bool is_forward) {
  return program.kernels()[part_kernel_id(part, is_forward)].time.picos();
}

// 1F1B of two stages with 5 layers each and m micro-batches; F and B are passes of a stage, O its optimizer. The first stage cannot end before the
// last gradient has come, which the second stage sends after it has waited for its first input and computed all its passes:
//   max of F0 + m (F1 + B1) + max(B0 + O0, O1) and m (F0 + B0) + O0
// With 3 micro-batches the program is walked as it is, with 40 from that of 4 and 8.
TEST(PlanBound, IsTheIdealPipeline) {
  for (const std::int64_t m : {3, 40}) {
    JobSpec job = job_of(test::tiny(10));
    job.pp = 2;
    job.gradient_accumulation = m;
    const TrainingPlan plan = test::plan_of(job, 2);
    const TrainingProgram program(plan, test::ideal_gpu());
    const auto pass = [&](bool is_forward, ModelPart end) {
      return 5 * (picos(program, ModelPart::kAttention, is_forward) + picos(program, ModelPart::kMlp, is_forward)) +
             picos(program, end, is_forward);
    };
    const std::int64_t f0 = pass(true, ModelPart::kEmbedding);
    const std::int64_t b0 = pass(false, ModelPart::kEmbedding);
    const std::int64_t f1 = pass(true, ModelPart::kHead);
    const std::int64_t b1 = pass(false, ModelPart::kHead);
    const std::int64_t o0 = program.kernels()[optimizer_kernel_id(0)].time.picos();
    const std::int64_t o1 = program.kernels()[optimizer_kernel_id(1)].time.picos();
    const std::int64_t expected = std::max(f0 + m * (f1 + b1) + std::max(b0 + o0, o1), m * (f0 + b0) + o0);
    const PlanCost cost = cost_of(plan, test::ideal_gpu(), {.inside = 1e11, .outside = 1e10, .gpus_per_node = 8});
    EXPECT_NEAR(cost.bound_s, static_cast<double>(expected) * 1e-12, 1e-12) << m;
    EXPECT_GT(cost.estimate_s, cost.bound_s);
  }
}

PlanNumbers numbers(double compute, double tp, double bubble, double mfu, double hfu) {
  PlanNumbers n{.step_time_s = compute + tp + bubble, .mfu = mfu, .hfu = hfu};
  n.breakdown_s[static_cast<std::size_t>(TimeClass::kCompute)] = compute;
  n.breakdown_s[static_cast<std::size_t>(TimeClass::kTp)] = tp;
  n.breakdown_s[static_cast<std::size_t>(TimeClass::kBubble)] = bubble;
  return n;
}

// Winner: 8 s of kernels, tp 1 s, bubble 1 s. Loser: 12 s compute of which a quarter runs again (1 - 0.3 / 0.4), tp 0.5 s, bubble 1.5 s:
//   kernels 9 - 8 = +1, recompute +3, tp -0.5, bubble +0.5; in all 14 - 10 = 4
TEST(TuneReasons, AddUpToTheDifference) {
  const PlanNumbers winner = numbers(8, 1, 1, 0.4, 0.4);
  const PlanNumbers loser = numbers(12, 0.5, 1.5, 0.3, 0.4);
  double sum = 0;
  for (const TimePart& part : differences(loser, winner)) sum += part.seconds;
  EXPECT_NEAR(sum, 4, 1e-12);
  EXPECT_EQ(reason_text(loser, winner), "recompute +30.0 %, kernels +10.0 %, bubble +5.0 %");

  TuneResult result;
  for (const PlanNumbers& n : {winner, loser, numbers(8, 1, 9, 0.4, 0.4), numbers(12, 1, 2, 0.3, 0.4)}) {
    TunedPlan plan;
    plan.numbers = n;
    result.plans.push_back(plan);
  }
  const std::vector<LosingGroup> groups = losing_groups(result, 1);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_STREQ(groups[0].key, "recompute");
  EXPECT_EQ(groups[0].plans, 2u);
  EXPECT_EQ(groups[0].fastest, &result.plans[1]);
  EXPECT_STREQ(groups[1].key, "bubble");
}

}  // namespace
}  // namespace lockstep
