// SPDX-License-Identifier: Apache-2.0
// Gradient buckets of distributed data parallel: tensors enter in the order backward produces their gradients and a bucket
// closes when it holds at least its limit; the first bucket of a rank has a limit of its own, so that communication starts
// early. Source: Li et al. 2020, arXiv 2006.15704, section 3.2.3; limits as PyTorch's defaults (25 MiB, first 1 MiB).
// A tensor is never cut. Buckets do not span model chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/parallel/stage.h"

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

// In the order they become ready.
[[nodiscard]] std::vector<GradientBucket> gradient_buckets(const TrainingPlan& plan, std::int64_t stage);

}  // namespace lockstep
