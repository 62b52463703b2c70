// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/combined_program.h"

#include <gtest/gtest.h>

#include "sim/experiment/shared_run.h"
#include "tests/support/program_interpreter.h"
#include "tests/support/script_program.h"
#include "tests/support/workload_fixtures.h"
#include "workloads/schedule/training_program.h"

namespace lockstep {
namespace {

TrainingProgram training(std::int64_t tp, std::int64_t pp, std::int64_t dp, std::int64_t micro_batches) {
  JobSpec job;
  job.model = test::tiny(4);
  job.seq_len = 128;
  job.tp = tp;
  job.pp = pp;
  job.gradient_accumulation = micro_batches;
  job.distributed_optimizer = dp > 1;
  return {test::plan_of(job, tp * pp * dp), test::ideal_gpu()};
}

std::int64_t alone(const Program& program) {
  test::ProgramInterpreter run(program);
  EXPECT_TRUE(run.run());
  return run.end_time();
}

// Kernels of 3 and 5 ms; the second rank of the first job is the slow one: a step takes 5 ms, three of them 15, whatever the first rank could do before.
TEST(CombinedProgram, StepsOfAJobBeginTogether) {
  test::ScriptProgram uneven(2);
  const KernelId fast = uneven.kernel(Duration::micros(3000));
  const KernelId slow = uneven.kernel(Duration::micros(5000));
  uneven.comm_of_all();
  uneven.compute(0, fast);
  uneven.compute(1, slow);
  test::ScriptProgram other(1);
  other.compute(0, other.kernel(Duration::micros(7000)));
  const CombinedProgram both({{uneven, {}, 3}, {other, Duration::micros(2000), 1}});
  ASSERT_EQ(both.world_size(), 3u);
  test::ProgramInterpreter run(both);
  ASSERT_TRUE(run.run());
  EXPECT_EQ(run.unmatched(), 0u);
  EXPECT_EQ(run.end_of(Rank(0), Stream::kCompute, 0), Duration::micros(3000).picos());
  EXPECT_EQ(run.end_of(Rank(0), Stream::kCompute, 2), Duration::micros(8000).picos());  // begins when rank 1 is done, at 5 ms
  EXPECT_EQ(run.end_time(), Duration::micros(15000).picos());
  EXPECT_EQ(run.end_of(Rank(2), Stream::kCompute, 1), Duration::micros(9000).picos());  // after its pause
}

// Nothing waits for the network here, so n steps take n times one step, for every schedule.
TEST(CombinedProgram, RepeatsAStepExactly) {
  const TrainingProgram pipeline = training(2, 2, 2, 5);
  const TrainingProgram replicas = training(1, 1, 3, 2);
  const CombinedProgram both({{pipeline, {}, 3}, {replicas, Duration::nanos(10), 2}});
  test::ProgramInterpreter run(both);
  ASSERT_TRUE(run.run());
  EXPECT_EQ(run.unmatched(), 0u);
  EXPECT_EQ(run.end_time(), std::max(3 * alone(pipeline), Duration::nanos(10).picos() + 2 * alone(replicas)));
}

// One job, one step, no pause: the operations, names and roles of the program itself.
TEST(CombinedProgram, OfOneJobIsThatJob) {
  const TrainingProgram program = training(2, 2, 2, 3);
  const CombinedProgram same({{program, {}, 1}});
  EXPECT_EQ(same.communicator_count(), program.communicator_count());
  test::ProgramInterpreter a(program);
  test::ProgramInterpreter b(same);
  ASSERT_TRUE(a.run() && b.run());
  for (std::uint32_t r = 0; r < program.world_size(); ++r) {
    EXPECT_EQ(same.role(Rank(r)), program.role(Rank(r)));
    for (int s = 0; s < kStreamCount; ++s) {
      const std::vector<Op>& x = a.ops(Rank(r), static_cast<Stream>(s));
      const std::vector<Op>& y = b.ops(Rank(r), static_cast<Stream>(s));
      ASSERT_EQ(x.size(), y.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_TRUE(x[i].kind == y[i].kind && x[i].kernel == y[i].kernel && x[i].comm == y[i].comm && x[i].peer == y[i].peer &&
                    x[i].bytes == y[i].bytes && x[i].wait_count == y[i].wait_count);
      }
    }
  }
}

// Ranks, communicators, peers and roles of different jobs are different ones, and know their numbers at home.
TEST(CombinedProgram, KeepsJobsApart) {
  const TrainingProgram program = training(2, 2, 1, 3);
  const CombinedProgram twice({{program, {}, 1}, {program, {}, 2}});
  EXPECT_EQ(twice.job_count(), 2u);
  EXPECT_EQ(twice.communicator_count(), 2 * program.communicator_count() + 1);
  std::vector<Rank> members;
  for (std::uint32_t r = 0; r < 8; ++r) {
    EXPECT_EQ(twice.job_of(Rank(r)), r / 4);
    EXPECT_EQ(twice.rank_in_job(Rank(r)), Rank(r % 4));
    EXPECT_NE(twice.role(Rank(r)), twice.role(Rank((r + 4) % 8)));
    std::vector<Port> ports;
    twice.ports(Rank(r), ports);
    for (const Port& p : ports) {
      if (p.kind != Port::Kind::kCommunicator) {
        EXPECT_EQ(p.peer.value() / 4, r / 4);
        continue;
      }
      twice.members(p.comm, members);
      EXPECT_NE(std::find(members.begin(), members.end(), Rank(r)), members.end());
    }
  }
  const CommId barrier(twice.communicator_count() - 1);
  twice.members(barrier, members);
  EXPECT_EQ(members, (std::vector<Rank>{Rank(4), Rank(5), Rank(6), Rank(7)}));
  EXPECT_EQ(twice.collective_kinds(barrier), kBarrierOnly);
  EXPECT_EQ(twice.comm_in_job(CommId(program.communicator_count())), CommId(0));
}

TEST(CombinedProgram, StepsCoverATimeAndAreBounded) {
  const Duration step = Duration::nanos(10);
  EXPECT_EQ(steps_to_cover(Duration::nanos(30), step), 3);
  EXPECT_EQ(steps_to_cover(Duration::picos(30'001), step), 4);
  EXPECT_EQ(steps_to_cover(Duration(), step), 1);
  EXPECT_EQ(steps_to_cover(Duration::micros(10), step), kMostSteps);
}

}  // namespace
}  // namespace lockstep
