// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/training_program.h"

#include <gtest/gtest.h>

#include "tests/support/program_interpreter.h"
#include "tests/support/workload_fixtures.h"

namespace lockstep {
namespace {

using test::ideal_gpu;
using test::plan_of;
using test::ProgramInterpreter;

struct Traffic {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  bool operator==(const Traffic&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Traffic& t) { return out << t.count << " x, " << t.bytes << " bytes"; }

Traffic traffic(const ProgramInterpreter& run, Rank rank, Stream stream, CollectiveKind kind) {
  Traffic t;
  for (const Op& op : run.ops(rank, stream)) {
    if (op.kind != OpKind::kCollective || op.collective != kind) continue;
    ++t.count;
    t.bytes += op.bytes;
  }
  return t;
}
Traffic messages(const ProgramInterpreter& run, Rank rank, Stream stream) {
  Traffic t;
  for (const Op& op : run.ops(rank, stream)) {
    if (op.kind != OpKind::kSend && op.kind != OpKind::kRecv) continue;
    ++t.count;
    t.bytes += op.bytes;
  }
  return t;
}

JobSpec job_of(TransformerSpec model) {
  JobSpec job;
  job.model = std::move(model);
  job.seq_len = 128;
  return job;
}

// Without sequence parallelism: 2 all-reduces of b s h x 2 bytes forward and 2 backward per layer and micro-batch; with full
// recompute 2 more; the embedding adds one forward, the head one backward and three of 4 bytes per token for the loss.
TEST(TrainingProgram, TensorParallelAllReducesFourTimesPerLayerAndSixWithFullRecompute) {
  JobSpec job = job_of(test::tiny(4));
  job.tp = 2;
  job.gradient_accumulation = 3;
  const std::int64_t hidden_state = 128 * 256 * 2;
  for (const auto& [recompute, per_layer] : {std::pair{Recompute::kNone, 4}, std::pair{Recompute::kFull, 6}}) {
    job.recompute = recompute;
    const TrainingProgram program(plan_of(job, 2), ideal_gpu());
    ProgramInterpreter run(program);
    ASSERT_TRUE(run.run());
    const Traffic expected{3 * (4 * per_layer + 2 + 3), 3 * ((4 * per_layer + 2) * hidden_state + 3 * 128 * 4)};
    EXPECT_EQ(traffic(run, Rank(1), Stream::kTp, CollectiveKind::kAllReduce), expected);
    EXPECT_EQ(traffic(run, Rank(1), Stream::kTp, CollectiveKind::kAllGather), Traffic{});
  }
}

// With it: per layer 2 gathers and 2 scatters forward, the same backward and 2 gathers more for the weights' gradient.
// Embedding: a scatter forward, a gather backward. Head: a gather forward, two gathers less one (the loss is local), a scatter.
TEST(TrainingProgram, SequenceParallelGathersSixTimesAndScattersFourTimesPerLayer) {
  JobSpec job = job_of(test::tiny(4));
  job.tp = 2;
  job.sequence_parallel = true;
  const std::int64_t hidden_state = 128 * 256 * 2;
  const TrainingProgram program(plan_of(job, 2), ideal_gpu());
  ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  const std::int64_t gathers = 4 * 6 + 1 + 2;
  const std::int64_t scatters = 4 * 4 + 1 + 1;
  EXPECT_EQ(traffic(run, Rank(0), Stream::kTp, CollectiveKind::kAllGather), (Traffic{gathers, gathers * hidden_state}));
  EXPECT_EQ(traffic(run, Rank(0), Stream::kTp, CollectiveKind::kReduceScatter), (Traffic{scatters, scatters * hidden_state}));
  EXPECT_EQ(traffic(run, Rank(0), Stream::kTp, CollectiveKind::kAllReduce), (Traffic{3, 3 * 128 * 4}));  // loss
}

// Collectives of C, shorter than every kernel. Blocking, a part's backward takes 3 C and its kernels; overlapped, the gather of the
// saved input and the reduction hide behind the kernels: 2 C less for each of 2 L parts and the head (to a picosecond of
// rounding per kernel), for sequence parallelism; C less without it.
TEST(TrainingProgram, OverlapHidesTwoOfThreeBackwardCollectives) {
  constexpr std::int64_t kCollective = 5000;
  for (const bool sequence_parallel : {true, false}) {
    JobSpec job = job_of(test::tiny(4));
    job.tp = 2;
    job.sequence_parallel = sequence_parallel;
    std::int64_t end[2] = {};
    for (const bool overlap : {false, true}) {
      job.tp_overlap = overlap ? TpOverlap::kBackward : TpOverlap::kNone;
      const TrainingProgram program(plan_of(job, 2), ideal_gpu());
      ProgramInterpreter run(program, [](const Op&) { return kCollective; });
      ASSERT_TRUE(run.run());
      end[overlap] = run.end_time();
      EXPECT_EQ(traffic(run, Rank(0), Stream::kTp, CollectiveKind::kAllGather).count, sequence_parallel ? 4 * 6 + 3 : 0);
    }
    EXPECT_NEAR(static_cast<double>(end[0] - end[1]), (sequence_parallel ? 2 : 1) * 9 * kCollective, 9);
  }
}

// Every gradient once per step whatever the accumulation: bytes = 4 x parameters, in the last backward only.
TEST(TrainingProgram, DataParallelReducesEveryGradientOncePerStep) {
  JobSpec job = job_of(test::tiny(4));
  job.gradient_accumulation = 3;
  job.bucket_size = Bytes(1'000'000);
  job.first_bucket_size = Bytes(100'000);
  const TrainingProgram program(plan_of(job, 4), ideal_gpu());
  ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  const Traffic t = traffic(run, Rank(3), Stream::kDpReduce, CollectiveKind::kAllReduce);
  EXPECT_EQ(t.bytes, 4 * parameter_count(job.model));
  EXPECT_GT(t.count, 5);
  EXPECT_EQ(traffic(run, Rank(3), Stream::kDpGather, CollectiveKind::kAllGather), Traffic{});
}

// A bucket closes with the tensor that fills it, so all but the last of a chunk hold at least the limit.
TEST(TrainingProgram, BucketsHoldAtLeastTheirLimit) {
  JobSpec job = job_of(test::llama3_8b());
  const TrainingPlan plan = plan_of(job, 8);
  const std::vector<GradientBucket> buckets = gradient_buckets(plan, 0);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    sum += buckets[i].bytes;
    const std::int64_t limit = i == 0 ? 1 << 20 : 25 << 20;
    EXPECT_GE(buckets[i].bytes, i + 1 < buckets.size() ? limit : 1);
  }
  EXPECT_EQ(sum, 4 * parameter_count(job.model));
  EXPECT_EQ(buckets.front().ready, (GradientPoint{0, 33, ModelPart::kHead}));
  EXPECT_EQ(buckets.back().ready, (GradientPoint{0, 0, ModelPart::kEmbedding}));
}

TEST(TrainingProgram, BucketsLeaveDuringTheLastBackwardUnlessToldNotTo) {
  JobSpec job = job_of(test::tiny(8));
  job.gradient_accumulation = 2;
  job.first_bucket_size = Bytes(1);
  job.bucket_size = Bytes(1);
  for (const bool overlap : {true, false}) {
    job.overlap_grad_reduce = overlap;
    const TrainingProgram program(plan_of(job, 2), ideal_gpu());
    ProgramInterpreter run(program);
    ASSERT_TRUE(run.run());
    // The first operation of the reduce stream waits for compute: when the head's gradients are there, or for all of them.
    const Op& first = run.ops(Rank(0), Stream::kDpReduce).front();
    ASSERT_EQ(first.kind, OpKind::kWait);
    const std::int64_t compute_before_optimizer = 2 * 2 * (8 * 2 + 2);
    const std::int64_t head_backward_of_second = compute_before_optimizer / 2 + (8 * 2 + 2) + 1;
    EXPECT_EQ(first.wait_count, overlap ? head_backward_of_second : compute_before_optimizer);
  }
}

// Per micro-batch: every layer gathered twice (2 bytes), the root once, everything scattered once (4 bytes).
TEST(TrainingProgram, FullShardingGathersLayersTwiceAndScattersOncePerMicroBatch) {
  JobSpec job = job_of(test::tiny(4));
  job.strategy = Strategy::kFsdp;
  job.gradient_accumulation = 3;
  const TrainingProgram program(plan_of(job, 4), ideal_gpu());
  ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  const std::int64_t total = parameter_count(job.model);
  const std::int64_t root = part_parameters(job.model, ModelPart::kEmbedding) + part_parameters(job.model, ModelPart::kHead);
  const std::int64_t layers = total - root;
  EXPECT_EQ(traffic(run, Rank(2), Stream::kDpGather, CollectiveKind::kAllGather),
            (Traffic{3 * (2 * 4 + 1), 3 * 2 * (2 * layers + root)}));
  EXPECT_EQ(traffic(run, Rank(2), Stream::kDpReduce, CollectiveKind::kReduceScatter), (Traffic{3 * (4 + 1), 3 * 4 * total}));
}

// In groups of two of four replicas: the same gathers and scatters, and after each scatter an all-reduce of the half of the unit's
// gradient that is left, which waits for just that scatter.
TEST(TrainingProgram, ShardGroupsAllReduceTheirShareAfterEveryScatter) {
  JobSpec job = job_of(test::tiny(4));
  job.strategy = Strategy::kFsdp;
  job.shard_group = 2;
  job.gradient_accumulation = 3;
  const TrainingProgram program(plan_of(job, 4), ideal_gpu());
  ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  const std::int64_t total = parameter_count(job.model);
  EXPECT_EQ(traffic(run, Rank(2), Stream::kDpReduce, CollectiveKind::kReduceScatter), (Traffic{3 * (4 + 1), 3 * 4 * total}));
  EXPECT_EQ(traffic(run, Rank(2), Stream::kDpReplicate, CollectiveKind::kAllReduce), (Traffic{3 * (4 + 1), 3 * 4 * total / 2}));
  std::vector<std::int64_t> scatters;  // operations of the reducing stream up to each of its scatters
  const std::vector<Op>& reduces = run.ops(Rank(2), Stream::kDpReduce);
  for (std::size_t i = 0; i < reduces.size(); ++i) {
    if (reduces[i].kind == OpKind::kCollective) scatters.push_back(static_cast<std::int64_t>(i) + 1);
  }
  std::size_t n = 0;
  for (const Op& op : run.ops(Rank(2), Stream::kDpReplicate)) {
    if (op.kind != OpKind::kWait) continue;
    EXPECT_EQ(op.wait_stream, Stream::kDpReduce);
    EXPECT_EQ(op.wait_count, scatters.at(n++));
  }
  // The optimizer comes after the last of them.
  const std::size_t last = run.ops(Rank(2), Stream::kDpReplicate).size() - 1;
  EXPECT_GE(run.end_time(),
            run.end_of(Rank(2), Stream::kDpReplicate, last) + program.kernels()[optimizer_kernel_id(0)].time.picos());
}

// Without prefetch the gather of unit j waits for all compute before that unit. p units ahead, gather j waits for what gather
// j - p waits for then, and the first p + 1 wait for nothing.
TEST(TrainingProgram, GathersRunAtMostPrefetchUnitsAhead) {
  const auto waits = [](std::int64_t prefetch) {
    JobSpec job = job_of(test::tiny(6));
    job.strategy = Strategy::kFsdp;
    job.prefetch = prefetch;
    const TrainingProgram program(plan_of(job, 2), ideal_gpu());
    ProgramInterpreter run(program);
    EXPECT_TRUE(run.run());
    std::vector<std::int64_t> counts;
    for (const Op& op : run.ops(Rank(0), Stream::kDpGather)) {
      if (op.kind == OpKind::kWait) counts.push_back(op.wait_count);
    }
    return counts;
  };
  const std::vector<std::int64_t> none = waits(0);
  ASSERT_EQ(none.size(), 1u + 6 + 6);
  EXPECT_EQ(none[0], 0);
  EXPECT_EQ(none[1], 2);      // the root's gather is waited for, the embedding computed
  EXPECT_EQ(none[2], 2 + 3);  // a wait and two parts
  for (const std::size_t p : {1u, 3u}) {
    const std::vector<std::int64_t> ahead = waits(static_cast<std::int64_t>(p));
    ASSERT_EQ(ahead.size(), none.size());
    for (std::size_t j = 0; j < ahead.size(); ++j) EXPECT_EQ(ahead[j], j < p ? 0 : none[j - p]) << "gather " << j;
  }
}

// Stage i sends m activations of b s h x 2 bytes (by tp with sequence parallelism) and as many gradients back.
// The optimizer reads gradients: it starts when the last of them has been reduced. A reduction takes 1 s here, far longer than all kernels,
// and they queue on one stream: the end of the last one plus the optimizer's own time is the end of the step.
TEST(TrainingProgram, TheOptimizerWaitsForTheLastGradient) {
  for (const Strategy strategy : {Strategy::kDdp, Strategy::kFsdp}) {
    JobSpec job = job_of(test::tiny(4));
    job.strategy = strategy;
    const TrainingProgram program(plan_of(job, 2), ideal_gpu());
    ProgramInterpreter run(program, [](const Op& op) {
      const bool is_reduction = op.collective == CollectiveKind::kAllReduce || op.collective == CollectiveKind::kReduceScatter;
      return is_reduction ? kPicosPerSecond : std::int64_t{0};
    });
    EXPECT_TRUE(run.run());
    const std::size_t reduces = run.ops(Rank(0), Stream::kDpReduce).size();
    ASSERT_GT(reduces, 0u);
    EXPECT_EQ(run.end_time(),
              run.end_of(Rank(0), Stream::kDpReduce, reduces - 1) + program.kernels()[optimizer_kernel_id(0)].time.picos());
  }
}

TEST(TrainingProgram, PipelineSendsEveryMicroBatchBothWays) {
  JobSpec job = job_of(test::tiny(4));
  job.pp = 4;
  job.tp = 2;
  job.gradient_accumulation = 5;
  job.sequence_parallel = true;
  const TrainingProgram program(plan_of(job, 8), ideal_gpu());
  ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  EXPECT_EQ(run.unmatched(), 0u);
  const Traffic all{5, 5 * 128 * 256 * 2 / 2};
  const Rank first(0), inner(2), last(6);
  EXPECT_EQ(messages(run, first, Stream::kPpSendNext), all);
  EXPECT_EQ(messages(run, first, Stream::kPpSendPrev), Traffic{});
  EXPECT_EQ(messages(run, inner, Stream::kPpSendNext), all);
  EXPECT_EQ(messages(run, inner, Stream::kPpSendPrev), all);
  EXPECT_EQ(messages(run, last, Stream::kPpSendNext), Traffic{});
  EXPECT_EQ(messages(run, last, Stream::kPpRecvPrev), all);
}

// Only the first and the last stage share a tied embedding: V h x 4 bytes / tp, after the data-parallel reduction.
TEST(TrainingProgram, TiedEmbeddingsAreReducedBetweenTheEnds) {
  JobSpec job = job_of(test::tiny(3));
  job.model.has_tied_embeddings = true;
  job.pp = 3;
  job.tp = 2;
  const TrainingProgram program(plan_of(job, 12), ideal_gpu());
  ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  const Traffic tie{1, 1024 / 2 * 256 * 4};
  EXPECT_EQ(traffic(run, Rank(0), Stream::kTie, CollectiveKind::kAllReduce), tie);
  EXPECT_EQ(traffic(run, Rank(4), Stream::kTie, CollectiveKind::kAllReduce), Traffic{});
  EXPECT_EQ(traffic(run, Rank(11), Stream::kTie, CollectiveKind::kAllReduce), tie);
}

// 20 layers, 32 micro-batches, TP with sequence parallelism: a few tens of thousands of operations, not millions.
TEST(TrainingProgram, ABigPlanStaysSmallPerRank) {
  struct Counter : OpSink {
    std::int64_t n = 0;
    void push(Stream, const Op&) override { ++n; }
  };
  JobSpec job = job_of(test::llama3_70b());
  job.seq_len = 8192;
  job.tp = 8;
  job.pp = 4;
  job.global_batch = 1024;
  const TrainingProgram program(plan_of(job, 1024), ideal_gpu());
  EXPECT_EQ(program.plan().micro_batches, 32);
  Counter counter;
  ProgramCursor cursor;
  while (program.expand(Rank(1023), cursor, counter)) {
  }
  EXPECT_LT(counter.n, 12'000);
}

}  // namespace
}  // namespace lockstep
