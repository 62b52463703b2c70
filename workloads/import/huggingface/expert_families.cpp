// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/value_codec.h"
#include "workloads/import/huggingface/families.h"
#include "workloads/import/huggingface/geometry.h"

namespace lockstep::huggingface {
namespace {

constexpr std::int64_t kMostExperts = 65'536;

MoeSpec read_experts(ConfigReader& c, std::int64_t width) {
  MoeSpec moe;
  moe.experts = c.integer({"num_local_experts", "num_experts", "n_routed_experts", "num_routed_experts", "moe_num_experts"},
                          kMostExperts);
  const Names top_k = {"num_experts_per_tok", "num_experts_per_token", "experts_per_token", "num_selected_experts",
                       "moe_top_k"};
  moe.top_k = c.integer(top_k, kMostExperts);
  moe.ffn = width;
  if (moe.experts > 0 && moe.top_k > moe.experts) {
    c.error("num_experts_per_tok", fmt::format("{} experts per token of only {}", moe.top_k, moe.experts),
            "at most the experts");
  }
  return moe;
}

void read_mixtral(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m);
  m.moe = read_experts(c, m.ffn);
}

// Norms with biases, and a bias on attention and logits.
void read_phimoe(ConfigReader& c, TransformerSpec& m) {
  read_mixtral(c, m);
  m.norm = NormKind::kLayer;
  m.has_qkv_biases = m.has_output_biases = c.flag({"attention_bias"});
  m.has_head_bias = c.flag({"lm_head_bias"});
}

// Layer l has experts when (l + 1) % decoder_sparse_step is 0 and it is none of mlp_only_layers.
void read_sparse_steps(ConfigReader& c, TransformerSpec& m) {
  const std::int64_t step = c.integer_or({"decoder_sparse_step"}, kMostLayers, 1);
  std::vector<bool> has_experts;
  for (std::int64_t l = 0; l < m.layers; ++l) has_experts.push_back((l + 1) % step == 0);
  const Node only = c.value({"mlp_only_layers"});
  for (std::size_t i = 0; only && only.is_sequence() && i < only.size(); ++i) {
    const Parsed<std::int64_t> layer = parse_int(only.at(i).text());
    if (layer && *layer.value >= 0 && *layer.value < m.layers) has_experts[static_cast<std::size_t>(*layer.value)] = false;
  }
  if (m.layers > 0)
    set_expert_layers(c, only && only.size() > 0 ? "mlp_only_layers" : "decoder_sparse_step", has_experts, *m.moe);
}

void read_qwen2_moe(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m);
  m.has_qkv_biases = c.flag({"qkv_bias"}, true);
  m.moe = read_experts(c, c.integer({"moe_intermediate_size"}, kMostWidth));
  m.moe->shared_ffn = c.integer({"shared_expert_intermediate_size"}, kMostWidth);
  m.moe->has_shared_gate = true;
  read_sparse_steps(c, m);
}

void read_qwen3_moe(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m);
  read_llama_biases(c, m);
  m.has_qk_norm = true;
  m.moe = read_experts(c, c.integer({"moe_intermediate_size"}, kMostWidth));
  read_sparse_steps(c, m);
}

// Layer l has experts from first_k_dense_replace on when l % moe_layer_freq is 0; dense throughout without n_routed_experts.
void read_deepseek_experts(ConfigReader& c, TransformerSpec& m) {
  if (!c.has({"n_routed_experts", "num_routed_experts"})) return;
  const std::int64_t width = c.integer({"moe_intermediate_size"}, kMostWidth);
  m.moe = read_experts(c, width);
  m.moe->shared_ffn = width * c.count_or({"n_shared_experts", "num_shared_experts"}, 1000, 0);
  const std::int64_t first = c.count_or({"first_k_dense_replace"}, kMostLayers, 0);
  const std::int64_t step = c.integer_or({"moe_layer_freq"}, kMostLayers, 1);
  std::vector<bool> has_experts;
  for (std::int64_t l = 0; l < m.layers; ++l) has_experts.push_back(l >= first && l % step == 0);
  if (m.layers > 0) set_expert_layers(c, step > 1 ? "moe_layer_freq" : "first_k_dense_replace", has_experts, *m.moe);
}

// The first one, with ordinary attention.
void read_deepseek(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m);
  read_llama_biases(c, m);
  read_deepseek_experts(c, m);
}

