// SPDX-License-Identifier: Apache-2.0
// Expert parallelism: groups, messages and who waits for whom.
#include <gtest/gtest.h>

#include "tests/support/program_interpreter.h"
#include "tests/support/timed_program.h"
#include "tests/support/workload_fixtures.h"

namespace lockstep {
namespace {

using test::plan_of;
using test::ProgramInterpreter;

// 8 experts of width 128, 2 a token, one dense layer before `layers` - 1 expert layers.
TransformerSpec tiny_moe(std::int64_t layers) {
  TransformerSpec m = test::tiny(layers);
  m.moe = MoeSpec{.experts = 8, .top_k = 2, .ffn = 128, .dense_layers = 1};
  return m;
}

JobSpec job_of(std::int64_t ep) {
  JobSpec job;
  job.model = tiny_moe(3);
  job.seq_len = 128;
  job.ep = ep;
  return job;
}

std::vector<std::uint32_t> members(const ParallelLayout& layout, CommFamily family, std::uint32_t rank) {
  std::vector<Rank> ranks;
  layout.members(layout.comm(family, layout.coordinates(Rank(rank))), ranks);
  std::vector<std::uint32_t> out;
  for (const Rank r : ranks) out.push_back(r.value());
  return out;
}

// Megatron Core's groups of 16 ranks a stage (tp 2, cp 2, dp 4), second stage, ep 4. With expert_tp 1 four neighbours share experts and every
// fourth rank holds the same; with expert_tp 2 four consecutive replicas do, and every eighth rank holds the same.
TEST(ExpertGroups, AreNeighboursOrConsecutiveReplicas) {
  const ParallelLayout whole({.tp = 2, .cp = 2, .dp = 4, .pp = 2, .ep = 4, .expert_tp = 1});
  EXPECT_EQ(members(whole, CommFamily::kEp, 16 + 5), (std::vector<std::uint32_t>{20, 21, 22, 23}));
  EXPECT_EQ(members(whole, CommFamily::kExpertReduce, 16 + 5), (std::vector<std::uint32_t>{17, 21, 25, 29}));
  const ParallelLayout cut({.tp = 2, .cp = 2, .dp = 4, .pp = 2, .ep = 4, .expert_tp = 2});
  EXPECT_EQ(members(cut, CommFamily::kEp, 16 + 5), (std::vector<std::uint32_t>{17, 19, 21, 23}));
  EXPECT_EQ(members(cut, CommFamily::kExpertReduce, 16 + 5), (std::vector<std::uint32_t>{21, 29}));
  EXPECT_EQ(cut.expert_replicas(), 2u);
}

// b s k h x 2 = 128 x 2 x 256 x 2 = 131,072 bytes an exchange; two forward and two backward for each of two expert layers.
TEST(ExpertParallel, ExchangesTokensTwiceAPassAndExpertLayer) {
  const TrainingProgram program(plan_of(job_of(4), 4), test::ideal_gpu());
  ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  EXPECT_EQ(run.unmatched(), 0u);
  int exchanges = 0;
  for (const Op& op : run.ops(Rank(3), Stream::kEp)) {
    if (op.kind != OpKind::kCollective) continue;
    ++exchanges;
    EXPECT_EQ(op.collective, CollectiveKind::kAllToAll);
    EXPECT_EQ(op.bytes, 131'072);
  }
  EXPECT_EQ(exchanges, 2 * 4);
}

// Under sequence parallelism a rank sends its half of the tokens; experts cut by tp gather the tokens of both partners, 131,072 bytes, and
// scatter their sums. A skew of 1.5 makes everything half as much again.
TEST(ExpertParallel, SequenceParallelRanksSendTheirPartOfTheTokens) {
  for (const std::int64_t expert_tp : {1, 2}) {
    JobSpec job = job_of(2);
    job.tp = 2;
    job.sequence_parallel = true;
    job.expert_tp = expert_tp;
    job.expert_skew = 1.5;
    const TrainingProgram program(plan_of(job, 4), test::ideal_gpu());
    ProgramInterpreter run(program);
    ASSERT_TRUE(run.run());
    for (const Op& op : run.ops(Rank(1), Stream::kEp)) {
      if (op.kind == OpKind::kCollective) {
        EXPECT_EQ(op.bytes, 131'072 / 2 * 3 / 2);
      }
    }
    int gathered = 0;
    for (const Op& op : run.ops(Rank(1), Stream::kTp)) gathered += op.bytes == 131'072 * 3 / 2 ? 1 : 0;
    EXPECT_EQ(gathered, expert_tp == 1 ? 0 : 2 * 4);  // one gather and one scatter a pass, for two layers
  }
}

KernelId part(ModelPart p, bool is_forward) { return part_kernel_id(p, is_forward); }

std::map<KernelId, std::int64_t> times() {
  std::map<KernelId, std::int64_t> t;
  for (const bool forward : {true, false}) {
    const std::int64_t k = forward ? 1 : 2;
    t[part(ModelPart::kAttention, forward)] = 100 * k;
    t[part(ModelPart::kMlp, forward)] = 50 * k;
    t[part(ModelPart::kMoe, forward)] = 10 * k;
    t[slice_kernel_id(ModelPart::kMoe, OverlapSlice::kEntry, forward)] = 4 * k;
    t[slice_kernel_id(ModelPart::kMoe, OverlapSlice::kMiddle, forward)] = 6 * k;
    t[part(ModelPart::kExperts, forward)] = 40 * k;
    t[part(ModelPart::kCombine, forward)] = 3 * k;
  }
  return t;
}

std::int64_t end_time(const JobSpec& job, std::int64_t gpus, std::int64_t exchange) {
  const TrainingProgram program(plan_of(job, gpus), test::ideal_gpu());
  const test::TimedProgram timed(program, times());
  ProgramInterpreter run(timed, [exchange](const Op& op) {
    return op.kind == OpKind::kCollective && op.collective == CollectiveKind::kAllToAll ? exchange : 0;
  });
  EXPECT_TRUE(run.run());
  return run.end_time();
}

// Attention 100, dense part 50, router and shared expert 10, experts 40, combine 3, backward twice as much, exchange x:
// a dense layer takes 3 x 150, an expert layer 3 x 153 + 4x.
TEST(ExpertParallel, AnExchangeIsExposed) { EXPECT_EQ(end_time(job_of(4), 4, 30), 3 * 150 + 2 * (3 * 153 + 4 * 30)); }

// Of the 10 the shared expert takes 6 (12 backward), beside one of two exchanges each way.
TEST(ExpertParallel, TheSharedExpertHidesAPartOfAnExchange) {
  JobSpec job = job_of(4);
  job.model.moe->shared_ffn = 128;
  job.overlap_shared_expert = true;
  const auto layer = [](std::int64_t x) {
    const std::int64_t forward = 100 + 4 + std::max<std::int64_t>(6, x) + 40 + x + 3;
    const std::int64_t backward = 6 + x + 80 + std::max<std::int64_t>(12, x) + 8 + 200;
    return forward + backward;
  };
  for (const std::int64_t x : {3, 10, 30}) EXPECT_EQ(end_time(job, 4, x), 3 * 150 + 2 * layer(x)) << x;
}

// Two micro-batches and no pipeline: F0 B0 F1 B1, of which B0 and F1 have each other. Exchanges of x = 30 are exposed in F0 and B1. In the
// others they hide behind what follows up to the next one:
//   F1  dense 150, then per expert layer 110 | way out beside experts 40 | way back beside combine 3, and the next layer's 110; the last one
//       beside combine alone, 27 exposed
//   B0  per expert layer combine 6 | back beside experts 80 | out beside router 20, attention 200, and combine
TEST(ExpertParallel, AnotherMicroBatchHidesAllExchangesButThePassesLast) {
  JobSpec job = job_of(4);
  job.gradient_accumulation = 2;
  job.overlap_expert_exchange = true;
  const std::int64_t forward = 150 + 2 * 153;
  const std::int64_t backward = 2 * forward;
  const std::int64_t exposed_passes = forward + backward + 2 * 4 * 30;
  EXPECT_EQ(end_time(job, 4, 30), exposed_passes + (forward + 27) + backward);
  // Longer than what is there to hide it: 200 - 40 and 200 - 113, 200 - 3; backward 200 - 80; 200 - 226; before the dense layer 200 - 220.
  EXPECT_EQ(end_time(job, 4, 200), forward + backward + 2 * 4 * 200 + (forward + 2 * 160 + 87 + 197) + (backward + 2 * 120));
}

// Experts of ep 4 on 8 ranks: 8/4 x 3 x 256 x 128 gradients of 4 bytes a layer, reduced between two copies; the rest between all eight.
TEST(ExpertParallel, GradientsOfExpertsAreReducedAmongTheirCopies) {
  const TrainingProgram program(plan_of(job_of(4), 8), test::ideal_gpu());
  const ParallelLayout& layout = program.plan().layout;
  ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  std::int64_t of_experts = 0;
  std::int64_t others = 0;
  for (const Op& op : run.ops(Rank(0), Stream::kDpReduce)) {
    if (op.kind != OpKind::kCollective) continue;
    (layout.family(op.comm) == CommFamily::kExpertReduce ? of_experts : others) += op.bytes;
  }
  const std::int64_t experts = 2 * (8 / 4) * 3 * 256 * 128;  // two layers
  EXPECT_EQ(of_experts, 4 * experts);
  EXPECT_EQ(of_experts + others, 4 * stage_parameters(program.plan(), 0));
  EXPECT_EQ(layout.comm_size(CommFamily::kExpertReduce), 2u);
}

// FSDP: an expert layer is gathered as two units, forward and backward; experts among their copies.
TEST(ExpertParallel, ShardedExpertsAreGatheredAmongTheirCopies) {
  JobSpec job = job_of(4);
  job.strategy = Strategy::kFsdp;
  const TrainingProgram program(plan_of(job, 8), test::ideal_gpu());
  ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  const std::int64_t experts = (8 / 4) * 3 * 256 * 128;
  int gathers = 0;
  for (const Op& op : run.ops(Rank(5), Stream::kDpGather)) {
    if (op.kind != OpKind::kCollective || program.plan().layout.family(op.comm) != CommFamily::kExpertGather) continue;
    ++gathers;
    EXPECT_EQ(op.bytes, 2 * experts);
  }
  EXPECT_EQ(gathers, 2 * 2);
}

// Every copy of an expert has a share of its optimizer: (rest)/8 + experts/2 of ep 4 on 8 ranks.
TEST(ExpertParallel, TheDistributedOptimizerSharesExpertsAmongTheirCopies) {
  JobSpec job = job_of(4);
  job.distributed_optimizer = true;
  const TrainingPlan plan = plan_of(job, 8);
  const std::int64_t experts = 2 * (8 / 4) * 3 * 256 * 128;
  EXPECT_EQ(stage_expert_parameters(plan, 0), experts);
  EXPECT_EQ(stage_optimizer_parameters(plan, 0), (stage_parameters(plan, 0) - experts + 7) / 8 + experts / 2);
  const TrainingProgram program(plan, test::ideal_gpu());
  ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  EXPECT_EQ(run.unmatched(), 0u);
}

// Layers 0-3 on two stages of two chunks: the second stage's first chunk is layer 1. Layer 0 is dense.
TEST(ExpertParallel, LayersAreCountedOverTheModel) {
  JobSpec job = job_of(1);
  job.model = tiny_moe(4);
  job.model.mtp_layers = 1;
  job.pp = 2;
  job.virtual_stages = 2;
  job.gradient_accumulation = 2;
  const TrainingPlan plan = plan_of(job, 2);
  EXPECT_EQ(chunk_units(plan, 1, 0).first_layer, 1);
  EXPECT_EQ(chunk_units(plan, 0, 1).first_layer, 2);
  EXPECT_EQ(chunk_units(plan, 1, 1).first_layer, 3);
  EXPECT_EQ(chunk_units(plan, 1, 1).layers, 2);  // and one of multi-token prediction
  EXPECT_EQ(stage_layer_count(plan, 0).dense, 1);
  EXPECT_EQ(stage_layer_count(plan, 0).expert, 1);
  EXPECT_EQ(stage_layer_count(plan, 1).expert, 3);
}

std::string fault_of(const JobSpec& job, std::int64_t gpus) {
  std::string out;
  const ReportFault report = [&out](std::string_view key, std::string message, std::string hint) {
    out += std::string(key) + ": " + message + " (" + hint + ")\n";
  };
  (void)resolve_plan(job, gpus, report);
  return out;
}

TEST(ExpertParallel, SenselessPlansAreToldWhatWouldWork) {
  JobSpec job = job_of(3);
  EXPECT_EQ(fault_of(job, 3), "ep: 8 experts are not divisible by ep 3 (ep 1 divides them)\n");
  job = job_of(4);
  EXPECT_EQ(fault_of(job, 6), "ep: cp 1 x dp 6 = 6 ranks of a stage are not divisible by ep 4 (ep 2 divides them)\n");
  job.model = test::tiny(2);
  EXPECT_EQ(fault_of(job, 4), "ep: the model has no experts (ep: 1, or a model with experts)\n");
  job = job_of(2);
  job.tp = 4;
  job.expert_tp = 2;
  EXPECT_EQ(fault_of(job, 8), "expert_tp: experts cut by 2, the rest of a layer by tp 4 (expert_tp: 1 or 4)\n");
  job.expert_tp = 1;
  EXPECT_EQ(
      fault_of(job, 8),
      "expert_tp: without sequence_parallel all 4 tensor-parallel ranks hold the same tokens (sequence_parallel: true, or "
      "expert_tp: 4)\n");
  job = job_of(2);
  job.pp = 2;
  job.gradient_accumulation = 4;
  job.overlap_expert_exchange = true;
  EXPECT_EQ(fault_of(job, 4),
            "overlap_expert_exchange: forward and backward passes of this schedule leave no other micro-batch to compute "
            "(virtual_stages above 1, or schedule: dualpipe)\n");
  job = job_of(1);
  job.expert_dispatch = ExpertDispatch::kDeduplicated;
  EXPECT_EQ(fault_of(job, 4), "expert_dispatch: with ep 1 no tokens are exchanged (leave it out, or set ep above 1)\n");
}

}  // namespace
}  // namespace lockstep
