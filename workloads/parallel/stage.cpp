// SPDX-License-Identifier: Apache-2.0
#include "workloads/parallel/stage.h"

#include "base/check.h"
#include "base/wide.h"

namespace lockstep {
namespace {

// base each, and one more for `extra` stages in the middle.
std::vector<std::int64_t> deal(std::int64_t stages, std::int64_t base, std::int64_t extra) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(stages), base);
  const std::int64_t first = (stages - extra) / 2;
  for (std::int64_t i = 0; i < extra; ++i) ++out[static_cast<std::size_t>(first + i)];
  return out;
}

std::int64_t sum_of(const TrainingPlan& plan, const std::vector<ParameterTensor>& tensors) {
  std::int64_t sum = 0;
  for (const ParameterTensor& t : tensors) sum = checked_add(sum, t.rank_elements(plan.weight_cuts()));
  return sum;
}

// Of a rank of `stage`; part(p): those of a part.
template <class OfPart>
std::int64_t sum_of_stage(const TrainingPlan& plan, std::int64_t stage, const OfPart& part) {
  const LayerCount count = stage_layer_count(plan, stage);
  const std::int64_t attention = part(ModelPart::kAttention);
  std::int64_t sum = 0;
  if (count.dense > 0) sum = checked_add(sum, checked_mul(attention + part(ModelPart::kMlp), count.dense));
  if (count.expert > 0) {
    const std::int64_t experts = part(ModelPart::kMoe) + part(ModelPart::kExperts);
    sum = checked_add(sum, checked_mul(attention + experts, count.expert));
  }
  if (plan.holds_embedding(stage)) sum += part(ModelPart::kEmbedding);
  if (plan.holds_head(stage)) sum += part(ModelPart::kHead);
  return sum;
}

}  // namespace

std::vector<std::int64_t> default_stage_layers(std::int64_t layers, std::int64_t stages) {
  LOCKSTEP_CHECK(stages >= 1 && stages <= layers, "{} layers on {} stages", layers, stages);
  if (layers % stages == 0) return deal(stages, layers / stages, 0);
  const std::int64_t units = layers + 2;
  if (units / stages < 2) return deal(stages, layers / stages, layers % stages);
  std::vector<std::int64_t> out = deal(stages, units / stages, units % stages);
  --out.front();
  --out.back();
  return out;
}

std::vector<std::int64_t> default_chunk_layers(std::int64_t layers, std::int64_t stages, std::int64_t chunks) {
  const std::int64_t all = stages * chunks;
  const std::int64_t units = layers + 2;
  LOCKSTEP_CHECK(units >= all, "{} layers on {} chunks", layers, all);
  std::vector<std::int64_t> out = deal(all, units / all, units % all);
  --out.front();
  --out.back();
  return out;
}

std::int64_t TrainingPlan::first_layer(std::int64_t stage, std::int64_t chunk) const {
  std::int64_t layer = 0;
  if (has_upward_chunk(job.schedule) && chunk == 1) {
    if (is_v_shaped(job.schedule)) layer = first_layer(pp() - 1, 0) + chunk_layers(pp() - 1, 0);
    for (std::int64_t s = stage + 1; s < pp(); ++s) layer += chunk_layers(s, chunk);
    return layer;
  }
  for (std::int64_t c = 0; c <= chunk; ++c) {
    const std::int64_t end = c < chunk ? pp() : stage;
    for (std::int64_t s = 0; s < end; ++s) layer += chunk_layers(s, c);
  }
  return layer;
}

ChunkUnits chunk_units(const TrainingPlan& plan, std::int64_t stage, std::int64_t chunk) {
  const bool is_mirrored = is_bidirectional(plan.job.schedule) && chunk == 1;
  const bool is_last_chunk = is_bidirectional(plan.job.schedule) || chunk == plan.chunks() - 1;
  ChunkUnits units{
      .has_embedding = is_mirrored ? plan.is_last(stage) : plan.is_first(stage) && chunk == 0,
      .has_head =
          (has_upward_chunk(plan.job.schedule) && chunk == 1 ? plan.is_first(stage) : plan.is_last(stage)) && is_last_chunk,
      .layers = plan.chunk_layers(stage, chunk),
      .first_layer = plan.first_layer(stage, chunk)};
  if (units.has_head) units.layers += plan.job.model.mtp_layers;
  return units;
}

