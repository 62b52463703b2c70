// SPDX-License-Identifier: Apache-2.0
#include "workloads/model/memory.h"

#include <algorithm>

#include "base/wide.h"
#include "workloads/parallel/stage.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMoments = 2 * 4;  // Adam's, 32 bits
constexpr std::int64_t kMaster = 4;

// Parts the experts' optimizer state (with FSDP all of their state) is cut into.
std::int64_t expert_shards(const TrainingPlan& plan) {
  if (plan.optimizer_shards() == 1) return 1;
  const std::int64_t all = expert_replicas(plan);
  return plan.is_hybrid() ? std::max<std::int64_t>(1, all / plan.layout.shard_groups()) : all;
}

struct Shards {
  std::int64_t others = 1;
  std::int64_t experts = 1;
};

std::int64_t share(const StageWeights& w, const Shards& by) {
  return ceil_div(w.layers + w.root, by.others) + ceil_div(w.experts, by.experts);
}

std::int64_t cast_bytes(DataType precision, std::int64_t elements) {
  if (precision == DataType::kNvfp4) return ceil_div(checked_mul(elements, 9), 8);
  const bool is_cast = precision == DataType::kFp8 || precision == DataType::kMxfp8;
  return is_cast ? 2 * elements : 0;
}

// FSDP casts what it has gathered, and keeps no casts.
std::int64_t parameter_bytes(const TrainingPlan& plan, const StageWeights& w, const StageWeights& trained, const Shards& by) {
  const std::int64_t stored = checked_mul(share(w, by), bytes_per_element(plan.job.precision));
  if (plan.job.strategy == Strategy::kFsdp) return stored;
  const std::int64_t layers = w.layers + w.experts - (plan.trains_adapters() ? trained.layers : 0);
  const std::int64_t casts = cast_bytes(plan.job.precision, layers);
  if (casts == 0 || (plan.optimizer_shards() == 1 && !plan.trains_adapters())) return stored + casts;
  return stored - checked_mul(layers, bytes_per_element(plan.job.precision)) + casts;
}

std::int64_t gradient_element_bytes(const JobSpec& job) {
  const std::int64_t bytes = bytes_per_element(job.grad_dtype);
  const bool has_both = job.software.framework == Framework::kDeepspeed && job.strategy == Strategy::kDdp && bytes == 4 &&
                        bytes_per_element(job.precision) == 2;
  return has_both ? bytes + 2 : bytes;
}

}  // namespace

StageWeights stage_weights(const TrainingPlan& plan, std::int64_t stage) {
  const JobSpec& job = plan.job;
  LayerCounts n = stage_layer_counts(plan, stage);
  StageWeights w;
  if (plan.holds_embedding(stage)) w.root += stage_part_parameters(plan, ModelPart::kEmbedding);
  if (plan.holds_head(stage)) {
    w.root += stage_part_parameters(plan, ModelPart::kHead);
    for (const ParameterTensor& t : mtp_tensors(job.model)) w.root += job.model.mtp_layers * t.rank_elements(plan.tp());
    n.dense += prediction_layer_counts(plan).dense;
    n.expert += prediction_layer_counts(plan).expert;
  }
  const std::int64_t attention = stage_part_parameters(plan, ModelPart::kAttention);
  const std::int64_t dense = attention + stage_part_parameters(plan, ModelPart::kMlp);
  w.layers = checked_mul(dense, n.dense);
  w.largest_layer = n.dense > 0 ? dense : 0;
  if (n.expert > 0) {
    const WeightCuts cuts{.tp = plan.tp(), .ep = job.ep, .expert_tp = job.expert_tp};
    const std::int64_t around = attention + stage_part_parameters(plan, ModelPart::kMoe);
    const std::int64_t experts = part_rank_parameters(job.model, ModelPart::kExperts, cuts);
    w.layers += checked_mul(around, n.expert);
    w.experts = checked_mul(experts, n.expert);
    w.largest_layer = std::max(w.largest_layer, around + experts);
  }
  return w;
}

StageWeights trained_weights(const TrainingPlan& plan, std::int64_t stage) {
  if (!plan.trains_adapters()) return stage_weights(plan, stage);
  const LayerCount n = stage_layer_count(plan, stage);
  StageWeights w{.layers = trained_stage_parameters(plan, stage)};
  if (n.dense > 0) w.largest_layer = trained_layer_parameters(plan, false);
  if (n.expert > 0) w.largest_layer = std::max(w.largest_layer, trained_layer_parameters(plan, true));
  return w;
}

std::int64_t expert_replicas(const TrainingPlan& plan) {
  return std::max<std::int64_t>(1, plan.tp() * plan.replicas() / (plan.job.ep * plan.job.expert_tp));
}

MemoryBytes stage_memory(const TrainingPlan& plan, std::int64_t stage) {
  const JobSpec& job = plan.job;
  const StageWeights w = stage_weights(plan, stage);
  const StageWeights trained = trained_weights(plan, stage);
  const Shards sharded{.others = plan.optimizer_shards(), .experts = expert_shards(plan)};
  const bool shards_gradients = job.strategy != Strategy::kDdp;
  const bool shards_weights = job.strategy == Strategy::kFsdp;
  MemoryBytes m;
  m.parameters = parameter_bytes(plan, w, trained, shards_weights ? sharded : Shards{});
  m.gradients = checked_mul(share(trained, shards_gradients ? sharded : Shards{}), gradient_element_bytes(job));
  const std::int64_t state = kMoments + (bytes_per_element(job.precision) == 2 ? kMaster : 0);
  const std::int64_t updated = share(trained, sharded);
  const auto offloaded = static_cast<std::int64_t>(static_cast<double>(updated) * job.optimizer_offload.value);
  m.optimizer = checked_mul(updated - offloaded, state);
  m.host = checked_mul(offloaded, state + bytes_per_element(job.grad_dtype));
  m.activations = stage_activations(plan, stage);
  m.buffer_parts = stage_buffers(plan, stage, m.activations);
  return m;
}

MemoryBytes held_within(MemoryBytes memory, std::int64_t capacity) {
  const std::int64_t room = std::max<std::int64_t>(0, capacity - memory.needed());
  memory.buffer_parts.fragmentation = std::min(memory.buffer_parts.fragmentation, room);
  return memory;
}

std::int64_t fullest_stage(const TrainingPlan& plan) {
  std::int64_t fullest = 0;
  std::int64_t most = 0;
  for (std::int64_t stage = 0; stage < plan.pp(); ++stage) {
    const std::int64_t total = stage_memory(plan, stage).total();
    if (total > most) fullest = stage;
    most = std::max(most, total);
  }
  return fullest;
}

MemoryBytes peak_memory(const TrainingPlan& plan) { return stage_memory(plan, fullest_stage(plan)); }

bool fits_into(const TrainingPlan& plan, std::int64_t capacity) {
  for (std::int64_t stage = 0; stage < plan.pp(); ++stage) {
    if (stage_memory(plan, stage).needed() > capacity) return false;
  }
  return true;
}

}  // namespace lockstep
