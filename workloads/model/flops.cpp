// SPDX-License-Identifier: Apache-2.0
#include "workloads/model/flops.h"

namespace lockstep {

ForwardFlops forward_flops(const TransformerSpec& m, std::int64_t sequences, std::int64_t seq_len) {
  const double tokens = static_cast<double>(sequences) * static_cast<double>(seq_len);
  const double squares = tokens * static_cast<double>(seq_len);
  const auto layers = static_cast<double>(m.layers);
  const auto hidden = static_cast<double>(m.hidden);
  const double q_width = static_cast<double>(m.heads) * static_cast<double>(m.head_dim);
  const double kv_width = static_cast<double>(m.kv_heads) * static_cast<double>(m.head_dim);
  return {.attention_projections = layers * 2 * tokens * hidden * (2 * q_width + 2 * kv_width),
          .attention_core = layers * 2 * squares * q_width,
          .mlp = layers * (m.is_gated ? 6 : 4) * tokens * hidden * static_cast<double>(m.ffn),
          .logits = 2 * tokens * hidden * static_cast<double>(m.vocab)};
}

StepFlops step_flops(const TrainingPlan& plan) {
  const ForwardFlops forward = forward_flops(plan.job.model, plan.global_batch, plan.job.seq_len);
  StepFlops step;
  step.model = 3 * forward.total();
  step.hardware = step.model;
  if (plan.job.recompute == Recompute::kFull) step.hardware += forward.layers();
  if (plan.job.recompute == Recompute::kSelective) step.hardware += forward.attention_core;
  return step;
}

}  // namespace lockstep
