// SPDX-License-Identifier: Apache-2.0
// What a pipeline stage holds: which units of the model, and how many weights.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/parallel/plan.h"

namespace lockstep {

// Units of a chunk in forward order: [embedding] layers [head].
struct ChunkUnits {
  bool has_embedding = false;
  bool has_head = false;
  std::int64_t layers = 0;
  [[nodiscard]] std::int64_t count() const { return layers + (has_embedding ? 1 : 0) + (has_head ? 1 : 0); }
  [[nodiscard]] bool is_embedding(std::int64_t unit) const { return has_embedding && unit == 0; }
  [[nodiscard]] bool is_head(std::int64_t unit) const { return has_head && unit == count() - 1; }
};
[[nodiscard]] ChunkUnits chunk_units(const TrainingPlan& plan, std::int64_t stage, std::int64_t chunk);

// Weights of the head part that a rank of the last stage holds: with its own copy of a tied embedding.
[[nodiscard]] std::vector<ParameterTensor> stage_tensors(const TrainingPlan& plan, ModelPart part);
[[nodiscard]] std::int64_t stage_part_parameters(const TrainingPlan& plan, ModelPart part);
// All weights of a rank of `stage`, before sharding.
[[nodiscard]] std::int64_t stage_parameters(const TrainingPlan& plan, std::int64_t stage);

}  // namespace lockstep
