// SPDX-License-Identifier: Apache-2.0
#include "workloads/import/huggingface/families.h"
#include "workloads/import/huggingface/geometry.h"

namespace lockstep::huggingface {
namespace {

void read_llama(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m);
  read_llama_biases(c, m);
}

void read_mistral(ConfigReader& c, TransformerSpec& m) { read_geometry(c, m); }

void read_qwen2(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m);
  m.has_qkv_biases = true;
}

void read_qwen3(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m);
  read_llama_biases(c, m);
  m.has_qk_norm = true;
}

void read_gemma(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m, {.ties_embeddings = true, .head_dim = 256});
  read_llama_biases(c, m);
}

void read_gemma2(ConfigReader& c, TransformerSpec& m) {
  read_gemma(c, m);
  m.has_post_norms = true;
}

// The files of the multimodal ones leave out what the class assumes (4B: heads, head_dim, vocabulary).
void read_gemma3(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m, {.ties_embeddings = true, .heads = 8, .kv_heads = 4, .head_dim = 256, .vocab = 262'208});
  read_llama_biases(c, m);
  m.has_post_norms = true;
  m.has_qk_norm = true;
}

// A LayerNorm without bias, which counts as RMSNorm does.
void read_cohere(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m, {.ties_embeddings = true});
  read_llama_biases(c, m);
  m.has_parallel_parts = m.has_one_norm = true;
  m.has_qk_norm = m.has_wide_qk_norm = c.flag({"use_qk_norm"});
}

void read_olmo(ConfigReader& c, TransformerSpec& m) {
  read_llama(c, m);
  m.norm = NormKind::kPlain;
}

// Norms behind the parts only: as many as in front of them.
void read_olmo2(ConfigReader& c, TransformerSpec& m) {
  read_llama(c, m);
  m.has_qk_norm = m.has_wide_qk_norm = true;
}

// LayerNorm with biases around the rest of a Llama.
void read_stablelm(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m);
  m.norm = NormKind::kLayer;
  m.has_qkv_biases = c.flag({"use_qkv_bias"});
  m.has_parallel_parts = m.has_one_norm = c.flag({"use_parallel_residual"});
  if (c.flag({"qk_layernorm"})) c.error("qk_layernorm", "is not modelled with this model_type", "false, as in most models");
}

// Names of its own; kv_channels is the width of a head.
void read_chatglm(ConfigReader& c, TransformerSpec& m) {
  const std::int64_t vocab = c.integer({"padded_vocab_size", "vocab_size"}, 100'000'000);
  read_geometry(c, m, {.head_dim = c.integer_or({"kv_channels"}, kMostHeads, 128), .vocab = vocab});
  m.vocab = vocab;
  if (c.flag({"multi_query_attention"})) m.kv_heads = c.integer({"multi_query_group_num"}, kMostHeads);
  m.has_linear_biases = c.flag({"add_bias_linear"});
  m.has_qkv_biases = c.flag({"add_qkv_bias"}) && !m.has_linear_biases;
  m.norm = c.flag({"rmsnorm"}, true) ? NormKind::kRms : NormKind::kLayer;
}

}  // namespace

const std::vector<Family>& llama_families() {
  static const std::vector<Family> families = {
      {"llama", read_llama},     {"mistral", read_mistral},  {"ministral", read_mistral},     {"granite", read_llama},
      {"internlm2", read_llama}, {"phi3", read_mistral},     {"qwen2", read_qwen2},           {"qwen2_vl", read_qwen2},
      {"qwen3", read_qwen3},     {"gemma", read_gemma},      {"gemma2", read_gemma2},         {"gemma3", read_gemma3},
      {"cohere", read_cohere},   {"cohere2", read_cohere},   {"gemma3_text", read_gemma3},    {"olmo", read_olmo},
      {"olmo2", read_olmo2},     {"internlm", read_llama},   {"stablelm", read_stablelm},     {"chatglm", read_chatglm},
      {"olmo3", read_olmo2},     {"qwen2_5_vl", read_qwen2}, {"qwen2_5_vl_text", read_qwen2}, {"qwen2_vl_text", read_qwen2},
  };
  return families;
}

}  // namespace lockstep::huggingface
