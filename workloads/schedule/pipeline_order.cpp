// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/pipeline_order.h"

#include <algorithm>

#include "base/check.h"

namespace lockstep {
namespace {

// Passes run in groups: `stages` micro-batches through one chunk, the same through the next chunk, and so on.
PipelineAction pass(const PipelineShape& s, std::int64_t index, bool is_forward) {
  const std::int64_t group = index / (s.stages * s.chunks);
  const std::int64_t within = index % (s.stages * s.chunks);
  const std::int64_t chunk = within / s.stages;
  return {.is_forward = is_forward,
          .chunk = is_forward ? chunk : s.chunks - 1 - chunk,
          .micro_batch = group * s.stages + within % s.stages};
}

PipelineAction numbered(const PipelineShape& s, std::int64_t index, bool is_forward) {
  if (s.chunks == 1) return {.is_forward = is_forward, .chunk = 0, .micro_batch = index};
  return pass(s, index, is_forward);
}

}  // namespace

std::int64_t warm_up_forwards(const PipelineShape& s, std::int64_t stage) {
  const std::int64_t distance = s.stages - 1 - stage;
  const std::int64_t wanted = s.chunks == 1 ? distance : 2 * distance + (s.chunks - 1) * s.stages;
  return std::min(wanted, s.micro_batches * s.chunks);
}

PipelineAction pipeline_action(const PipelineShape& s, std::int64_t stage, std::int64_t index) {
  LOCKSTEP_CHECK(index >= 0 && index < action_count(s), "action {} of {}", index, action_count(s));
  const std::int64_t passes = s.micro_batches * s.chunks;
  const std::int64_t warm_up = warm_up_forwards(s, stage);
  if (index < warm_up) return numbered(s, index, true);
  const std::int64_t steady = index - warm_up;
  if (steady >= 2 * (passes - warm_up)) return numbered(s, index - passes, false);
  return numbered(s, steady / 2 + (steady % 2 == 0 ? warm_up : 0), steady % 2 == 0);
}

std::int64_t peak_in_flight(const PipelineShape& s, std::int64_t stage) {
  return std::min(warm_up_forwards(s, stage) + 1, s.micro_batches * s.chunks);
}

}  // namespace lockstep
