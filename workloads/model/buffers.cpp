// SPDX-License-Identifier: Apache-2.0
#include "workloads/model/buffers.h"

#include <algorithm>

#include "base/wide.h"
#include "workloads/model/activations.h"
#include "workloads/model/memory.h"
#include "workloads/parallel/stage.h"
#include "workloads/schedule/buckets.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMebibyte = 1024 * 1024;
constexpr std::int64_t kContext = 500'000'000;
constexpr std::int64_t kNcclChannels = 16;
constexpr std::int64_t kNcclChannel = 4 * kMebibyte + 512 * 1024 + 120 * 640 * 8 * 8;  // Simple, LL, LL128
constexpr std::int64_t kCublas = 32 * kMebibyte;        // NVIDIA's recommendation for Hopper, PyTorch's default there
constexpr std::int64_t kDeepspeedLive = 1'000'000'000;  // stage3_max_live_parameters
constexpr std::int64_t kFragmentationPercent = 10;
constexpr std::int64_t kHalf = 2;  // bytes of a 16-bit value

// That is trained.
std::int64_t largest_tensor(const TrainingPlan& plan, std::int64_t stage) {
  std::int64_t most = 0;
  const auto look_at = [&](ModelPart part) {
    for (const ParameterTensor& t : trained_tensors(plan, part)) most = std::max(most, t.rank_elements(plan.tp()));
  };
  look_at(ModelPart::kAttention);
  look_at(ModelPart::kMlp);
  if (plan.holds_embedding(stage)) look_at(ModelPart::kEmbedding);
  if (plan.holds_head(stage)) look_at(ModelPart::kHead);
  return most;
}

// A flattened bucket (two where ZeRO-2 overlaps them with backward); with 16-bit gradients a 32-bit copy of the rank's share for the
// update, and the norm of its largest tensor in 64 bits (deepspeed/runtime/zero/stage_1_and_2.py, get_grad_norm_direct). They come when
// activations are gone, but what those leave behind are blocks of their own size, too small for these.
std::int64_t deepspeed_bytes(const TrainingPlan& plan, const StageWeights& weights, std::int64_t tensor) {
  const std::int64_t grad = bytes_per_element(plan.job.grad_dtype);
  const std::int64_t buckets = plan.job.strategy == Strategy::kZero2 && plan.job.overlap_grad_reduce ? 2 : 1;
  const std::int64_t bucket = checked_mul(std::min(kDeepspeedBucket, weights.total()), grad);
  const std::int64_t shard = ceil_div(weights.total(), plan.optimizer_shards());
  return buckets * bucket + (grad == kHalf ? 4 * shard + 8 * std::min(tensor, shard) : 0);
}

// Of a stage's data-parallel gradients on their way, and of weights gathered for a moment.
std::int64_t gathered_bytes(const TrainingPlan& plan, std::int64_t stage) {
  if (plan.replicas() == 1) return 0;
  const JobSpec& job = plan.job;
  const StageWeights weights = stage_weights(plan, stage);
  const StageWeights trained = trained_weights(plan, stage);
  const std::int64_t grad = bytes_per_element(job.grad_dtype);
  if (job.strategy == Strategy::kFsdp) {
    if (plan.optimizer_shards() == 1) return 0;
    const std::int64_t layers = plan.stage_layers[static_cast<std::size_t>(stage)];
    const std::int64_t ahead = std::min(job.prefetch, layers - 1);
    const std::int64_t gathered = checked_mul(1 + ahead, weights.largest_layer) + weights.root;
    const std::int64_t leaving = 2 * trained.largest_layer + trained.root;  // being produced, and being reduced
    if (job.software.framework == Framework::kDeepspeed) {
      const std::int64_t live = std::min(gathered, kDeepspeedLive);
      return checked_mul(live, bytes_per_element(job.precision)) + checked_mul(std::min(leaving, kDeepspeedBucket), grad);
    }
    return checked_mul(gathered, bytes_per_element(job.precision)) + checked_mul(leaving, grad);
  }
  if (job.software.framework == Framework::kDeepspeed && plan.optimizer_shards() > 1) {
    return deepspeed_bytes(plan, trained, largest_tensor(plan, stage));
  }
  if (job.strategy == Strategy::kZero2) {
    const std::int64_t bucket = std::min(bucket_limits(plan).other, checked_mul(trained.total(), grad));
    return (job.overlap_grad_reduce ? 2 : 1) * bucket;
  }
  if (job.software.framework == Framework::kPytorch && !job.distributed_optimizer) return checked_mul(trained.total(), grad);
  return 0;
}

