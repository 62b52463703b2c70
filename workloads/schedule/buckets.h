// SPDX-License-Identifier: Apache-2.0
// Gradient buckets of distributed data parallel: tensors enter in the order backward produces their gradients and a bucket
// closes when it holds at least its limit; the first bucket of a rank has a limit of its own, so that communication starts
// early. Source: Li et al. 2020, arXiv 2006.15704, section 3.2.3; limits as PyTorch's defaults (25 MiB, first 1 MiB).
// A tensor is never cut. Buckets do not span model chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/parallel/plan.h"

namespace lockstep {

// Where in a backward pass of a stage: chunk by chunk (last first), unit by unit, part by part.
struct GradientPoint {
  std::int64_t chunk = 0;
  std::int64_t unit = 0;  // position of the layer, embedding or head in the chunk's forward order
  ModelPart part = ModelPart::kAttention;
  bool operator==(const GradientPoint&) const = default;
};

struct GradientBucket {
  std::int64_t bytes = 0;
  GradientPoint ready;  // after this part's backward of the last micro-batch
};

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

// In the order they become ready.
[[nodiscard]] std::vector<GradientBucket> gradient_buckets(const TrainingPlan& plan, std::int64_t stage);

}  // namespace lockstep
