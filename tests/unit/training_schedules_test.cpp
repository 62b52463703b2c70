// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/training_program.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>

#include "tests/support/program_interpreter.h"
#include "tests/support/timed_program.h"
#include "tests/support/workload_fixtures.h"

namespace lockstep {
namespace {

using test::ideal_gpu;
using test::plan_of;
using test::ProgramInterpreter;
using test::TimedProgram;

// Time of one pass of a stage of `layers` equal layers, embedding and head aside.
std::int64_t layer_time(const TrainingProgram& p, bool is_forward) {
  const KernelTable& k = p.kernels();
  return (k[part_kernel_id(ModelPart::kAttention, is_forward)].time + k[part_kernel_id(ModelPart::kMlp, is_forward)].time)
      .picos();
}

JobSpec job_of(TransformerSpec model) {
  JobSpec job;
  job.model = std::move(model);
  job.seq_len = 128;
  return job;
}

// A stage with an embedding or a head is slower; for the algebra of equal stages their kernels are made free.
TimedProgram equal_stages(const TrainingProgram& p) {
  KernelTable kernels = p.kernels();
  for (const ModelPart part : {ModelPart::kEmbedding, ModelPart::kHead}) {
    for (const bool forward : {true, false}) kernels.kernels[part_kernel_id(part, forward).index()].time = Duration();
  }
  for (std::int64_t s = 0; s < p.plan().pp(); ++s) kernels.kernels[optimizer_kernel_id(s).index()].time = Duration();
  return {p, std::move(kernels)};
}

// p stages, m micro-batches, F and B per stage, free messages: m(F + B) + (p - 1)(F + B).
TEST(TrainingProgram, OneForwardOneBackwardIdlesForOnePassPerOtherStage) {
  for (const std::int64_t p : {1, 2, 4, 8}) {
    for (const std::int64_t m : {1, 3, 4, 16}) {
      JobSpec job = job_of(test::tiny(16));
      job.pp = p;
      job.gradient_accumulation = m;
      const TrainingProgram program(plan_of(job, p), ideal_gpu());
      const TimedProgram equal = equal_stages(program);
      ProgramInterpreter run(equal);
      ASSERT_TRUE(run.run());
      const std::int64_t pass = (layer_time(program, true) + layer_time(program, false)) * 16 / p;
      EXPECT_EQ(run.end_time(), (m + p - 1) * pass) << "p " << p << ", m " << m;
    }
  }
}

// Every schedule runs to its end with every message met, computes every pass once, and takes at least its work; the split passes are whole:
// gradients of activations and of weights have the flops of one backward.
TEST(TrainingProgram, EveryScheduleComputesEverythingOnce) {
  using S = PipelineSchedule;
  for (const S s : {S::kOneForwardOneBackward, S::kGpipe, S::kZeroBubbleH1, S::kZeroBubbleH2, S::kZeroBubbleV, S::kVHalf,
                    S::kVMin, S::kDualPipe}) {
    for (const auto& [p, dp, strategy] :
         {std::tuple{4, 1, Strategy::kDdp}, std::tuple{2, 2, Strategy::kDdp}, std::tuple{4, 2, Strategy::kFsdp}}) {
      JobSpec job = job_of(test::tiny(16));
      job.schedule = s;
      job.pp = p;
      job.strategy = strategy;
      job.gradient_accumulation = 10;
      job.distributed_optimizer = strategy == Strategy::kDdp;
      job.model.has_tied_embeddings = true;
      const TrainingProgram program(plan_of(job, p * dp), ideal_gpu());
      ProgramInterpreter run(program);
      ASSERT_TRUE(run.run()) << to_text(s) << ' ' << p;
      EXPECT_EQ(run.unmatched(), 0u) << to_text(s) << ' ' << p;
      std::map<std::string, std::int64_t> runs;
      for (std::uint32_t r = 0; r < program.world_size(); ++r) {
        for (const Op& op : run.ops(Rank(r), Stream::kCompute)) {
          if (op.kind == OpKind::kCompute) ++runs[program.kernels()[op.kernel].name];
        }
      }
      const std::int64_t passes = 10 * dp;
      const std::int64_t split = splits_passes(s) ? 1 : 0;
      for (const char* part : {"attention", "mlp"}) {
        EXPECT_EQ(runs[std::string(part) + "_forward"], 16 * passes) << to_text(s);
        EXPECT_EQ(runs[std::string(part) + "_backward"], 16 * passes) << to_text(s);
        EXPECT_EQ(runs[std::string(part) + "_weight_gradient"], split * 16 * passes) << to_text(s);
      }
      EXPECT_EQ(runs["embedding_backward"], (1 - split) * passes);
      EXPECT_EQ(runs["embedding_weight_gradient"], split * passes);
      EXPECT_EQ(runs["head_forward"], passes);
    }
  }
}

TEST(TrainingProgram, SplitPassesAddUpToTheWholeBackward) {
  JobSpec job = job_of(test::tiny(16));
  job.pp = 4;
  job.gradient_accumulation = 8;
  const TrainingProgram whole(plan_of(job, 4), ideal_gpu());
  job.schedule = PipelineSchedule::kZeroBubbleH1;
  const TrainingProgram split(plan_of(job, 4), ideal_gpu());
  for (const ModelPart part : {ModelPart::kEmbedding, ModelPart::kAttention, ModelPart::kMlp, ModelPart::kHead}) {
    const Kernel& b = split.kernels()[part_kernel_id(part, false)];
    const Kernel& w = split.kernels()[weight_gradient_kernel_id(part)];
    const Kernel& both = whole.kernels()[part_kernel_id(part, false)];
    EXPECT_DOUBLE_EQ(b.flops + w.flops, both.flops);
    EXPECT_DOUBLE_EQ(b.bytes + w.bytes, both.bytes);
  }
}

// Of two copies every rank sends its mirror the gradients of all it holds, 4 bytes each: half of the model in four stages.
TEST(TrainingProgram, TwoCopiesExchangeTheirGradients) {
  JobSpec job = job_of(test::tiny(16));
  job.pp = 4;
  job.schedule = PipelineSchedule::kDualPipe;
  job.gradient_accumulation = 8;
  const TrainingProgram program(plan_of(job, 4), ideal_gpu());
  ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  for (std::uint32_t r = 0; r < 4; ++r) {
    const Op& last = run.ops(Rank(r), r < 2 ? Stream::kPpSendNext : Stream::kPpSendPrev).back();
    EXPECT_EQ(last.kind, OpKind::kSend);
    EXPECT_EQ(last.peer, Rank(3 - r));
    EXPECT_EQ(last.bytes, 4 * stage_parameters(program.plan(), r));
    EXPECT_EQ(stage_parameters(program.plan(), r), stage_parameters(program.plan(), 3 - r));
  }
}

// v chunks per stage: the idle time is divided by v: m(F + B) + (p - 1)(F + B)/v.
TEST(TrainingProgram, InterleavingDividesTheBubbleByTheChunks) {
  for (const auto& [p, v] : {std::pair{4, 2}, std::pair{4, 4}, std::pair{3, 2}}) {
    JobSpec job = job_of(test::tiny(4 * p));
    job.pp = p;
    job.virtual_stages = v;
    job.gradient_accumulation = 2 * p;
    const TrainingProgram program(plan_of(job, p), ideal_gpu());
    const TimedProgram equal = equal_stages(program);
    ProgramInterpreter run(equal);
    ASSERT_TRUE(run.run());
    const std::int64_t pass = (layer_time(program, true) + layer_time(program, false)) * 4;
    EXPECT_EQ(run.end_time(), 2 * p * pass + (p - 1) * pass / v) << "p " << p << ", v " << v;
  }
}
}  // namespace
}  // namespace lockstep
