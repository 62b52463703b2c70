// SPDX-License-Identifier: Apache-2.0
// The kernels one rank runs for one micro-batch, by part of the model. Per layer: norm, q/k/v projection, rotary embedding,
// attention core, output projection, residual (attention part); norm, up (and gate) projection, activation, down projection,
// residual (MLP part). Backward runs two matrix products per forward one (gradient of the input, gradient of the weight).
//
// With LoRA frozen weights have no gradient, and products with adapters run those beside them (kernel_list.h); the first layer's gradient of
// its input is computed too.
//
// Source of the flops: MLM = Megatron-LM's num_floating_point_operations; a fused causal core executes half of the square
// forward and 2.5 times that backward (it multiplies q and k once more; Dao 2023, arXiv 2307.08691), the unfused core executes
// the whole square. Bytes count every tensor a kernel must read or write once, 16-bit activations; sequence parallelism cuts
// norms, residuals and dropout by tp. Not modelled: kernel fusion beyond this list.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/kernels/roofline.h"
#include "workloads/parallel/plan.h"

namespace lockstep {

// kWeightGradient: what is missing from kBackward then. Where a plan splits the passes (zero bubble), of all weights of the part; where it
// splits backward for the overlap of tensor parallelism, of the projection that a part's input meets (qkv, up, logits); otherwise nothing.
// Weights of norms count as activations: their gradients are computed beside those of the input.
enum class Direction : std::uint8_t { kForward, kBackward, kWeightGradient };

// Of one micro-batch; kAttention and kMlp of one layer. Backward does not include a full recomputation, which runs the
// forward kernels again, but does include that of the attention core (Recompute::kSelective).
[[nodiscard]] std::vector<KernelWork> part_kernels(const TrainingPlan& plan, ModelPart part, Direction direction,
                                                   const KernelChoice& choice = {});

// Adam over `parameters` local parameters: reads gradient, master weight and two moments, writes the last three and the
// 16-bit weight. Bound by memory. The share that optimizer_offload leaves to the host goes one thing after the other: gradients out, the
// same reads and writes in the memory of the host, weights back (ZeRO-Offload, Ren et al. 2021, arXiv 2101.06840).
// Not modelled: gradients that leave during backward, copies beside the update, cores too slow for the memory.
[[nodiscard]] std::vector<KernelWork> optimizer_kernels(const TrainingPlan& plan, std::int64_t parameters);

}  // namespace lockstep
