// SPDX-License-Identifier: Apache-2.0
// What the kernels of a training program are made of: matrix products, attention cores, everything else. The program fuses the kernels of
// an operation (workloads/kernels/roofline.h); here they are listed again, by the ids of training_program.h.
//
// Of a core that is not fused its products, softmax and dropout are parts, told by their names.
#pragma once

#include <vector>

#include "workloads/kernels/roofline.h"
#include "workloads/parallel/plan.h"
#include "workloads/program.h"

namespace lockstep {

enum class KernelOwner : std::uint8_t { kLayers, kHead, kOptimizer };  // embedding: kLayers

// Seconds of one kernel, undisturbed.
struct KernelParts {
  KernelOwner owner = KernelOwner::kLayers;
  double product_limit = 0;  // matrix products at the asymptote of large ones
  double product = 0;        // ... in their shapes
  double core = 0;           // attention
  double other = 0;

  [[nodiscard]] double total() const { return product + core + other; }
};

// By kernel of TrainingProgram(plan, gpu).
[[nodiscard]] std::vector<KernelParts> kernel_parts(const TrainingPlan& plan, const GpuPerformance& gpu);

}  // namespace lockstep
