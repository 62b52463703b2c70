// SPDX-License-Identifier: Apache-2.0
// Bytes of GPU memory one rank needs at its peak, by part, per pipeline stage.
//
// Weights, gradients, optimizer: 2 bytes per weight, grad_dtype per gradient, 12 for Adam (32-bit master weight and two
// moments): 18 in all with 32-bit gradients, 16 with 16-bit ones (Rajbhandari et al. 2019, arXiv 1910.02054). FSDP divides all
// three by the data-parallel size D (or its shard group), a distributed optimizer the 12 (6 + 12/D in all, as Megatron-LM counts).
// Activations: what backward needs, counted tensor by tensor (inputs of every matrix product and norm, of the activation
// function, of the attention core, dropout masks), as Korthikanti et al. 2022, arXiv 2205.05198, do for GPT: 34 s b h bytes per
// layer and 5 a s^2 b for unfused scores. A gated MLP stores both branches and their product; grouped queries store fewer
// keys and values; the fused core stores one 32-bit statistic per head and token instead of the scores. Times the
// micro-batches in flight: min(m, p - stage), interleaved (1 + (p - 1)/(p v)) L / p layers' worth more.
// Buffers: gathered FSDP units and gradients on their way, and what CUDA and NCCL hold.
// Not modelled: fragmentation, workspaces, temporary peaks inside a kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/parallel/plan.h"

namespace lockstep {

// CUDA context and NCCL buffers: 1.27 to 1.57 GB per A100 measured by BigScience (bigscience-workshop/bigscience,
// experiments with Megatron-DeepSpeed, 2022); rounded up.
inline constexpr std::int64_t kRuntimeBytes = 1'600'000'000;

struct MemoryBytes {
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  std::int64_t activations = 0;
  std::int64_t buffers = 0;
  [[nodiscard]] std::int64_t total() const { return parameters + gradients + optimizer + activations + buffers; }
};

// Saved by one layer for one micro-batch when nothing is recomputed but what Recompute::kSelective drops.
[[nodiscard]] std::int64_t layer_activation_bytes(const TrainingPlan& plan);
[[nodiscard]] MemoryBytes stage_memory(const TrainingPlan& plan, std::int64_t stage);
// The stage that needs most.
[[nodiscard]] MemoryBytes peak_memory(const TrainingPlan& plan);

}  // namespace lockstep
