// SPDX-License-Identifier: Apache-2.0
#include "workloads/model/flops.h"
#include "workloads/parallel/stage.h"

namespace lockstep {
namespace {

// Multiply-adds per token of the projections around attention.
double projection_madds(const TransformerSpec& m) {
  const auto hidden = static_cast<double>(m.hidden);
  const auto heads = static_cast<double>(m.heads);
  if (!m.mla) {
    const double q_width = heads * static_cast<double>(m.head_dim);
    const double kv_width = static_cast<double>(m.kv_heads) * static_cast<double>(m.head_dim);
    return hidden * (2 * q_width + 2 * kv_width);
  }
  const auto qk = static_cast<double>(m.mla->qk_dim());
  const auto rope = static_cast<double>(m.mla->rope_dim);
  const auto v = static_cast<double>(m.mla->v_dim);
  const auto q_rank = static_cast<double>(m.mla->q_rank);
  const auto kv_rank = static_cast<double>(m.mla->kv_rank);
  const double q = q_rank > 0 ? q_rank * (hidden + heads * qk) : hidden * heads * qk;
  return q + kv_rank * (hidden + heads * (qk - rope + v)) + hidden * rope + heads * v * hidden;
}

// Widths of a score and of what it weighs, all heads together: the core runs 2 x width / 2 per pair of tokens for each of the two.
double core_width(const TransformerSpec& m) {
  const std::int64_t width = m.mla ? m.mla->qk_dim() + m.mla->v_dim : 2 * m.head_dim;
  return static_cast<double>(m.heads) * static_cast<double>(width);
}

std::int64_t expert_width(const MoeSpec& moe) { return moe.top_k * moe.ffn + moe.shared_ffn; }

double feed_forward_flops(const TransformerSpec& m, std::int64_t width, double tokens) {
  return (m.is_gated ? 6 : 4) * tokens * static_cast<double>(m.hidden) * static_cast<double>(width);
}

// Layers of a stage that full recomputation runs again. The first ones are those of its first chunks.
template <class Visit>
void for_each_recomputed_layer(const TrainingPlan& plan, const Visit& visit) {
  const std::int64_t chunks = plan.chunks() / plan.weight_copies();  // a micro-batch goes through one copy
  for (std::int64_t stage = 0; stage < plan.pp(); ++stage) {
    std::int64_t left = plan.job.recompute_layers.value_or(plan.job.model.layers);
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      const std::int64_t layer = plan.first_layer(stage, chunk);
      for (std::int64_t i = 0; i < plan.chunk_layers(stage, chunk) && left > 0; ++i, --left) visit(layer + i);
    }
  }
}

// Forward.
double adapter_flops(const TrainingPlan& plan) {
  if (!plan.trains_adapters()) return 0;
  const double tokens = static_cast<double>(plan.global_batch) * static_cast<double>(plan.job.seq_len);
  return 2 * tokens * static_cast<double>(adapter_parameter_count(plan.job.model, *plan.job.lora));
}

double recomputed_flops(const TrainingPlan& plan, const ForwardFlops& forward) {
  if (plan.job.recompute == Recompute::kSelective) return forward.attention_core + forward.mtp_core;
  if (plan.job.recompute != Recompute::kFull) return 0;
  if (!plan.job.recompute_layers) return forward.layers() + forward.mtp() + adapter_flops(plan);
  const auto layers = static_cast<double>(plan.job.model.layers + plan.job.model.mtp_layers);
  const double adapters = adapter_flops(plan) / layers;
  double sum = 0;
  for_each_recomputed_layer(plan, [&](std::int64_t layer) {
    sum += layer_flops(plan.job.model, layer, plan.global_batch, plan.job.seq_len).total() + adapters;
  });
  return sum;
}

}  // namespace

LayerFlops layer_flops(const TransformerSpec& m, std::int64_t layer, std::int64_t sequences, std::int64_t seq_len) {
  const double tokens = static_cast<double>(sequences) * static_cast<double>(seq_len);
  const double squares = tokens * static_cast<double>(seq_len);
  return {.attention_projections = 2 * tokens * projection_madds(m),
          .attention_core = squares * core_width(m),
          .feed_forward = feed_forward_flops(m, m.is_expert_layer(layer) ? expert_width(*m.moe) : m.ffn, tokens)};
}

ForwardFlops forward_flops(const TransformerSpec& m, std::int64_t sequences, std::int64_t seq_len) {
  const double tokens = static_cast<double>(sequences) * static_cast<double>(seq_len);
  const auto hidden = static_cast<double>(m.hidden);
  const LayerFlops any = layer_flops(m, 0, sequences, seq_len);
  const auto layers = static_cast<double>(m.layers);
  ForwardFlops sum{.attention_projections = layers * any.attention_projections, .attention_core = layers * any.attention_core};
  sum.mlp = static_cast<double>(m.layers - m.expert_layers()) * feed_forward_flops(m, m.ffn, tokens);
  if (m.moe) sum.experts = static_cast<double>(m.expert_layers()) * feed_forward_flops(m, expert_width(*m.moe), tokens);
  for (std::int64_t i = 0; i < m.mtp_layers; ++i) {
    const LayerFlops f = layer_flops(m, m.layers + i, sequences, seq_len);
    sum.mtp_core += f.attention_core;
    sum.mtp_rest += f.attention_projections + f.feed_forward + 4 * tokens * hidden * hidden;
  }
  sum.logits = 2 * tokens * hidden * static_cast<double>(m.vocab) * static_cast<double>(1 + m.mtp_layers);
  return sum;
}

StepFlops step_flops(const TrainingPlan& plan) {
  const ForwardFlops forward = forward_flops(plan.job.model, plan.global_batch, plan.job.seq_len);
  const double adapters = adapter_flops(plan);
  StepFlops step;
  step.model = 3 * (forward.total() + adapters);
  if (plan.trains_adapters()) step.model -= forward.total() - forward.attention_core - forward.mtp_core;
  step.hardware = step.model + recomputed_flops(plan, forward);
  return step;
}

}  // namespace lockstep
