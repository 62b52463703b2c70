// SPDX-License-Identifier: Apache-2.0
// Bytes that backward needs of forward, per layer and per pipeline stage.
//
// Counted tensor by tensor (inputs of every matrix product and norm, of the activation function, of the attention core, dropout
// masks), as Korthikanti et al. 2022, arXiv 2205.05198, do for GPT: 34 s b h bytes per layer and 5 a s^2 b for unfused scores. A gated
// MLP stores both branches and their product; grouped queries store fewer keys and values; the fused core stores one 32-bit statistic
// per head and token instead of the scores. Latent attention (DeepSeek-V2, arXiv 2405.04434) stores the latent vectors before and
// after their norms and the heads projected from them. An expert layer stores the router's input and its 32-bit scores, and of every
// token that arrives at the rank's experts the input of the two products: tokens x top_k, x expert_skew on the busiest rank (Megatron
// Core multiplies by the router's weights before the second product, so its output is not kept). With 8- and 4-bit matrix products
// what a product of weights read is kept as it was read (Transformer Engine), besides what other kernels need in 16 bits.
// Products with frozen weights (LoRA) need nothing of what they read; adapters keep it in 16 bits, whole where sequence parallelism has
// gathered it (Megatron Bridge keeps the gathered output of the norm), and r values a token between their two products.
//
// Not modelled: attention masks, rotary tables, random-number states, activations that a framework keeps without need.
#pragma once

#include <cstdint>

#include "workloads/parallel/plan.h"

namespace lockstep {

// Layers of a chunk (or of a stage) by kind.
struct LayerCounts {
  std::int64_t dense = 0;
  std::int64_t expert = 0;
  [[nodiscard]] std::int64_t total() const { return dense + expert; }
};
// Layers `begin` to `end` (exclusive, in the order of the chunk) of a chunk of a stage.
[[nodiscard]] LayerCounts layer_counts(const TrainingPlan& plan, std::int64_t stage, std::int64_t chunk, std::int64_t begin,
                                       std::int64_t end);
// Layers of multi-token prediction, on the last stage beside its own.
[[nodiscard]] LayerCounts prediction_layer_counts(const TrainingPlan& plan);
[[nodiscard]] LayerCounts stage_layer_counts(const TrainingPlan& plan, std::int64_t stage);

// Bytes of one value as activations are kept: 2, with precision fp32 4.
[[nodiscard]] std::int64_t activation_bytes(const TrainingPlan& plan);
// Values a rank stores once per token of width `hidden`: the whole of it, or with sequence parallelism its part of the sequence.
[[nodiscard]] std::int64_t hidden_values(const TrainingPlan& plan);
// Copies of tokens that the busiest rank's experts receive of one micro-batch: tokens x top_k x skew, over the ranks that share them.
[[nodiscard]] std::int64_t expert_tokens(const TrainingPlan& plan);

// Saved by one dense layer for one micro-batch when nothing is recomputed but what Recompute::kSelective drops.
[[nodiscard]] std::int64_t layer_activation_bytes(const TrainingPlan& plan);
// The same of an expert layer. PRE: the model has experts.
[[nodiscard]] std::int64_t expert_layer_activation_bytes(const TrainingPlan& plan);

// Layers of a chunk, the first ones of the stage, that backward runs again as a whole.
[[nodiscard]] std::int64_t recomputed_layers(const TrainingPlan& plan, std::int64_t stage, std::int64_t chunk);

// Of all micro-batches in flight at once (pipeline_order.h), the layer that runs again, embedding and head. 1F1B holds
// min(m, p - stage) micro-batches, interleaved (1 + (p - 1)/(p v)) L / p layers' worth of them on the first stage.
[[nodiscard]] std::int64_t stage_activations(const TrainingPlan& plan, std::int64_t stage);

}  // namespace lockstep
