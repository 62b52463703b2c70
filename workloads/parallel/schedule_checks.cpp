// SPDX-License-Identifier: Apache-2.0
#include "workloads/parallel/schedule_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/wide.h"
#include "workloads/parallel/schedule_kind.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMostTableActions = 8'000'000;  // 12 bytes each

void check_v(const TrainingPlan& plan, const char* name, const ReportFault& report) {
  for (const std::int64_t layers : plan.stage_layers) {
    if (layers % 2 == 0) continue;
    report("schedule", fmt::format("a stage of {} layers does not split into the two chunks of {}", layers, name),
           "every stage must hold an even number of layers: another pp, or stages");
    return;
  }
}

void check_both_ways(const TrainingPlan& plan, const ReportFault& report) {
  const std::int64_t p = plan.job.pp;
  const std::int64_t m = plan.micro_batches;
  if (p % 2 != 0) {
    report("schedule", fmt::format("dualpipe pairs the stages: pp {} is odd", p), fmt::format("pp {} or {}", p - 1, p + 1));
    return;
  }
  if (m % 2 != 0 || m < 2 * p) {
    const std::int64_t enough = std::max(2 * p, m + m % 2);
    report("schedule", fmt::format("dualpipe needs an even number of micro-batches, at least 2 x pp = {}, not {}", 2 * p, m),
           fmt::format("gradient_accumulation: {}, or a global_batch to match", enough));
  }
}

}  // namespace

const char* to_text(PipelineSchedule s) {
  switch (s) {
    case PipelineSchedule::kOneForwardOneBackward:
      return "1f1b";
    case PipelineSchedule::kGpipe:
      return "gpipe";
    case PipelineSchedule::kZeroBubbleH1:
      return "zb_h1";
    case PipelineSchedule::kZeroBubbleH2:
      return "zb_h2";
    case PipelineSchedule::kZeroBubbleV:
      return "zb_v";
    case PipelineSchedule::kVHalf:
      return "v_half";
    case PipelineSchedule::kVMin:
      return "v_min";
    case PipelineSchedule::kDualPipe:
      return "dualpipe";
  }
  return "";
}

void check_schedule(const TrainingPlan& plan, const ReportFault& report) {
  const PipelineSchedule s = plan.job.schedule;
  if (s == PipelineSchedule::kOneForwardOneBackward) return;
  const char* name = to_text(s);
  if (plan.job.profile || plan.job.pp == 1) {
    report("schedule", fmt::format("{} orders the passes of a pipeline, and there is none", name),
           plan.job.profile ? "leave it out, or give a model" : "set pp above 1, or leave it out");
    return;
  }
  if (plan.job.virtual_stages > 1) {
    report("virtual_stages", fmt::format("only 1f1b interleaves, not {}", name),
           has_upward_chunk(s) ? fmt::format("{} has two chunks a stage by itself: leave virtual_stages out", name)
                               : "virtual_stages: 1, or schedule: 1f1b");
    return;
  }
  if (is_v_shaped(s)) check_v(plan, name, report);
  if (is_bidirectional(s)) check_both_ways(plan, report);
  if (has_upward_chunk(s) && plan.job.pp > kMostTableActions / 6 / plan.micro_batches) {
    report("schedule",
           fmt::format("{} of {} micro-batches on {} stages is too long a table", name, plan.micro_batches, plan.job.pp),
           fmt::format("at most {} micro-batches, or schedule: zb_h1", kMostTableActions / 6 / plan.job.pp));
  }
}

}  // namespace lockstep
