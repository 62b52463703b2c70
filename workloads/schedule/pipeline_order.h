// SPDX-License-Identifier: Apache-2.0
// The order in which a pipeline stage runs its forward and backward passes, as a function of (stage, index): one-forward-
// one-backward after a warm-up, plain (1F1B, PipeDream-flush) or interleaved over `chunks` model chunks per stage.
//
// Source: Narayanan et al. 2021, arXiv 2104.04473, section 2.2. A stage warms up with p - 1 - i forwards (plain) or
// 2(p - 1 - i) + (v - 1)p (interleaved), at most all of them, then alternates, then drains. With equal stages the idle time
// is (p - 1)(F + B) plain and 1/v of it interleaved.
#pragma once

#include <cstdint>

namespace lockstep {

struct PipelineShape {
  std::int64_t stages = 1;
  std::int64_t micro_batches = 1;
  std::int64_t chunks = 1;  // PRE: above 1, stages divide micro_batches
};

struct PipelineAction {
  bool is_forward = true;
  std::int64_t chunk = 0;
  std::int64_t micro_batch = 0;
};

[[nodiscard]] constexpr std::int64_t action_count(const PipelineShape& s) { return 2 * s.micro_batches * s.chunks; }
[[nodiscard]] std::int64_t warm_up_forwards(const PipelineShape& shape, std::int64_t stage);
// PRE: 0 <= index < action_count(shape).
[[nodiscard]] PipelineAction pipeline_action(const PipelineShape& shape, std::int64_t stage, std::int64_t index);
// Micro-batch chunks whose activations a stage holds at most, at once.
[[nodiscard]] std::int64_t peak_in_flight(const PipelineShape& shape, std::int64_t stage);

}  // namespace lockstep