std::vector<ParameterTensor> stage_tensors(const TrainingPlan& plan, ModelPart part) {
  std::vector<ParameterTensor> tensors = parameter_tensors(plan.job.model, part);
  if (part == ModelPart::kHead && plan.has_embedding_copy()) {
    tensors.push_back(parameter_tensors(plan.job.model, ModelPart::kEmbedding).front());
  }
  if (part == ModelPart::kHead && plan.job.model.mtp_layers > 0) {
    const std::vector<ParameterTensor> own = mtp_tensors(plan.job.model);
    for (std::int64_t l = 0; l < plan.job.model.mtp_layers; ++l) tensors.insert(tensors.end(), own.begin(), own.end());
  }
  if (plan.trains_adapters()) {
    const std::vector<ParameterTensor> adapters = adapter_tensors(plan.job.model, *plan.job.lora, part);
    tensors.insert(tensors.end(), adapters.begin(), adapters.end());
  }
  return tensors;
}

std::vector<ParameterTensor> trained_tensors(const TrainingPlan& plan, ModelPart part) {
  return plan.trains_adapters() ? adapter_tensors(plan.job.model, *plan.job.lora, part) : stage_tensors(plan, part);
}

std::int64_t stage_part_parameters(const TrainingPlan& plan, ModelPart part) { return sum_of(plan, stage_tensors(plan, part)); }

std::int64_t trained_part_parameters(const TrainingPlan& plan, ModelPart part) {
  return sum_of(plan, trained_tensors(plan, part));
}

std::span<const ModelPart> layer_parts(bool is_expert_layer) {
  static constexpr ModelPart dense[] = {ModelPart::kAttention, ModelPart::kMlp};
  static constexpr ModelPart expert[] = {ModelPart::kAttention, ModelPart::kMoe, ModelPart::kExperts, ModelPart::kCombine};
  return is_expert_layer ? std::span<const ModelPart>(expert) : std::span<const ModelPart>(dense);
}

std::int64_t layer_parameters(const TrainingPlan& plan, bool is_expert_layer) {
  return stage_part_parameters(plan, ModelPart::kAttention) +
         stage_part_parameters(plan, is_expert_layer ? ModelPart::kMoe : ModelPart::kMlp);
}

std::int64_t trained_layer_parameters(const TrainingPlan& plan, bool is_expert_layer) {
  return trained_part_parameters(plan, ModelPart::kAttention) +
         trained_part_parameters(plan, is_expert_layer ? ModelPart::kMoe : ModelPart::kMlp);
}

LayerCount stage_layer_count(const TrainingPlan& plan, std::int64_t stage) {
  LayerCount count;
  for (std::int64_t c = 0; c < plan.chunks(); ++c) {
    const ChunkUnits units = chunk_units(plan, stage, c);
    for (std::int64_t l = 0; l < units.layers; ++l) {
      ++(plan.job.model.is_expert_layer(units.first_layer + l) ? count.expert : count.dense);
    }
  }
  return count;
}

std::int64_t stage_expert_parameters(const TrainingPlan& plan, std::int64_t stage) {
  if (!plan.job.model.moe) return 0;
  return checked_mul(stage_part_parameters(plan, ModelPart::kExperts), stage_layer_count(plan, stage).expert);
}

std::int64_t stage_parameters(const TrainingPlan& plan, std::int64_t stage) {
  return sum_of_stage(plan, stage, [&](ModelPart part) { return stage_part_parameters(plan, part); });
}

std::int64_t trained_stage_parameters(const TrainingPlan& plan, std::int64_t stage) {
  return sum_of_stage(plan, stage, [&](ModelPart part) { return trained_part_parameters(plan, part); });
}

std::int64_t trained_stage_expert_parameters(const TrainingPlan& plan, std::int64_t stage) {
  return plan.trains_adapters() ? 0 : stage_expert_parameters(plan, stage);
}

std::int64_t stage_optimizer_parameters(const TrainingPlan& plan, std::int64_t stage) {
  const std::int64_t experts = trained_stage_expert_parameters(plan, stage);
  return ceil_div(trained_stage_parameters(plan, stage) - experts, plan.optimizer_shards()) +
         ceil_div(experts, plan.expert_optimizer_shards());
}

}  // namespace lockstep
