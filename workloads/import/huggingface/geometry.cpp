// SPDX-License-Identifier: Apache-2.0
#include "workloads/import/huggingface/geometry.h"

#include <fmt/format.h>

namespace lockstep::huggingface {

void read_geometry(ConfigReader& c, TransformerSpec& m, const Defaults& defaults) {
  m.layers = c.integer({"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, kMostLayers);
  m.hidden = c.integer({"hidden_size", "n_embd", "d_model", "n_embed"}, 1 << 20);
  const Names heads = {"num_attention_heads", "n_head", "n_heads", "num_heads"};
  m.heads = defaults.heads > 0 ? c.integer_or(heads, kMostHeads, defaults.heads) : c.integer(heads, kMostHeads);
  m.kv_heads =
      c.integer_or({"num_key_value_heads", "num_kv_heads"}, kMostHeads, defaults.kv_heads > 0 ? defaults.kv_heads : m.heads);
  const std::int64_t even_dim = m.heads > 0 ? m.hidden / m.heads : 0;
  m.head_dim = c.integer_or({"head_dim"}, kMostHeads, defaults.head_dim > 0 ? defaults.head_dim : even_dim);
  const Names ffn = {"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"};
  m.ffn = defaults.ffn_ratio > 0 ? c.integer_or(ffn, kMostWidth, defaults.ffn_ratio * m.hidden) : c.integer(ffn, kMostWidth);
  m.vocab =
      defaults.vocab > 0 ? c.integer_or({"vocab_size"}, 100'000'000, defaults.vocab) : c.integer({"vocab_size"}, 100'000'000);
  m.max_positions = c.integer_or({"max_position_embeddings", "n_positions", "max_seq_len", "n_ctx", "seq_length"}, 1 << 30, 0);
  m.has_tied_embeddings = c.flag({"tie_word_embeddings"}, defaults.ties_embeddings);
}

void read_llama_biases(ConfigReader& c, TransformerSpec& m) {
  const bool has_attention = c.flag({"attention_bias", "bias"});
  const bool has_mlp = c.flag({"mlp_bias"});
  m.has_linear_biases = has_attention && has_mlp;
  m.has_qkv_biases = m.has_output_biases = has_attention && !has_mlp;
  m.has_mlp_biases = has_mlp && !has_attention;
}

void make_classic(TransformerSpec& m) {
  m.norm = NormKind::kLayer;
  m.is_gated = false;
}

void warn_about_windows(ConfigReader& c) {
  if (!c.has({"sliding_window"}) || !c.flag({"use_sliding_window"}, true)) return;
  c.warning("sliding_window", "sliding windows are not modelled: attention is computed over the whole sequence");
}

void set_expert_layers(ConfigReader& c, std::string_view key, const std::vector<bool>& has_experts, MoeSpec& moe) {
  const auto layers = static_cast<std::int64_t>(has_experts.size());
  std::vector<std::int64_t> places;
  for (std::int64_t l = 0; l < layers; ++l) {
    if (has_experts[static_cast<std::size_t>(l)]) places.push_back(l);
  }
  if (places.empty()) return c.error(key, "no layer has experts", "a dense model has no experts at all");
  moe.interval = places.size() > 1 ? places[1] - places[0] : layers - places[0];
  moe.dense_layers = places[0] + 1 - moe.interval;
  TransformerSpec m;
  m.moe = moe;
  bool is_regular = moe.dense_layers >= 0;
  for (std::int64_t l = 0; l < layers && is_regular; ++l) {
    is_regular = m.is_expert_layer(l) == has_experts[static_cast<std::size_t>(l)];
  }
  if (is_regular) return;
  c.error(key, "these expert layers are not modelled", "so many dense layers first, and then each n-th layer with experts");
  moe.dense_layers = 0;
  moe.interval = 1;
}

}  // namespace lockstep::huggingface
