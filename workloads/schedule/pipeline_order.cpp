// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/pipeline_order.h"

#include <algorithm>

#include "base/check.h"
#include "workloads/parallel/plan.h"
#include "workloads/parallel/schedule_kind.h"
#include "workloads/schedule/v_order.h"

namespace lockstep {
namespace {

// Passes run in groups: `stages` micro-batches through one chunk, the same through the next chunk, and so on.
PipelineAction numbered(const PipelineShape& s, std::int64_t index, Pass pass) {
  if (s.chunks == 1) return {.pass = pass, .chunk = 0, .micro_batch = index};
  const std::int64_t group = index / (s.stages * s.chunks);
  const std::int64_t within = index % (s.stages * s.chunks);
  const std::int64_t chunk = within / s.stages;
  return {.pass = pass,
          .chunk = pass == Pass::kForward ? chunk : s.chunks - 1 - chunk,
          .micro_batch = group * s.stages + within % s.stages};
}

PipelineAction one_forward_one_backward(const PipelineShape& s, std::int64_t stage, std::int64_t index) {
  const std::int64_t passes = s.micro_batches * s.chunks;
  const std::int64_t warm_up = warm_up_forwards(s, stage);
  if (index < warm_up) return numbered(s, index, Pass::kForward);
  const std::int64_t steady = index - warm_up;
  if (steady >= 2 * (passes - warm_up)) return numbered(s, index - passes, Pass::kBackward);
  const bool is_forward = steady % 2 == 0;
  return numbered(s, steady / 2 + (is_forward ? warm_up : 0), is_forward ? Pass::kForward : Pass::kBackward);
}

// F ... F, then blocks F B of the first `delay` micro-batches and F B W of the others, then B W, then W.
PipelineAction handcrafted_zero_bubble(const PipelineShape& s, std::int64_t stage, std::int64_t index) {
  const std::int64_t m = s.micro_batches;
  const std::int64_t warm_up = warm_up_forwards(s, stage);
  const std::int64_t delay = weight_delay(s, stage);
  const std::int64_t steady = m - warm_up;  // blocks with a forward
  if (index < warm_up) return {Pass::kForward, 0, index};

  std::int64_t at = index - warm_up;
  const std::int64_t without_weight = std::min(delay, steady);
  if (at < 2 * without_weight) {
    return at % 2 == 0 ? PipelineAction{Pass::kForward, 0, warm_up + at / 2} : PipelineAction{Pass::kBackward, 0, at / 2};
  }
  at -= 2 * without_weight;
  if (at < 3 * (steady - without_weight)) {
    const std::int64_t block = without_weight + at / 3;
    if (at % 3 == 0) return {Pass::kForward, 0, warm_up + block};
    return at % 3 == 1 ? PipelineAction{Pass::kBackward, 0, block} : PipelineAction{Pass::kWeight, 0, block - delay};
  }
  at -= 3 * (steady - without_weight);
  const std::int64_t lone = std::clamp<std::int64_t>(delay - steady, 0, warm_up);  // backwards whose block has no W
  if (at < lone) return {Pass::kBackward, 0, steady + at};
  at -= lone;
  if (at < 2 * (warm_up - lone)) {
    const std::int64_t block = steady + lone + at / 2;
    return at % 2 == 0 ? PipelineAction{Pass::kBackward, 0, block} : PipelineAction{Pass::kWeight, 0, block - delay};
  }
  at -= 2 * (warm_up - lone);
  return {Pass::kWeight, 0, m - std::min(delay, m) + at};
}

}  // namespace

PipelineShape pipeline_shape(const TrainingPlan& plan) {
  return {.stages = plan.pp(), .micro_batches = plan.micro_batches, .chunks = plan.chunks(), .schedule = plan.job.schedule};
}

std::int64_t heading(PipelineSchedule schedule, Pass pass, std::int64_t chunk) {
  const bool runs_up = has_upward_chunk(schedule) && chunk == 1;
  return (pass == Pass::kForward) != runs_up ? +1 : -1;
}

std::int64_t action_count(const PipelineShape& s) {
  const std::int64_t passes = is_bidirectional(s.schedule) ? s.micro_batches : s.micro_batches * s.chunks;
  return (splits_passes(s.schedule) ? 3 : 2) * passes;
}

std::int64_t warm_up_forwards(const PipelineShape& s, std::int64_t stage) {
  const std::int64_t distance = s.stages - 1 - stage;
  const std::int64_t passes = s.micro_batches * s.chunks;
  switch (s.schedule) {
    case PipelineSchedule::kGpipe:
      return passes;
    case PipelineSchedule::kZeroBubbleH2:
      return std::min(2 * distance, passes);
    default:
      return std::min(s.chunks == 1 ? distance : 2 * distance + (s.chunks - 1) * s.stages, passes);
  }
}

std::int64_t weight_delay(const PipelineShape& s, std::int64_t stage) {
  return s.schedule == PipelineSchedule::kZeroBubbleH2 ? 2 * stage : stage;
}

PipelineAction pipeline_action(const PipelineShape& s, std::int64_t stage, std::int64_t index) {
  LOCKSTEP_CHECK(index >= 0 && index < action_count(s), "action {} of {}", index, action_count(s));
  if (splits_passes(s.schedule)) return handcrafted_zero_bubble(s, stage, index);
  return one_forward_one_backward(s, stage, index);
}

std::int64_t peak_in_flight(const PipelineShape& s, std::int64_t stage) {
  const std::int64_t passes = s.micro_batches * s.chunks;
  if (is_v_shaped(s.schedule)) return std::min(v_limit(s), passes);
  if (is_bidirectional(s.schedule)) return std::min(s.stages + 1, passes);
  const std::int64_t late = splits_passes(s.schedule) ? weight_delay(s, stage) : 0;
  return std::min(warm_up_forwards(s, stage) + 1 + late, passes);
}

}  // namespace lockstep
