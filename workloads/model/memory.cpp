// SPDX-License-Identifier: Apache-2.0
#include "workloads/model/memory.h"

#include <algorithm>

#include "base/wide.h"
#include "workloads/parallel/stage.h"
#include "workloads/schedule/pipeline_order.h"

namespace lockstep {
namespace {

constexpr std::int64_t kActivation = 2;     // bytes of a 16-bit value
constexpr std::int64_t kAdamState = 3 * 4;  // master weight and two moments, 32 bits

// Values a rank stores once per token of width `hidden`: the whole of it, or its part of the sequence.
std::int64_t hidden_values(const TrainingPlan& plan) {
  const std::int64_t values = checked_mul(plan.micro_batch_tokens(), plan.job.model.hidden);
  return plan.job.sequence_parallel ? ceil_div(values, plan.tp()) : values;
}

std::int64_t attention_core_bytes(const TrainingPlan& plan) {
  const std::int64_t head_tokens = checked_mul(plan.micro_batch_tokens(), ceil_div(plan.job.model.heads, plan.tp()));
  if (plan.job.attention == AttentionKernel::kFlash) return 4 * head_tokens;
  if (plan.job.recompute == Recompute::kSelective) return 0;
  const std::int64_t bytes_per_score = plan.job.model.has_dropout ? 2 * kActivation + 1 : kActivation;
  return checked_mul(checked_mul(head_tokens, plan.job.seq_len), bytes_per_score);
}

// Micro-batches whose pass through the first chunk of the first stage still waits for its backward. Interleaved, passes run in groups of
// `stages`; the first chunk of the group after next begins only when that of this group is being freed.
std::int64_t embeddings_in_flight(const PipelineShape& shape) {
  const std::int64_t passes = peak_in_flight(shape, 0);
  return std::min({passes, shape.micro_batches, shape.chunks == 1 ? passes : 2 * shape.stages});
}

// Embedding (dropout mask, token ids) per micro-batch in flight, and the head's norm, input and 32-bit logits.
std::int64_t end_activations(const TrainingPlan& plan, std::int64_t stage, const PipelineShape& shape) {
  std::int64_t bytes = 0;
  if (plan.holds_embedding(stage)) {
    constexpr std::int64_t token_id = 8;
    const std::int64_t in_flight = embeddings_in_flight(shape);
    bytes += in_flight * token_id * plan.micro_batch_tokens();
    if (plan.job.model.has_dropout) bytes += in_flight * hidden_values(plan);
  }
  if (plan.holds_head(stage)) {
    bytes += 2 * kActivation * hidden_values(plan);
    bytes += checked_mul(4 * plan.micro_batch_tokens(), ceil_div(plan.job.model.vocab, plan.tp()));
  }
  return bytes;
}

std::int64_t activations(const TrainingPlan& plan, std::int64_t stage) {
  const PipelineShape shape = pipeline_shape(plan);
  const std::int64_t chunks = peak_in_flight(shape, stage);
  const std::int64_t layers = checked_mul(chunks, plan.chunk_layers(stage));
  const std::int64_t ends = end_activations(plan, stage, shape);
  if (plan.job.recompute != Recompute::kFull) return checked_mul(layers, layer_activation_bytes(plan)) + ends;
  // The input of every layer, and everything of the one layer that runs again.
  return checked_mul(layers, kActivation * hidden_values(plan)) + layer_activation_bytes(plan) + ends;
}

std::int64_t sharded_buffers(const TrainingPlan& plan, std::int64_t stage) {
  const std::int64_t layer = stage_part_parameters(plan, ModelPart::kAttention) + stage_part_parameters(plan, ModelPart::kMlp);
  const std::int64_t root = stage_parameters(plan, stage) - layer * plan.stage_layers[static_cast<std::size_t>(stage)];
  const std::int64_t ahead = std::min(plan.job.prefetch, plan.stage_layers[static_cast<std::size_t>(stage)] - 1);
  const std::int64_t gathered = (1 + ahead) * layer + root;
  const std::int64_t leaving = 2 * layer + root;  // being produced, and being reduced
  return gathered * bytes_per_element(plan.job.precision) + leaving * bytes_per_element(plan.job.grad_dtype);
}

}  // namespace

std::int64_t layer_activation_bytes(const TrainingPlan& plan) {
  const TransformerSpec& m = plan.job.model;
  const std::int64_t tokens = plan.micro_batch_tokens();
  const std::int64_t q = ceil_div(m.heads, plan.tp()) * m.head_dim;
  const std::int64_t kv = ceil_div(m.kv_heads, plan.tp()) * m.head_dim;
  const std::int64_t ffn = ceil_div(m.ffn, plan.tp());

  std::int64_t bytes = 4 * kActivation * hidden_values(plan);  // inputs of two norms, of qkv and of the MLP
  if (m.has_dropout) bytes += 2 * hidden_values(plan);         // masks of the two residual branches
  std::int64_t width = 2 * q + 2 * kv;                         // q, attention output; k, v
  if (m.has_qk_norm) width += q + kv;
  width += (m.is_gated ? 3 : 2) * ffn;  // inputs of the activation function and of the down projection
  bytes += checked_mul(checked_mul(tokens, width), kActivation);
  return bytes + attention_core_bytes(plan);
}

MemoryBytes stage_memory(const TrainingPlan& plan, std::int64_t stage) {
  const bool is_sharded = plan.job.strategy == Strategy::kFsdp && plan.optimizer_shards() > 1;
  const std::int64_t parameters = stage_parameters(plan, stage);
  const std::int64_t weights = ceil_div(parameters, is_sharded ? plan.optimizer_shards() : 1);
  MemoryBytes m;
  m.parameters = checked_mul(weights, bytes_per_element(plan.job.precision));
  m.gradients = checked_mul(weights, bytes_per_element(plan.job.grad_dtype));
  m.optimizer = checked_mul(ceil_div(parameters, plan.optimizer_shards()), kAdamState);
  m.activations = activations(plan, stage);
  m.buffers = kRuntimeBytes + (is_sharded ? sharded_buffers(plan, stage) : 0);
  return m;
}

MemoryBytes peak_memory(const TrainingPlan& plan) {
  MemoryBytes peak = stage_memory(plan, 0);
  for (std::int64_t stage = 1; stage < plan.pp(); ++stage) {
    const MemoryBytes m = stage_memory(plan, stage);
    if (m.total() > peak.total()) peak = m;
  }
  return peak;
}

}  // namespace lockstep
