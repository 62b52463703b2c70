// SPDX-License-Identifier: Apache-2.0
// The program, buckets and memory of a distributed optimizer (ZeRO-1), by hand.
#include <gtest/gtest.h>

#include "tests/support/program_interpreter.h"
#include "tests/support/workload_fixtures.h"
#include "workloads/model/fit.h"
#include "workloads/model/memory.h"
#include "workloads/schedule/training_program.h"

namespace lockstep {
namespace {

using test::ideal_gpu;
using test::plan_of;
using test::ProgramInterpreter;

JobSpec sharded_job(std::int64_t layers) {
  JobSpec job;
  job.model = test::tiny(layers);
  job.seq_len = 128;
  job.distributed_optimizer = true;
  return job;
}

std::vector<std::int64_t> bytes_of(const ProgramInterpreter& run, Rank rank, Stream stream, CollectiveKind kind) {
  std::vector<std::int64_t> out;
  for (const Op& op : run.ops(rank, stream)) {
    if (op.kind == OpKind::kCollective && op.collective == kind) out.push_back(op.bytes);
  }
  return out;
}
std::int64_t sum(const std::vector<std::int64_t>& v) {
  std::int64_t total = 0;
  for (const std::int64_t x : v) total += x;
  return total;
}
std::int64_t compute_time(const ProgramInterpreter& run, const TrainingProgram& program, Rank rank) {
  std::int64_t total = 0;
  for (const Op& op : run.ops(rank, Stream::kCompute)) {
    if (op.kind == OpKind::kCompute) total += program.kernels()[op.kernel].time.picos();
  }
  return total;
}
std::int64_t kernel_time(const TrainingProgram& program, KernelId id) { return program.kernels()[id].time.picos(); }

// Gradients of 4 bytes leave once per step and weights of 2 come back once, whatever the accumulation; nothing is all-reduced.
// An all-reduce of S puts 2 (n-1)/n S on the wire, a scatter and a gather of S half of that each: with equal bytes per value DDP and
// the distributed optimizer send the same.
TEST(DistributedOptimizer, ScattersGradientsAndGathersWeightsOncePerStep) {
  JobSpec job = sharded_job(4);
  job.gradient_accumulation = 3;
  job.bucket_size = Bytes(1'000'000);
  const TrainingProgram program(plan_of(job, 4), ideal_gpu());
  ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  const std::int64_t parameters = parameter_count(job.model);  // every bucket divides by 4
  EXPECT_EQ(sum(bytes_of(run, Rank(3), Stream::kDpReduce, CollectiveKind::kReduceScatter)), 4 * parameters);
  EXPECT_EQ(sum(bytes_of(run, Rank(3), Stream::kDpGather, CollectiveKind::kAllGather)), 2 * parameters);
  EXPECT_TRUE(bytes_of(run, Rank(3), Stream::kDpReduce, CollectiveKind::kAllReduce).empty());
}

// Three replicas: every bucket is padded to a multiple of three values.
TEST(DistributedOptimizer, PadsBucketsToEqualShards) {
  JobSpec job = sharded_job(4);
  job.bucket_size = Bytes(1);
  const TrainingPlan plan = plan_of(job, 3);
  for (const GradientBucket& bucket : gradient_buckets(plan, 0)) {
    EXPECT_EQ(bucket.bytes % (3 * 4), 0);
    EXPECT_EQ(bucket.weight_bytes, bucket.bytes / 2);
  }
}

// A gather takes 1 s, far longer than all kernels, and N of them queue on one stream from the start. Forward ends with the head, whose
// weights are the last to come: N seconds, then the head forward, all of backward and the optimizer.
TEST(DistributedOptimizer, ForwardWaitsForTheBucketsOfItsWeights) {
  for (const std::int64_t bucket : {1, 500'000}) {
    JobSpec job = sharded_job(4);
    job.bucket_size = Bytes(bucket);
    const TrainingProgram program(plan_of(job, 2), ideal_gpu());
    ProgramInterpreter run(
        program, [](const Op& op) { return op.collective == CollectiveKind::kAllGather ? kPicosPerSecond : std::int64_t{0}; });
    ASSERT_TRUE(run.run());
    const auto gathers = std::ssize(gradient_buckets(program.plan(), 0));
    ASSERT_GT(gathers, 2);
    const auto part = [&](ModelPart p, bool is_forward) { return kernel_time(program, part_kernel_id(p, is_forward)); };
    std::int64_t after = part(ModelPart::kEmbedding, false) + kernel_time(program, optimizer_kernel_id(0));
    for (const ModelPart p : {ModelPart::kAttention, ModelPart::kMlp}) after += 4 * part(p, false);
    if (bucket == 1) {
      after += part(ModelPart::kHead, true) + part(ModelPart::kHead, false);
      EXPECT_EQ(run.end_time(), gathers * kPicosPerSecond + after);
    } else {  // the first bucket backward, the last to be gathered, holds head and last layers
      EXPECT_GT(run.end_time(), gathers * kPicosPerSecond + after);
    }
  }
}

// Without overlap nothing is gathered before the optimizer has run, and all of it is exposed: kernels + N gathers.
TEST(DistributedOptimizer, WithoutOverlapWeightsAreGatheredAfterTheOptimizer) {
  JobSpec job = sharded_job(4);
  job.overlap_param_gather = false;
  job.bucket_size = Bytes(500'000);
  job.gradient_accumulation = 2;
  const TrainingProgram program(plan_of(job, 2), ideal_gpu());
  ProgramInterpreter run(
      program, [](const Op& op) { return op.collective == CollectiveKind::kAllGather ? kPicosPerSecond : std::int64_t{0}; });
  ASSERT_TRUE(run.run());
  const auto gathers = std::ssize(gradient_buckets(program.plan(), 0));
  EXPECT_EQ(run.end_time(), compute_time(run, program, Rank(0)) + gathers * kPicosPerSecond);
}

// The optimizer of 1/n of the weights takes 1/n of the time: it is bound by memory.
TEST(DistributedOptimizer, UpdatesItsShareOnly) {
  JobSpec job = sharded_job(4);
  const TrainingProgram sharded(plan_of(job, 4), ideal_gpu());
  job.distributed_optimizer = false;
  const TrainingProgram whole(plan_of(job, 4), ideal_gpu());
  EXPECT_NEAR(4.0 * static_cast<double>(kernel_time(sharded, optimizer_kernel_id(0))),
              static_cast<double>(kernel_time(whole, optimizer_kernel_id(0))), 4);
}

// Buckets do not span chunks: the gathers of chunk 0 are as many bytes as its weights, and come first.
TEST(DistributedOptimizer, InterleavedChunksGatherInForwardOrder) {
  JobSpec job = sharded_job(8);
  job.pp = 2;
  job.virtual_stages = 2;
  job.gradient_accumulation = 4;
  const TrainingProgram program(plan_of(job, 4), ideal_gpu());
  ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  EXPECT_EQ(run.unmatched(), 0u);
  const std::int64_t layer = part_parameters(job.model, ModelPart::kAttention) + part_parameters(job.model, ModelPart::kMlp);
  const std::int64_t embedding = part_parameters(job.model, ModelPart::kEmbedding);
  EXPECT_EQ(bytes_of(run, Rank(0), Stream::kDpGather, CollectiveKind::kAllGather),
            (std::vector<std::int64_t>{2 * (embedding + 2 * layer), 2 * 2 * layer}));
}

// One replica has nobody to share with.
TEST(DistributedOptimizer, OfOneReplicaCommunicatesNothing) {
  const TrainingProgram program(plan_of(sharded_job(4), 1), ideal_gpu());
  ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  EXPECT_TRUE(run.ops(Rank(0), Stream::kDpGather).empty());
  EXPECT_TRUE(run.ops(Rank(0), Stream::kDpReduce).empty());
}

// Megatron-LM: max(40 M, 1 M x dp) gradients of 4 bytes, also for the first bucket; PyTorch's 25 MiB and 1 MiB without it.
TEST(DistributedOptimizer, DefaultBucketsAreMegatrons) {
  JobSpec job = sharded_job(4);
  EXPECT_EQ(bucket_limits(plan_of(job, 8)).other, 160'000'000);
  EXPECT_EQ(bucket_limits(plan_of(job, 64)).other, 256'000'000);
  EXPECT_EQ(bucket_limits(plan_of(job, 64)).first, 256'000'000);
  job.bucket_size = Bytes(7);
  EXPECT_EQ(bucket_limits(plan_of(job, 64)).first, 7);
  job.distributed_optimizer = false;
  EXPECT_EQ(bucket_limits(plan_of(job, 64)).first, 1 << 20);
  job.bucket_size.reset();
  EXPECT_EQ(bucket_limits(plan_of(job, 64)).other, 25 << 20);
}

// 2 bytes of weight and 4 of gradient per parameter, and 12/D of optimizer.
TEST(DistributedOptimizer, NeedsSixBytesAndATwelfthPerReplica) {
  JobSpec job = sharded_job(4);
  const std::int64_t parameters = parameter_count(job.model);
  const MemoryBytes m = stage_memory(plan_of(job, 4), 0);
  EXPECT_EQ(m.parameters, 2 * parameters);
  EXPECT_EQ(m.gradients, 4 * parameters);
  EXPECT_EQ(m.optimizer, 12 * parameters / 4);
}

TEST(DistributedOptimizer, IsAWayToFit) {
  JobSpec job;
  job.model = test::llama3_8b();
  job.seq_len = 128;
  const TrainingPlan plan = plan_of(job, 8);
  EXPECT_EQ(ways_to_fit(plan, 80'000'000'000).front(), "distributed_optimizer: true");
}

TEST(DistributedOptimizer, IsNoPartOfFullSharding) {
  JobSpec job = sharded_job(4);
  job.strategy = Strategy::kFsdp;
  std::vector<std::string> faults;
  const auto plan = resolve_plan(job, 4, [&](std::string_view key, const std::string& message, const std::string& hint) {
    faults.push_back(std::string(key) + ": " + message + " -> " + hint);
  });
  EXPECT_FALSE(plan.has_value());
  EXPECT_EQ(faults, (std::vector<std::string>{"distributed_optimizer: fsdp shards the optimizer already -> strategy: ddp, or "
                                              "distributed_optimizer: false"}));
}

}  // namespace
}  // namespace lockstep
