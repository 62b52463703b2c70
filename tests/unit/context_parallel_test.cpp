// SPDX-License-Identifier: Apache-2.0
// Context parallelism and tensor-parallel collectives in chunks, operation by operation.
#include <gtest/gtest.h>

#include "tests/support/program_interpreter.h"
#include "tests/support/timed_program.h"
#include "tests/support/workload_fixtures.h"

namespace lockstep {
namespace {

using test::plan_of;
using test::ProgramInterpreter;

// b 1, s 128, h 256, a 8, g 4, d 32, 2 bytes an element.
JobSpec job_of(std::int64_t cp, CpExchange exchange) {
  JobSpec job;
  job.model = test::tiny(2);
  job.seq_len = 128;
  job.cp = cp;
  job.cp_exchange = exchange;
  return job;
}

std::map<std::pair<CollectiveKind, std::int64_t>, int> collectives(const ProgramInterpreter& run, Stream stream) {
  std::map<std::pair<CollectiveKind, std::int64_t>, int> out;
  for (const Op& op : run.ops(Rank(0), stream)) {
    if (op.kind == OpKind::kCollective) ++out[{op.collective, op.bytes}];
  }
  return out;
}

KernelId core(bool is_forward) { return slice_kernel_id(ModelPart::kAttention, OverlapSlice::kMiddle, is_forward); }
KernelId entry(bool is_forward) { return slice_kernel_id(ModelPart::kAttention, OverlapSlice::kEntry, is_forward); }
KernelId leaving(bool is_forward) { return slice_kernel_id(ModelPart::kAttention, OverlapSlice::kExit, is_forward); }

// KV of the whole sequence: 2 b s g d x 2 bytes = 2 x 128 x 4 x 32 x 2 = 65,536. Two layers: one gather forward, one backward, whose gradients
// are scattered as they pass. On the wire (c - 1)/c of it: c - 1 hops of 2 b (s/c) g d x 2 bytes, backward twice that (equations.md, 4).
TEST(ContextParallel, RingMovesKeysAndValuesOnceForwardAndTwiceBackward) {
  const TrainingProgram program(plan_of(job_of(4, CpExchange::kRing), 4), test::ideal_gpu());
  ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  EXPECT_EQ(run.unmatched(), 0u);
  const std::map<std::pair<CollectiveKind, std::int64_t>, int> expected = {{{CollectiveKind::kAllGather, 65'536}, 4},
                                                                           {{CollectiveKind::kReduceScatter, 65'536}, 2}};
  EXPECT_EQ(collectives(run, Stream::kCp), expected);
}

TEST(ContextParallel, GatheringMovesKeysAndValuesOnceEachWay) {
  const TrainingProgram program(plan_of(job_of(4, CpExchange::kAllGather), 4), test::ideal_gpu());
  ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  const std::map<std::pair<CollectiveKind, std::int64_t>, int> expected = {{{CollectiveKind::kAllGather, 65'536}, 2},
                                                                           {{CollectiveKind::kReduceScatter, 65'536}, 2}};
  EXPECT_EQ(collectives(run, Stream::kCp), expected);
}

// A rank's q and output: b (s/c) a d x 2 = 32 x 256 x 2 = 16,384 bytes; k and v by g/a: 8,192 each. Four a pass and layer.
TEST(ContextParallel, AllToAllExchangesQueriesKeysValuesAndOutputs) {
  const TrainingProgram program(plan_of(job_of(4, CpExchange::kAllToAll), 4), test::ideal_gpu());
  ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  const std::map<std::pair<CollectiveKind, std::int64_t>, int> expected = {{{CollectiveKind::kAllToAll, 16'384}, 8},
                                                                           {{CollectiveKind::kAllToAll, 8'192}, 8}};
  EXPECT_EQ(collectives(run, Stream::kCp), expected);
}

// cp 8 for 4 key heads: each is sent twice, 16 x 8 x 32 x 2 = 8,192 bytes for 8 of 16 tokens' heads.
TEST(ContextParallel, AllToAllCopiesKeyHeadsThatAreFewerThanRanks) {
  const TrainingProgram program(plan_of(job_of(8, CpExchange::kAllToAll), 8), test::ideal_gpu());
  ProgramInterpreter run(program);
  ASSERT_TRUE(run.run());
  const std::map<std::pair<CollectiveKind, std::int64_t>, int> expected = {{{CollectiveKind::kAllToAll, 8'192}, 16}};
  EXPECT_EQ(collectives(run, Stream::kCp), expected);
}

// Entry 10, core 40, exit 5 forward, twice that backward; an exchange of x each. Two layers:
//   ring         10 + max(40, x) + 5   forward and   20 + max(80, 2x) + 10   backward
//   all_gather   10 + x + 40 + 5       forward and   20 + 80 + x + 10        backward
//   all_to_all   10 + 3x + 40 + x + 5  forward and   20 + 80 + 4x + 10       backward
TEST(ContextParallel, OnlyTheRingHidesBehindTheCore) {
  for (const std::int64_t x : {7, 60}) {
    const auto end = [x](CpExchange exchange) {
      const TrainingProgram program(plan_of(job_of(2, exchange), 2), test::ideal_gpu());
      const test::TimedProgram timed(program, {{entry(true), 10},
                                               {core(true), 40},
                                               {leaving(true), 5},
                                               {entry(false), 20},
                                               {core(false), 80},
                                               {leaving(false), 10}});
      const CommFamily cp = CommFamily::kCp;
      ProgramInterpreter run(timed, [&](const Op& op) {
        return op.kind == OpKind::kCollective && program.plan().layout.family(op.comm) == cp ? x : 0;
      });
      EXPECT_TRUE(run.run());
      return run.end_time();
    };
    EXPECT_EQ(end(CpExchange::kRing),
              2 * (10 + std::max<std::int64_t>(40, x) + 5 + 20 + std::max<std::int64_t>(80, 2 * x) + 10));
    EXPECT_EQ(end(CpExchange::kAllGather), 2 * (10 + x + 40 + 5 + 20 + 80 + x + 10));
    EXPECT_EQ(end(CpExchange::kAllToAll), 2 * (10 + 4 * x + 40 + 5 + 20 + 80 + 4 * x + 10));
  }
}

// Gradients are summed over dp x cp: tp 2 x cp 2 x dp 2.
TEST(ContextParallel, GradientsAreReducedOverTheRanksOfASequenceToo) {
  JobSpec job = job_of(2, CpExchange::kRing);
  job.tp = 2;
  const TrainingProgram program(plan_of(job, 8), test::ideal_gpu());
  EXPECT_EQ(program.plan().replicas(), 4);
  std::vector<Rank> members;
  program.members(program.plan().layout.comm(CommFamily::kDpReduce, {}), members);
  EXPECT_EQ(members, (std::vector<Rank>{Rank(0), Rank(2), Rank(4), Rank(6)}));
  program.members(program.plan().layout.comm(CommFamily::kCp, {}), members);
  EXPECT_EQ(members, (std::vector<Rank>{Rank(0), Rank(2)}));
}

std::string fault_of(const JobSpec& job, std::int64_t gpus) {
  std::string out;
  const ReportFault report = [&out](std::string_view key, std::string message, std::string hint) {
    out += std::string(key) + ": " + message + " (" + hint + ")\n";
  };
  (void)resolve_plan(job, gpus, report);
  return out;
}

TEST(ContextParallel, NeedsTwoPartsOfASequenceForEachRank) {
  JobSpec job = job_of(4, CpExchange::kRing);
  job.seq_len = 132;
  EXPECT_EQ(
      fault_of(job, 4),
      "cp: 132 tokens are not divisible by 2 x cp 4 (a rank holds two parts, one from each end, for an equal share of the "
      "causal mask)\n");
  job.seq_len = 128;
  job.cp = 16;
  job.cp_exchange = CpExchange::kAllToAll;
  EXPECT_EQ(fault_of(job, 16),
            "cp: 8 attention heads are not divisible by tp 1 x cp 16 (cp_exchange: all_to_all splits heads over cp; ring and "
            "all_gather do not)\n");
  job = job_of(2, CpExchange::kRing);
  job.tp = 2;
  EXPECT_EQ(fault_of(job, 6),
            "dp: 6 GPUs are not divisible by tp 2 x cp 2 x pp 1 = 4 (dp: auto fills them, so tp x cp x pp must divide their "
            "number; or gpus: 4)\n");
}

// When the n-th collective of a stream ended.
std::int64_t end_of_collective(const ProgramInterpreter& run, Stream stream, int n) {
  const std::vector<Op>& ops = run.ops(Rank(0), stream);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind == OpKind::kCollective && n-- == 0) return run.end_of(Rank(0), stream, i);
  }
  return -1;
}

// The hidden state has 128 x 256 x 2 bytes, 64 ps at 1,024 bytes a picosecond: the embedding leaves after 64. Then the attention part: a quarter
// of the gather, the entry beside the rest, the middle (4), the exit beside three quarters of the scatter, its last quarter:
//   64 + 16 + max(product, 48) + 4 + max(product, 48) + 16
TEST(TensorParallelChunks, ExposeAQuarterAndWhatTheProductDoesNotCover) {
  JobSpec job;
  job.model = test::tiny(1);
  job.seq_len = 128;
  job.tp = 2;
  job.sequence_parallel = true;
  job.tp_overlap = TpOverlap::kPipelined;
  const TrainingProgram program(plan_of(job, 2), test::ideal_gpu());
  for (const std::int64_t product : {10, 100}) {
    const test::TimedProgram timed(program, {{entry(true), product}, {core(true), 4}, {leaving(true), product}});
    ProgramInterpreter run(timed, [](const Op& op) { return op.kind == OpKind::kCollective ? op.bytes / 1024 : 0; });
    ASSERT_TRUE(run.run());
    const std::int64_t beside = std::max<std::int64_t>(product, 48);
    EXPECT_EQ(end_of_collective(run, Stream::kTp, 4), 64 + 16 + beside + 4 + beside + 16);
  }
}

// Whatever the overlap, as much is moved: forward a gather and a scatter a part, backward two gathers and a scatter.
TEST(TensorParallelChunks, MoveTheSameBytes) {
  const auto moved = [](TpOverlap overlap) {
    JobSpec job;
    job.model = test::tiny(2);
    job.seq_len = 128;
    job.tp = 2;
    job.sequence_parallel = true;
    job.tp_overlap = overlap;
    const TrainingProgram program(plan_of(job, 2), test::ideal_gpu());
    ProgramInterpreter run(program);
    EXPECT_TRUE(run.run());
    std::map<CollectiveKind, std::int64_t> bytes;
    for (const Op& op : run.ops(Rank(0), Stream::kTp)) {
      if (op.kind == OpKind::kCollective) bytes[op.collective] += op.bytes;
    }
    return bytes;
  };
  EXPECT_EQ(moved(TpOverlap::kPipelined), moved(TpOverlap::kNone));
  EXPECT_EQ(moved(TpOverlap::kPipelined), moved(TpOverlap::kBackward));
}

}  // namespace
}  // namespace lockstep
