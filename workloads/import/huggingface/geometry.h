// SPDX-License-Identifier: Apache-2.0
// What most model types of Hugging Face transformers have in common.
#pragma once

#include <vector>

#include "workloads/import/huggingface/config_reader.h"
#include "workloads/model/transformer.h"

namespace lockstep::huggingface {

inline constexpr std::int64_t kMostLayers = 10'000;
inline constexpr std::int64_t kMostWidth = 1 << 22;
inline constexpr std::int64_t kMostHeads = 65'536;

// What a class of transformers assumes where the file is silent. 0: it must be said.
struct Defaults {
  bool ties_embeddings = false;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  // 0: as many as heads
  std::int64_t head_dim = 0;  // 0: hidden / heads
  std::int64_t vocab = 0;
  std::int64_t ffn_ratio = 0;  // ffn is so many times hidden
};

// Layers, widths, heads, vocabulary, positions and ties under all of their names; head_dim absent is hidden / heads.
void read_geometry(ConfigReader& c, TransformerSpec& m, const Defaults& defaults = {});
// attention_bias and mlp_bias as Llama has them: the first is of q, k, v and the output projection.
void read_llama_biases(ConfigReader& c, TransformerSpec& m);
// GPT models before 2022: LayerNorm, an MLP without a gate.
void make_classic(TransformerSpec& m);
void warn_about_windows(ConfigReader& c);

// Which layers have experts, as dense_layers and interval of `moe`; an error at `key` where no such pair says it.
void set_expert_layers(ConfigReader& c, std::string_view key, const std::vector<bool>& has_experts, MoeSpec& moe);

}  // namespace lockstep::huggingface
