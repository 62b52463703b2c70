// SPDX-License-Identifier: Apache-2.0
// What a job trains: all weights of its model, or with lora_rank the low-rank adapters of attention alone (LoRA, Hu et al. 2021, arXiv
// 2106.09685): y = x W + (x A) B beside the q/k/v projection and the output projection, W frozen. Frozen weights have no gradients: nothing to
// compute, reduce, store or update for them, while the gradient of activations still passes through. Tensor parallelism cuts B of q/k/v by
// heads and A of the output by its input, and copies the other two.
//
// Not modelled: adapters of the feed-forward part and of latent attention; merging them; frozen weights in fewer bits (QLoRA).
#pragma once

#include <vector>

#include "workloads/parallel/stage.h"

namespace lockstep {

// Weights of a part (of one layer for kAttention and kMlp) that have gradients.
[[nodiscard]] std::vector<ParameterTensor> trained_tensors(const TrainingPlan& plan, ModelPart part);

// On a rank of a stage, all layers together; without lora_rank stage_parameters().
[[nodiscard]] std::int64_t stage_trained_parameters(const TrainingPlan& plan, std::int64_t stage);

}  // namespace lockstep