std::int64_t exchange_bytes(const TrainingPlan& plan) {
  const TransformerSpec& m = plan.job.model;
  std::int64_t bytes = 0;
  if (m.moe && plan.job.ep > 1) bytes += 2 * checked_mul(checked_mul(expert_tokens(plan), m.hidden), activation_bytes(plan));
  if (const std::int64_t cp = plan.layout.sizes().cp; cp > 1) {
    const std::int64_t heads = ceil_div(m.heads, plan.tp());
    const std::int64_t keys_and_values =
        m.mla ? heads * (m.mla->nope_dim + m.mla->rope_dim + m.mla->v_dim) : 2 * ceil_div(m.kv_heads, plan.tp()) * m.head_dim;
    const std::int64_t block = checked_mul(checked_mul(plan.micro_batch_tokens(), keys_and_values), activation_bytes(plan));
    const std::int64_t queries = checked_mul(plan.micro_batch_tokens() * 2 * heads * m.head_dim, activation_bytes(plan));
    switch (plan.job.cp_exchange) {
      case CpExchange::kRing:
        bytes += 4 * block;  // a block arriving and one leaving, and in backward as many of their gradients
        break;
      case CpExchange::kAllGather:
        bytes += 2 * cp * block;  // and their gradients
        break;
      case CpExchange::kAllToAll:
        bytes += block + queries;
        break;
    }
  }
  if (plan.pp() > 1) bytes += 2 * checked_mul(activation_bytes(plan), hidden_values(plan));
  return bytes;
}

// Gradients of activations while backward is inside a part: of what its exit product read, of what its entry product made, and of the
// residual stream, whole.
std::int64_t workspace_bytes(const TrainingPlan& plan, std::int64_t stage) {
  const TransformerSpec& m = plan.job.model;
  const std::int64_t tokens = plan.micro_batch_tokens();
  const std::int64_t branches = m.is_gated ? 3 : 2;
  const std::int64_t heads = ceil_div(m.heads, plan.tp());
  const std::int64_t head = m.mla ? m.mla->nope_dim + m.mla->rope_dim : m.head_dim;
  std::int64_t part = checked_mul(tokens, 4 * heads * head);  // no more keys and values than queries
  if (plan.job.attention == AttentionKernel::kUnfused) {
    part += 2 * checked_mul(checked_mul(tokens, heads), plan.job.seq_len);  // of the scores, before and after their softmax
  }
  const LayerCounts layers = stage_layer_counts(plan, stage);
  if (layers.dense > 0) part = std::max(part, checked_mul(tokens, branches * ceil_div(m.ffn, plan.tp())));
  if (layers.expert > 0) {
    const std::int64_t width = branches * ceil_div(m.moe->ffn, plan.job.expert_tp) + m.hidden;
    part = std::max(part, checked_mul(expert_tokens(plan), width));
  }
  part += 2 * checked_mul(tokens, m.hidden);
  return kCublas + checked_mul(part, activation_bytes(plan));
}

}  // namespace

std::int64_t communicators_of(const TrainingPlan& plan, std::int64_t stage) {
  const auto is_used = [](bool used) { return used ? std::int64_t{1} : 0; };
  const bool has_tie = plan.ties_gradients() && (plan.is_first(stage) || plan.is_last(stage));
  return is_used(plan.layout.world_size() > 1) + is_used(plan.tp() > 1) + is_used(plan.pp() > 1) +
         is_used(plan.replicas() > 1) + is_used(plan.is_hybrid()) + is_used(plan.layout.sizes().cp > 1) +
         is_used(plan.job.ep > 1) + is_used(plan.job.ep > 1 && expert_replicas(plan) > 1) + is_used(has_tie);
}

BufferBytes stage_buffers(const TrainingPlan& plan, std::int64_t stage, std::int64_t activations) {
  BufferBytes b;
  b.context = kContext;
  b.nccl = communicators_of(plan, stage) * kNcclChannels * kNcclChannel;
  b.gathered = gathered_bytes(plan, stage);
  if (plan.holds_head(stage)) {
    b.logits = checked_mul(activation_bytes(plan) * plan.micro_batch_tokens(), ceil_div(plan.job.model.vocab, plan.tp()));
  }
  b.exchange = exchange_bytes(plan);
  b.workspace = workspace_bytes(plan, stage);
  const std::int64_t passing = activations + b.gathered + b.logits + b.exchange + b.workspace;
  b.fragmentation = passing / 100 * kFragmentationPercent;
  return b;
}

}  // namespace lockstep
