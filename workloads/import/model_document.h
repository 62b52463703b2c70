// SPDX-License-Identifier: Apache-2.0
// A model from a document: our own YAML (kind: model) or a config.json of Hugging Face transformers.
//
// Read from a config.json: hidden_size, intermediate_size, num_hidden_layers, num_attention_heads, num_key_value_heads (absent:
// one per query head), head_dim (absent: hidden_size / num_attention_heads), vocab_size, max_position_embeddings,
// tie_word_embeddings, attention_bias, mlp_bias. model_type decides the rest: llama, mistral, qwen2 (biases on q, k, v), qwen3
// (norms on q and k); all are gated, with RMSNorm and rotary positions. Refused by the key that says so: experts, latent
// attention, other model types.
#pragma once

#include <string>

#include "base/document.h"
#include "base/read_context.h"
#include "workloads/model/transformer.h"

namespace lockstep {

// Errors go to the context; false if there were any. Works as a FieldTable loader.
bool read_model(const Document& document, TransformerSpec& out, ReadContext& context, const std::string& path);

}  // namespace lockstep
