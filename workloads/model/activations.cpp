// SPDX-License-Identifier: Apache-2.0
#include "workloads/model/activations.h"

#include <algorithm>

#include "base/wide.h"
#include "workloads/schedule/pipeline_order.h"

namespace lockstep {
namespace {

constexpr std::int64_t kStatistic = 4;  // bytes of a 32-bit value

// Of a value that a product of weights has read.
std::int64_t operand_bytes(const TrainingPlan& plan, std::int64_t values) {
  switch (plan.job.precision) {
    case DataType::kFp8:
    case DataType::kMxfp8:
      return values;
    case DataType::kNvfp4:
      return ceil_div(checked_mul(values, 9), 16);  // 4 bits, and 8 bits of scale per 16 values
    default:
      return checked_mul(values, activation_bytes(plan));
  }
}
// The same of the weights of a part, some of which may be frozen.
std::int64_t operand_bytes(const TrainingPlan& plan, ModelPart part, std::int64_t values) {
  if (!plan.trains_adapters()) return operand_bytes(plan, values);
  return plan.job.lora->adapts(part) ? checked_mul(values, activation_bytes(plan)) : 0;
}
// Of a value that both a product of weights and another kernel read: once where they read the same.
std::int64_t shared_bytes(const TrainingPlan& plan, std::int64_t values) {
  if (plan.trains_adapters()) return checked_mul(values, activation_bytes(plan));
  const std::int64_t kept = checked_mul(values, activation_bytes(plan));
  const bool is_cast = bytes_per_element(plan.job.precision) == 2 && plan.job.precision != DataType::kBf16 &&
                       plan.job.precision != DataType::kFp16;
  return is_cast ? kept + operand_bytes(plan, values) : kept;
}

std::int64_t attention_core_bytes(const TrainingPlan& plan) {
  const std::int64_t head_tokens = checked_mul(plan.micro_batch_tokens(), ceil_div(plan.job.model.heads, plan.tp()));
  if (plan.job.attention != AttentionKernel::kUnfused) return kStatistic * head_tokens;
  if (plan.job.recompute == Recompute::kSelective) return 0;
  const std::int64_t value = activation_bytes(plan);
  const std::int64_t bytes_per_score = plan.job.model.has_dropout ? 2 * value + 1 : value;
  return checked_mul(checked_mul(head_tokens, plan.job.seq_len), bytes_per_score);
}

// Latents before and after their norms are whole on every tensor-parallel rank, or cut with the sequence.
std::int64_t latent_bytes(const TrainingPlan& plan, const MlaSpec& mla) {
  const std::int64_t tokens =
      plan.job.sequence_parallel ? ceil_div(plan.micro_batch_tokens(), plan.tp()) : plan.micro_batch_tokens();
  const std::int64_t latents = checked_mul(tokens, mla.q_rank + mla.kv_rank);
  return checked_mul(latents, activation_bytes(plan)) + operand_bytes(plan, ModelPart::kAttention, latents);
}

// Queries, keys, values and the output of the core, with what leads to them.
std::int64_t attention_bytes(const TrainingPlan& plan) {
  const TransformerSpec& m = plan.job.model;
  const std::int64_t tokens = plan.micro_batch_tokens();
  const std::int64_t heads = ceil_div(m.heads, plan.tp());
  std::int64_t bytes = attention_core_bytes(plan);
  if (m.mla) {
    const std::int64_t q_and_k = 2 * heads * (m.mla->nope_dim + m.mla->rope_dim);
    const std::int64_t v = heads * m.mla->v_dim;
    bytes += latent_bytes(plan, *m.mla);
    bytes += checked_mul(checked_mul(tokens, q_and_k + v), activation_bytes(plan));
    return bytes + shared_bytes(plan, checked_mul(tokens, v));
  }
  const std::int64_t q = heads * m.head_dim;
  const std::int64_t kv = ceil_div(m.kv_heads, plan.tp()) * m.head_dim;
  const std::int64_t normed = m.has_qk_norm ? q + kv : 0;
  bytes += checked_mul(checked_mul(tokens, q + 2 * kv + normed), activation_bytes(plan));
  return bytes + shared_bytes(plan, checked_mul(tokens, q));
}

// Inputs of the activation function and of the down projection.
std::int64_t feed_forward_bytes(const TrainingPlan& plan, ModelPart part, std::int64_t tokens, std::int64_t ffn) {
  const std::int64_t values = checked_mul(tokens, ffn);
  return checked_mul((plan.job.model.is_gated ? 2 : 1) * values, activation_bytes(plan)) + operand_bytes(plan, part, values);
}

// What adapters of a part read and what is between their products. Two parts behind one norm read the same.
std::int64_t adapter_bytes(const TrainingPlan& plan, ModelPart part, bool is_read_already) {
  const TransformerSpec& m = plan.job.model;
  const std::int64_t tokens = plan.micro_batch_tokens();
  const std::int64_t adapters = adapter_count(m, *plan.job.lora, part);
  if (adapters == 0) return 0;
  const std::int64_t input = is_read_already ? 0 : m.hidden;
  return checked_mul(checked_mul(tokens, input + adapters * plan.job.lora->rank), activation_bytes(plan));
}

// What both kinds of layer keep per token of the residual stream: inputs of the norms and of the parts, masks of the two branches.
std::int64_t residual_bytes(const TrainingPlan& plan) {
  const TransformerSpec& m = plan.job.model;
  const std::int64_t values = hidden_values(plan);
  const std::int64_t norm_inputs = m.has_parallel_parts ? 1 : 2;
  const std::int64_t part_inputs = m.has_one_norm ? 1 : 2;
  std::int64_t bytes = norm_inputs * activation_bytes(plan) * values;
  if (plan.trains_adapters()) {
    const bool reads_same = m.has_one_norm && plan.job.lora->adapts(ModelPart::kAttention);
    bytes += adapter_bytes(plan, ModelPart::kAttention, false) + adapter_bytes(plan, ModelPart::kMlp, reads_same);
  } else {
    bytes += part_inputs * operand_bytes(plan, values);
  }
  if (m.has_dropout) bytes += 2 * values;
  return bytes;
}

// Passes through a chunk among the first `passes` forwards: those run in groups, `stages` micro-batches through each chunk in turn. With
// an upward chunk half of those held are taken to be of either.
std::int64_t passes_of_chunk(const PipelineShape& shape, std::int64_t passes, std::int64_t chunk) {
  if (shape.chunks == 1) return passes;
  if (has_upward_chunk(shape.schedule)) return chunk == 0 ? passes - passes / 2 : passes / 2;
  const std::int64_t group = shape.stages * shape.chunks;
  const std::int64_t begun = passes % group - chunk * shape.stages;
  return passes / group * shape.stages + std::clamp<std::int64_t>(begun, 0, shape.stages);
}

std::int64_t layers_bytes(const TrainingPlan& plan, const LayerCounts& n) {
  std::int64_t bytes = n.dense > 0 ? checked_mul(n.dense, layer_activation_bytes(plan)) : 0;
  if (n.expert > 0) bytes += checked_mul(n.expert, expert_layer_activation_bytes(plan));
  return bytes;
}

// Micro-batches whose pass through the first chunk of the first stage still waits for its backward. Interleaved, passes run in groups of
// `stages`; the first chunk of the group after next begins only when that of this group is being freed.
std::int64_t embeddings_in_flight(const PipelineShape& shape) {
  const std::int64_t passes = peak_in_flight(shape, 0);
  return std::min(
      {passes, shape.micro_batches, shape.chunks == 1 || has_upward_chunk(shape.schedule) ? passes : 2 * shape.stages});
}

// Embedding (dropout mask, token ids) per micro-batch in flight, and the head's norm, input and 32-bit softmax.
std::int64_t end_activations(const TrainingPlan& plan, std::int64_t stage, const PipelineShape& shape) {
  std::int64_t bytes = 0;
  if (plan.holds_embedding(stage)) {
    constexpr std::int64_t token_id = 8;
    const std::int64_t in_flight = embeddings_in_flight(shape);
    bytes += in_flight * token_id * plan.micro_batch_tokens();
    if (plan.job.model.has_dropout) bytes += in_flight * hidden_values(plan);
  }
  if (plan.holds_head(stage)) {
    const std::int64_t heads = 1 + plan.job.model.mtp_layers;
    const std::int64_t softmax = checked_mul(kStatistic * plan.micro_batch_tokens(), ceil_div(plan.job.model.vocab, plan.tp()));
    const std::int64_t inputs_of_head = plan.trains_adapters() ? 1 : 2;  // of the norm, and of the logits
    bytes += checked_mul(heads, inputs_of_head * activation_bytes(plan) * hidden_values(plan) + softmax);
    const bool is_recomputed = plan.job.recompute == Recompute::kFull && !plan.job.recompute_layers;
    const std::int64_t inputs = checked_mul(heads - 1, activation_bytes(plan) * hidden_values(plan));
    bytes += is_recomputed ? inputs : layers_bytes(plan, prediction_layer_counts(plan));
  }
  return bytes;
}

}  // namespace

LayerCounts layer_counts(const TrainingPlan& plan, std::int64_t stage, std::int64_t chunk, std::int64_t begin,
                         std::int64_t end) {
  if (!plan.job.model.moe) return {.dense = end - begin};
  const std::int64_t first = plan.first_layer(stage, chunk);
  LayerCounts n;
  for (std::int64_t layer = first + begin; layer < first + end; ++layer) {
    ++(plan.job.model.is_expert_layer(layer) ? n.expert : n.dense);
  }
  return n;
}

LayerCounts prediction_layer_counts(const TrainingPlan& plan) {
  const TransformerSpec& m = plan.job.model;
  LayerCounts n;
  for (std::int64_t i = 0; i < m.mtp_layers; ++i) ++(m.is_expert_layer(m.layers + i) ? n.expert : n.dense);
  return n;
}

LayerCounts stage_layer_counts(const TrainingPlan& plan, std::int64_t stage) {
  LayerCounts sum;
  for (std::int64_t chunk = 0; chunk < plan.chunks(); ++chunk) {
    const LayerCounts n = layer_counts(plan, stage, chunk, 0, plan.chunk_layers(stage, chunk));
    sum.dense += n.dense;
    sum.expert += n.expert;
  }
  return sum;
}

std::int64_t activation_bytes(const TrainingPlan& plan) { return bytes_per_element(plan.job.precision); }

std::int64_t hidden_values(const TrainingPlan& plan) {
  const std::int64_t values = checked_mul(plan.micro_batch_tokens(), plan.job.model.hidden);
  return plan.job.sequence_parallel ? ceil_div(values, plan.tp()) : values;
}

std::int64_t expert_tokens(const TrainingPlan& plan) {
  std::int64_t tokens = plan.micro_batch_tokens();
  if (plan.job.sequence_parallel && plan.job.expert_tp == 1) tokens = ceil_div(tokens, plan.tp());
  const double copies = static_cast<double>(checked_mul(tokens, plan.job.model.moe->top_k));
  return static_cast<std::int64_t>(copies * (plan.job.ep > 1 ? plan.job.expert_skew : 1.0));
}

std::int64_t layer_activation_bytes(const TrainingPlan& plan) {
  const std::int64_t ffn = ceil_div(plan.job.model.ffn, plan.tp());
  return residual_bytes(plan) + attention_bytes(plan) +
         feed_forward_bytes(plan, ModelPart::kMlp, plan.micro_batch_tokens(), ffn);
}

std::int64_t expert_layer_activation_bytes(const TrainingPlan& plan) {
  const MoeSpec& moe = *plan.job.model.moe;
  std::int64_t bytes = residual_bytes(plan) + attention_bytes(plan);
  const std::int64_t routed =
      plan.job.sequence_parallel ? ceil_div(plan.micro_batch_tokens(), plan.tp()) : plan.micro_batch_tokens();
  bytes += checked_mul(2 * kStatistic * routed, moe.experts);  // scores before and after their softmax
  const std::int64_t arrived = expert_tokens(plan);
  bytes += operand_bytes(plan, ModelPart::kExperts, checked_mul(arrived, plan.job.model.hidden));
  bytes += feed_forward_bytes(plan, ModelPart::kExperts, arrived, ceil_div(moe.ffn, plan.job.expert_tp));
  if (moe.shared_ffn == 0) return bytes;
  const std::int64_t shared = ceil_div(moe.shared_ffn, plan.tp());
  bytes += feed_forward_bytes(plan, ModelPart::kMoe, plan.micro_batch_tokens(), shared);
  return bytes;
}

std::int64_t recomputed_layers(const TrainingPlan& plan, std::int64_t stage, std::int64_t chunk) {
  if (plan.job.recompute != Recompute::kFull) return 0;
  const std::int64_t layers = plan.chunk_layers(stage, chunk);
  if (!plan.job.recompute_layers) return layers;
  std::int64_t before = 0;
  for (std::int64_t c = 0; c < chunk; ++c) before += plan.chunk_layers(stage, c);
  return std::clamp<std::int64_t>(*plan.job.recompute_layers - before, 0, layers);
}

std::int64_t stage_activations(const TrainingPlan& plan, std::int64_t stage) {
  const PipelineShape shape = pipeline_shape(plan);
  const std::int64_t passes = peak_in_flight(shape, stage);
  std::int64_t bytes = end_activations(plan, stage, shape);
  std::int64_t again = 0;  // everything of the layer that runs again
  for (std::int64_t chunk = 0; chunk < plan.chunks(); ++chunk) {
    const std::int64_t recomputed = recomputed_layers(plan, stage, chunk);
    const LayerCounts kept = layer_counts(plan, stage, chunk, recomputed, plan.chunk_layers(stage, chunk));
    const std::int64_t inputs = checked_mul(recomputed * activation_bytes(plan), hidden_values(plan));
    bytes += checked_mul(passes_of_chunk(shape, passes, chunk), inputs + layers_bytes(plan, kept));
    const LayerCounts n = layer_counts(plan, stage, chunk, 0, recomputed);
    if (n.dense > 0) again = std::max(again, layer_activation_bytes(plan));
    if (n.expert > 0) again = std::max(again, expert_layer_activation_bytes(plan));
  }
  return bytes + again;
}

}  // namespace lockstep
