// SPDX-License-Identifier: Apache-2.0
// What a pipeline schedule needs of its job is said at the key, with what to do.
#include <gtest/gtest.h>

#include "tests/support/workload_fixtures.h"
#include "workloads/parallel/plan.h"

namespace lockstep {
namespace {

JobSpec job_with(PipelineSchedule schedule) {
  JobSpec job;
  job.model = test::tiny(16);
  job.seq_len = 128;
  job.pp = 4;
  job.gradient_accumulation = 8;
  job.schedule = schedule;
  return job;
}

std::string faults(const JobSpec& job, std::int64_t gpus) {
  std::string out;
  (void)resolve_plan(job, gpus, [&](std::string_view key, const std::string& message, const std::string& hint) {
    out += std::string(key) + ": " + message + " (" + hint + ")\n";
  });
  return out;
}

TEST(ScheduleChecks, EverySchedulesJobIsGood) {
  for (const PipelineSchedule s :
       {PipelineSchedule::kOneForwardOneBackward, PipelineSchedule::kGpipe, PipelineSchedule::kZeroBubbleH1,
        PipelineSchedule::kZeroBubbleH2, PipelineSchedule::kZeroBubbleV, PipelineSchedule::kVHalf, PipelineSchedule::kVMin,
        PipelineSchedule::kDualPipe}) {
    EXPECT_EQ(faults(job_with(s), 4), "");
  }
}

TEST(ScheduleChecks, ThereIsNothingToOrderWithoutAPipeline) {
  JobSpec job = job_with(PipelineSchedule::kZeroBubbleH1);
  job.pp = 1;
  EXPECT_EQ(faults(job, 1),
            "schedule: zb_h1 orders the passes of a pipeline, and there is none (set pp above 1, or leave it out)\n");
}

TEST(ScheduleChecks, OnlyOneForwardOneBackwardInterleaves) {
  JobSpec job = job_with(PipelineSchedule::kGpipe);
  job.virtual_stages = 2;
  EXPECT_EQ(faults(job, 4), "virtual_stages: only 1f1b interleaves, not gpipe (virtual_stages: 1, or schedule: 1f1b)\n");
  job.schedule = PipelineSchedule::kVHalf;
  EXPECT_EQ(faults(job, 4),
            "virtual_stages: only 1f1b interleaves, not v_half (v_half has two chunks a stage by itself: leave virtual_stages "
            "out)\n");
}

TEST(ScheduleChecks, AVCutsEveryStageInTwo) {
  JobSpec job = job_with(PipelineSchedule::kZeroBubbleV);
  job.model = test::tiny(12);
  EXPECT_EQ(faults(job, 4),
            "schedule: a stage of 3 layers does not split into the two chunks of zb_v (every stage must hold an even number of "
            "layers: another pp, or stages)\n");
}

TEST(ScheduleChecks, DualPipePairsStagesAndMicroBatches) {
  JobSpec job = job_with(PipelineSchedule::kDualPipe);
  job.model = test::tiny(15);
  job.pp = 3;
  EXPECT_EQ(faults(job, 3), "schedule: dualpipe pairs the stages: pp 3 is odd (pp 2 or 4)\n");
  job = job_with(PipelineSchedule::kDualPipe);
  job.gradient_accumulation = 6;
  EXPECT_EQ(
      faults(job, 4),
      "schedule: dualpipe needs an even number of micro-batches, at least 2 x pp = 8, not 6 (gradient_accumulation: 8, or a "
      "global_batch to match)\n");
}

TEST(ScheduleChecks, TablesHaveALength) {
  JobSpec job = job_with(PipelineSchedule::kVMin);
  job.gradient_accumulation = 900'000;
  EXPECT_NE(faults(job, 4).find("v_min of 900000 micro-batches on 4 stages is too long a table"), std::string::npos)
      << faults(job, 4);
  job.schedule = PipelineSchedule::kZeroBubbleH1;
  EXPECT_EQ(faults(job, 4), "");
}

}  // namespace
}  // namespace lockstep
