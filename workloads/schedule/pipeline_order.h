// SPDX-License-Identifier: Apache-2.0
// The order in which a pipeline stage runs its passes, as a function of (stage, index). A pass is forward, backward, or, where a
// schedule splits backward, backward towards the input (B) and later the gradients of the weights (W).
//
// In closed form (p stages, stage i, v chunks; F, B, W the time of a stage's passes, equal stages, free messages):
//   1f1b    p - 1 - i forwards, then alternately, then the rest. Idle (p - 1)(F + B + W). Interleaved over v model chunks: a warm-up of
//           2(p - 1 - i) + (v - 1)p passes, idle / v. Narayanan et al. 2021, arXiv 2104.04473, section 2.2.
//   gpipe   all forwards, then all backwards: idle as 1f1b, and all m micro-batches held. Huang et al. 2018, arXiv 1811.06965.
//   zb_h1   1f1b whose W comes i micro-batches after its B: every stage holds p, idle (p - 1)(F + B - W).
//           Qi et al. 2023, arXiv 2401.10241, section 2.3.
//   zb_h2   warm-up 2(p - 1 - i), W 2i micro-batches late: every stage holds 2p - 1. From a stage's first pass to its last it idles
//           (p - 1)(F + B - 2W), but stages end as far apart as they began. Same source, section 2.4.
// The other schedules are tables (workloads/schedule/pipeline_table.h).
#pragma once

#include <cstdint>

#include "workloads/parallel/job.h"

namespace lockstep {

struct TrainingPlan;

struct PipelineShape {
  std::int64_t stages = 1;
  std::int64_t micro_batches = 1;
  std::int64_t chunks = 1;  // PRE: above 1 in 1f1b, stages divide micro_batches
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
  bool operator==(const PipelineShape&) const = default;
};
[[nodiscard]] PipelineShape pipeline_shape(const TrainingPlan& plan);

enum class Pass : std::uint8_t { kForward, kBackward, kWeight };

struct PipelineAction {
  Pass pass = Pass::kForward;
  std::int64_t chunk = 0;
  std::int64_t micro_batch = 0;
  [[nodiscard]] bool is_forward() const { return pass == Pass::kForward; }
  bool operator==(const PipelineAction&) const = default;
};

// Where a forward or backward pass of a chunk goes on to: +1 to the next stage, -1 to the previous one. An upward chunk runs forward to
// the previous; backward runs against forward.
[[nodiscard]] std::int64_t heading(PipelineSchedule schedule, Pass pass, std::int64_t chunk);
// Of every stage.
[[nodiscard]] std::int64_t action_count(const PipelineShape& shape);
[[nodiscard]] std::int64_t warm_up_forwards(const PipelineShape& shape, std::int64_t stage);
// Micro-batches by which W follows its B on a stage of zb_h1 and zb_h2.
[[nodiscard]] std::int64_t weight_delay(const PipelineShape& shape, std::int64_t stage);
// PRE: 0 <= index < action_count(shape), and the schedule is none of the tables.
[[nodiscard]] PipelineAction pipeline_action(const PipelineShape& shape, std::int64_t stage, std::int64_t index);
// Micro-batch chunks whose activations a stage holds at most, at once: from forward until all gradients are computed.
[[nodiscard]] std::int64_t peak_in_flight(const PipelineShape& shape, std::int64_t stage);

}  // namespace lockstep