void read_latent_attention(ConfigReader& c, TransformerSpec& m) {
  if (!c.has({"kv_lora_rank"})) return c.error("kv_lora_rank", "is missing", "the latent width of keys and values");
  MlaSpec mla;
  mla.q_rank = c.count_or({"q_lora_rank"}, kMostWidth, 0);
  mla.kv_rank = c.integer({"kv_lora_rank"}, kMostWidth);
  mla.nope_dim = c.integer({"qk_nope_head_dim"}, kMostHeads);
  mla.rope_dim = c.count_or({"qk_rope_head_dim"}, kMostHeads, 64);
  mla.v_dim = c.integer({"v_head_dim"}, kMostHeads);
  m.mla = mla;
  m.kv_heads = m.heads;
  m.head_dim = mla.v_dim;
  if (c.flag({"attention_bias"}))
    c.error("attention_bias", "is not modelled with latent attention", "false, as in the published models");
}

void read_deepseek_v2(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m);
  read_latent_attention(c, m);
  read_deepseek_experts(c, m);
}

// A bias per expert balances load in the place of an auxiliary loss.
void read_deepseek_v3(ConfigReader& c, TransformerSpec& m) {
  read_deepseek_v2(c, m);
  const std::string method = c.text({"topk_method"});
  if (m.moe) m.moe->has_router_bias = method.empty() || method == "noaux_tc";
  m.mtp_layers = c.count_or({"num_nextn_predict_layers"}, 64, 0);
}

void read_glm4_moe(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m);
  m.has_qkv_biases = c.flag({"attention_bias"});
  m.has_qk_norm = c.flag({"use_qk_norm"});
  read_deepseek_experts(c, m);
  if (m.moe) m.moe->has_router_bias = true;
  m.mtp_layers = c.count_or({"num_nextn_predict_layers"}, 64, 0);
}

// Norms in front of and behind each part; the released weights tie the embeddings.
void read_grok(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m, {.ties_embeddings = true});
  m.has_post_norms = true;
  m.moe = read_experts(c, c.integer_or({"moe_intermediate_size"}, kMostWidth, m.ffn));
}

void read_gpt_oss(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m, {.head_dim = 64});
  m.has_qkv_biases = m.has_output_biases = c.flag({"attention_bias"}, true);
  m.has_mlp_biases = m.has_attention_sinks = true;
  m.moe = read_experts(c, m.ffn);
  m.moe->has_router_bias = true;
}

// LayerNorm without biases counts as RMSNorm does. Experts and key/value heads are in maps of their own.
void read_dbrx(ConfigReader& c, TransformerSpec& m) {
  ConfigReader feed_forward = c.below("ffn_config");
  ConfigReader attention = c.below("attn_config");
  read_geometry(c, m, {.kv_heads = attention.integer_or({"kv_n_heads"}, kMostHeads, 1), .ffn_ratio = 4});
  m.ffn = feed_forward.integer({"ffn_hidden_size"}, kMostWidth);
  m.moe = read_experts(feed_forward, m.ffn);
}

void read_olmoe(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m);
  read_llama_biases(c, m);
  m.has_qk_norm = m.has_wide_qk_norm = true;
  m.moe = read_experts(c, m.ffn);
}

// intermediate_size is that of an expert and of the shared one, intermediate_size_mlp that of dense layers.
void read_llama4(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m);
  read_llama_biases(c, m);
  m.moe = read_experts(c, m.ffn);
  m.moe->shared_ffn = m.ffn;
  m.moe->interval = c.integer_or({"interleave_moe_layer_step"}, kMostLayers, 1);
  m.ffn = c.integer_or({"intermediate_size_mlp"}, kMostWidth, m.ffn);
  if (m.layers > 0 && m.moe->interval > m.layers) {
    c.error("interleave_moe_layer_step", "no layer would have experts", "at most num_hidden_layers");
  }
}

}  // namespace

const std::vector<Family>& expert_families() {
  static const std::vector<Family> families = {
      {"mixtral", read_mixtral},
      {"phimoe", read_phimoe},
      {"qwen2_moe", read_qwen2_moe},
      {"qwen3_moe", read_qwen3_moe},
      {"deepseek", read_deepseek},
      {"deepseek_v2", read_deepseek_v2},
      {"deepseek_v3", read_deepseek_v3},
      {"kimi_k2", read_deepseek_v3},
      {"glm4_moe", read_glm4_moe},
      {"grok-1", read_grok},
      {"grok", read_grok},
      {"grok_1", read_grok},
      {"gpt_oss", read_gpt_oss},
      {"dbrx", read_dbrx},
      {"olmoe", read_olmoe},
      {"llama4", read_llama4},
      {"llama4_text", read_llama4},
  };
  return families;
}

}  // namespace lockstep::huggingface
