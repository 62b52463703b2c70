// SPDX-License-Identifier: Apache-2.0
// What a pipeline stage holds: which units of the model, and how many weights.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/parallel/plan.h"

namespace lockstep {

// Units of a chunk in forward order: [embedding] layers [head]. Layers of multi-token prediction follow the last layer of the model; their
// logits are of the head, which computes so many more.
struct ChunkUnits {
  bool has_embedding = false;
  bool has_head = false;
  std::int64_t layers = 0;
  std::int64_t first_layer = 0;  // of the model
  [[nodiscard]] std::int64_t count() const { return layers + (has_embedding ? 1 : 0) + (has_head ? 1 : 0); }
  [[nodiscard]] bool is_embedding(std::int64_t unit) const { return has_embedding && unit == 0; }
  [[nodiscard]] bool is_head(std::int64_t unit) const { return has_head && unit == count() - 1; }
  // Of the model; PRE: the unit is a layer.
  [[nodiscard]] std::int64_t layer(std::int64_t unit) const { return first_layer + unit - (has_embedding ? 1 : 0); }
};
[[nodiscard]] ChunkUnits chunk_units(const TrainingPlan& plan, std::int64_t stage, std::int64_t chunk);

// Weights of a part, adapters included; the head's on the last stage, with its own copy of a tied embedding and what multi-token prediction
// adds to its layers.
[[nodiscard]] std::vector<ParameterTensor> stage_tensors(const TrainingPlan& plan, ModelPart part);
[[nodiscard]] std::int64_t stage_part_parameters(const TrainingPlan& plan, ModelPart part);
// What of them has gradients: all, or the adapters.
[[nodiscard]] std::vector<ParameterTensor> trained_tensors(const TrainingPlan& plan, ModelPart part);
[[nodiscard]] std::int64_t trained_part_parameters(const TrainingPlan& plan, ModelPart part);
// Parts of a layer that own weights or compute, in forward order.
[[nodiscard]] std::span<const ModelPart> layer_parts(bool is_expert_layer);
// Weights of a layer of a rank, before sharding; of an expert layer without its routed experts, which are
// stage_part_parameters(plan, ModelPart::kExperts).
[[nodiscard]] std::int64_t layer_parameters(const TrainingPlan& plan, bool is_expert_layer);
// Of them those that are trained.
[[nodiscard]] std::int64_t trained_layer_parameters(const TrainingPlan& plan, bool is_expert_layer);
// Layers of a stage that have experts, and all, with those of multi-token prediction.
struct LayerCount {
  std::int64_t dense = 0;
  std::int64_t expert = 0;
};
[[nodiscard]] LayerCount stage_layer_count(const TrainingPlan& plan, std::int64_t stage);
// All weights of a rank of `stage`, before sharding; of them those of routed experts, whose copies are elsewhere.
[[nodiscard]] std::int64_t stage_parameters(const TrainingPlan& plan, std::int64_t stage);
[[nodiscard]] std::int64_t stage_expert_parameters(const TrainingPlan& plan, std::int64_t stage);
// Of both those that are trained.
[[nodiscard]] std::int64_t trained_stage_parameters(const TrainingPlan& plan, std::int64_t stage);
[[nodiscard]] std::int64_t trained_stage_expert_parameters(const TrainingPlan& plan, std::int64_t stage);
// What its optimizer updates.
[[nodiscard]] std::int64_t stage_optimizer_parameters(const TrainingPlan& plan, std::int64_t stage);

}  // namespace lockstep
