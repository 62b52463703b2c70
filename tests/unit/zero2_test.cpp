// SPDX-License-Identifier: Apache-2.0
// The program of ZeRO-2, by hand.
#include <gtest/gtest.h>

#include "tests/support/program_interpreter.h"
#include "tests/support/workload_fixtures.h"
#include "workloads/schedule/training_program.h"

namespace lockstep {
namespace {

using test::ideal_gpu;
using test::plan_of;
using test::ProgramInterpreter;

JobSpec zero2_job(std::int64_t layers) {
  JobSpec job;
  job.model = test::tiny(layers);
  job.seq_len = 128;
  job.strategy = Strategy::kZero2;
  job.bucket_size = Bytes(300'000);
  return job;
}

std::int64_t bytes_of(const ProgramInterpreter& run, Rank rank, Stream stream, CollectiveKind kind) {
  std::int64_t sum = 0;
  for (const Op& op : run.ops(rank, stream)) {
    if (op.kind == OpKind::kCollective && op.collective == kind) sum += op.bytes;
  }
  return sum;
}

// Gradients of 4 bytes are scattered with each of m micro-batches, weights of 2 are gathered once: 4 P m and 2 P, whatever the chunks.
TEST(ZeroTwo, ScattersGradientsOfEveryMicroBatchAndGathersWeightsOnce) {
  for (const auto& [pp, chunks] : {std::pair{1, 1}, {2, 1}, {2, 2}}) {
    JobSpec job = zero2_job(8);
    job.pp = pp;
    job.virtual_stages = chunks;
    job.gradient_accumulation = 4;
    const TrainingProgram program(plan_of(job, pp * 4), ideal_gpu());
    ProgramInterpreter run(program);
    ASSERT_TRUE(run.run());
    EXPECT_EQ(run.unmatched(), 0u);
    std::int64_t scattered = 0;
    std::int64_t gathered = 0;
    for (int stage = 0; stage < pp; ++stage) {
      const Rank rank(static_cast<std::uint32_t>(stage * 4));
      scattered += bytes_of(run, rank, Stream::kDpReduce, CollectiveKind::kReduceScatter);
      gathered += bytes_of(run, rank, Stream::kDpGather, CollectiveKind::kAllGather);
      EXPECT_EQ(bytes_of(run, rank, Stream::kDpReduce, CollectiveKind::kAllReduce), 0);
    }
    const std::int64_t p = parameter_count(job.model);  // every bucket divides by 4
    EXPECT_EQ(scattered, 4 * 4 * p) << pp << " stages of " << chunks;
    EXPECT_EQ(gathered, 2 * p) << pp << " stages of " << chunks;
  }
}

// Scatters take 1 s each, gathers nothing, kernels next to nothing. N buckets of two micro-batches queue beside backward: 2 N seconds
// either way; without overlap backward stands still for each, which costs the same here, for nothing hides them.
TEST(ZeroTwo, ScattersQueueOnOneStream) {
  constexpr std::int64_t second = 1'000'000'000'000;
  for (const bool overlaps : {true, false}) {
    JobSpec job = zero2_job(4);
    job.gradient_accumulation = 2;
    job.overlap_grad_reduce = overlaps;
    const TrainingPlan plan = plan_of(job, 2);
    const auto buckets = static_cast<std::int64_t>(gradient_buckets(plan, 0).size());
    const TrainingProgram program(plan, ideal_gpu());
    ProgramInterpreter run(
        program, [](const Op& op) { return op.collective == CollectiveKind::kReduceScatter ? second : std::int64_t{0}; });
    ASSERT_TRUE(run.run());
    EXPECT_NEAR(static_cast<double>(run.end_time()) / second, static_cast<double>(2 * buckets), 0.01);
  }
}

// Scatters as long as all of a micro-batch's compute: overlapped, those of the first micro-batch run beside the second; without, each
// adds itself. With T of compute and N buckets of time t: blocked 2 T + 2 N t (gathers free).
TEST(ZeroTwo, WithoutOverlapBackwardWaitsForEachBucket) {
  const auto end_time = [](bool overlaps, std::int64_t bucket_time) {
    JobSpec job = zero2_job(4);
    job.gradient_accumulation = 2;
    job.overlap_grad_reduce = overlaps;
    const TrainingProgram program(plan_of(job, 2), ideal_gpu());
    ProgramInterpreter run(
        program, [=](const Op& op) { return op.collective == CollectiveKind::kReduceScatter ? bucket_time : std::int64_t{0}; });
    EXPECT_TRUE(run.run());
    return run.end_time();
  };
  const auto buckets = static_cast<std::int64_t>(gradient_buckets(plan_of(zero2_job(4), 2), 0).size());
  const std::int64_t compute = end_time(true, 0);
  const std::int64_t t = compute / (8 * buckets);
  EXPECT_EQ(end_time(false, t), compute + 2 * buckets * t);
  EXPECT_LT(end_time(true, t), compute + buckets * t);
}

TEST(ZeroTwo, WeightsAreGatheredAfterTheOptimizer) {
  const TrainingPlan plan = plan_of(zero2_job(4), 2);
  const TrainingProgram program(plan, ideal_gpu());
  ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  const std::vector<Op>& gathers = run.ops(Rank(0), Stream::kDpGather);
  ASSERT_FALSE(gathers.empty());
  EXPECT_EQ(gathers.front().kind, OpKind::kWait);
  EXPECT_EQ(gathers.front().wait_stream, Stream::kCompute);
  EXPECT_EQ(run.ops(Rank(0), Stream::kCompute).back().kind, OpKind::kWait);  // the step ends with the weights
}

// ZeRO-2 is sharded already.
TEST(ZeroTwo, RefusesADistributedOptimizer) {
  JobSpec job = zero2_job(4);
  job.distributed_optimizer = true;
  std::string key;
  std::string what;
  EXPECT_FALSE(resolve_plan(job, 2, [&](std::string_view k, std::string w, std::string) {
    key = k;
    what = std::move(w);
  }));
  EXPECT_EQ(key, "distributed_optimizer");
  EXPECT_EQ(what, "zero2 shards the optimizer already");
}

// recompute_layers: forward kernels that run again are those of the first layers of a stage.
TEST(RecomputeLayers, RunsSoManyLayersAgain) {
  JobSpec job = zero2_job(6);
  job.strategy = Strategy::kDdp;
  const auto forwards = [&] {
    const TrainingProgram program(plan_of(job, 1), ideal_gpu());
    ProgramInterpreter run(program);
    EXPECT_TRUE(run.run());
    std::int64_t n = 0;
    for (const Op& op : run.ops(Rank(0), Stream::kCompute)) {
      n += op.kind == OpKind::kCompute && op.kernel == part_kernel_id(ModelPart::kMlp, true) ? 1 : 0;
    }
    return n;
  };
  EXPECT_EQ(forwards(), 6);
  job.recompute = Recompute::kFull;
  EXPECT_EQ(forwards(), 12);
  job.recompute_layers = 2;
  EXPECT_EQ(forwards(), 8);
  job.recompute_layers = 0;
  EXPECT_EQ(forwards(), 6);
}

}  // namespace
}  // namespace lockstep
