// SPDX-License-Identifier: Apache-2.0
// Properties of a pipeline schedule that layout, memory and program agree on.
#pragma once

#include <cstdint>

#include "workloads/parallel/job.h"

namespace lockstep {

// Two chunks a stage: the model goes down the stages with the first and up again with the second, so that the first stage holds
// embedding and head and the last one turns without a message.
[[nodiscard]] constexpr bool is_v_shaped(PipelineSchedule s) {
  return s == PipelineSchedule::kZeroBubbleV || s == PipelineSchedule::kVHalf || s == PipelineSchedule::kVMin;
}
// Two copies of the model: the second lies the other way round, so that stage i also holds what stage p - 1 - i does.
[[nodiscard]] constexpr bool is_bidirectional(PipelineSchedule s) { return s == PipelineSchedule::kDualPipe; }
// The second chunk of a stage runs forward from the last stage to the first.
[[nodiscard]] constexpr bool has_upward_chunk(PipelineSchedule s) { return is_v_shaped(s) || is_bidirectional(s); }
// Backward comes in two passes: gradients of activations, and later those of weights.
[[nodiscard]] constexpr bool splits_passes(PipelineSchedule s) {
  return s != PipelineSchedule::kOneForwardOneBackward && s != PipelineSchedule::kGpipe;
}
// Model chunks of a stage.
[[nodiscard]] constexpr std::int64_t chunks_of(PipelineSchedule s, std::int64_t virtual_stages) {
  return has_upward_chunk(s) ? 2 : virtual_stages;
}
// Order in the file, for messages: "zb_h1".
[[nodiscard]] const char* to_text(PipelineSchedule s);

}  // namespace lockstep
