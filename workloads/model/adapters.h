// SPDX-License-Identifier: Apache-2.0
// Low-rank adapters (LoRA: Hu et al. 2021, arXiv 2106.09685): the weights of the model are frozen, and beside a projection
// Y = X W of width K to N two narrow ones are trained,
//
//   Y = X W + (alpha/r) (X A) B       A: K x r, B: r x N, so r (K + N) parameters
//
// Projections that frameworks run as one product have one adapter: q, k and v; gate and up (Megatron Core's linear_qkv and linear_fc1;
// MLPerf Training's llama2_70b_lora trains r = 16 beside qkv and output: 44,564,480 parameters).
// Tensor parallelism cuts both as Megatron Bridge does: before a projection cut by its output A by r and B by N, before one cut by its input
// A by K and B by N.
// Not modelled: adapters of routed experts, of logits and of embeddings; dropout of their input; trained biases or norms.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/model/transformer.h"

namespace lockstep {

// Which projections of a layer have adapters.
enum class LoraTargets : std::uint8_t { kAttention, kMlp, kAllLinear };

struct LoraSpec {
  std::int64_t rank = 16;
  LoraTargets targets = LoraTargets::kAttention;
  [[nodiscard]] bool adapts(ModelPart part) const {
    if (part == ModelPart::kAttention) return targets != LoraTargets::kMlp;
    return part == ModelPart::kMlp && targets != LoraTargets::kAttention;
  }
};

// Of one layer for parts of a layer; none where the part has no adapters.
[[nodiscard]] std::vector<ParameterTensor> adapter_tensors(const TransformerSpec& model, const LoraSpec& lora, ModelPart part);
// Of the whole model, multi-token prediction included.
[[nodiscard]] std::int64_t adapter_parameter_count(const TransformerSpec& model, const LoraSpec& lora);
// Adapters of a part.
[[nodiscard]] std::int64_t adapter_count(const TransformerSpec& model, const LoraSpec& lora, ModelPart part);

[[nodiscard]] const FieldTable<LoraSpec>& lora_fields();

}  // namespace lockstep
