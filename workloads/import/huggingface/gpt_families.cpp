// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "workloads/import/huggingface/families.h"
#include "workloads/import/huggingface/geometry.h"

namespace lockstep::huggingface {
namespace {

void read_gpt2(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m, {.ties_embeddings = true, .ffn_ratio = 4});
  make_classic(m);
  m.positions = PositionKind::kLearned;
  m.has_linear_biases = true;
  const bool drops_residuals = c.is_positive({"resid_pdrop"}, true);
  m.has_dropout = drops_residuals || c.is_positive({"attn_pdrop"}, true);
}

// StarCoder: one key and value head for all queries.
void read_gpt_bigcode(ConfigReader& c, TransformerSpec& m) {
  read_gpt2(c, m);
  if (c.flag({"multi_query"}, true)) m.kv_heads = 1;
}

// Half of the layers attend to a window only.
void read_gpt_neo(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m, {.ties_embeddings = true, .ffn_ratio = 4});
  make_classic(m);
  m.positions = PositionKind::kLearned;
  m.has_output_biases = m.has_mlp_biases = true;
  m.has_dropout = c.is_positive({"resid_dropout"}, false) || c.is_positive({"attention_dropout"}, false);
  if (c.has({"window_size"})) c.warning("window_size", "local attention is not modelled: all of it is global");
}

void read_gptj(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m, {.ffn_ratio = 4});
  make_classic(m);
  m.has_parallel_parts = m.has_one_norm = true;
  m.has_mlp_biases = true;
  m.has_head_bias = !m.has_tied_embeddings;
  m.has_dropout = c.is_positive({"resid_pdrop"}, false) || c.is_positive({"attn_pdrop"}, false);
}

void read_gpt_neox(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m);
  make_classic(m);
  m.has_parallel_parts = c.flag({"use_parallel_residual"}, true);
  m.has_linear_biases = c.flag({"attention_bias"}, true);
  m.has_mlp_biases = !m.has_linear_biases;
  m.has_dropout = c.is_positive({"hidden_dropout"}, false) || c.is_positive({"attention_dropout"}, false);
}

void read_phi(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m);
  make_classic(m);
  m.has_parallel_parts = m.has_one_norm = true;
  m.has_linear_biases = m.has_head_bias = true;
  m.has_dropout = c.is_positive({"resid_pdrop"}, false) || c.is_positive({"attention_dropout"}, false);
  if (c.flag({"qk_layernorm"}))
    c.error("qk_layernorm", "is not modelled with this model_type", "false, as in the published models");
}

// "hidden_size" or "n_embed"; heads and layers likewise.
void read_bloom(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m, {.ties_embeddings = true, .ffn_ratio = 4});
  make_classic(m);
  m.positions = PositionKind::kAlibi;
  m.has_linear_biases = m.has_embedding_norm = true;
  m.has_dropout = c.is_positive({"hidden_dropout"}, false) || c.is_positive({"attention_dropout"}, false);
}

// Two positions more than max_position_embeddings, which no token uses.
void read_opt(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m, {.ties_embeddings = true});
  make_classic(m);
  m.positions = PositionKind::kLearned;
  if (m.max_positions == 0) c.error("max_position_embeddings", "is missing", "the number of learned positions");
  m.max_positions += 2;
  m.has_linear_biases = c.flag({"enable_bias"}, true);
  m.has_dropout = c.is_positive({"dropout"}, true);
  if (!c.flag({"layer_norm_elementwise_affine"}, true)) m.norm = NormKind::kPlain;
  const std::int64_t projected = c.integer_or({"word_embed_proj_dim"}, kMostWidth, m.hidden);
  if (projected != m.hidden) {
    c.error("word_embed_proj_dim",
            fmt::format("an embedding of {} for a hidden state of {} is not modelled", projected, m.hidden),
            "OPT 350M alone has it");
  }
}

// Falcon 7B: one key/value head, one norm; 40B and 180B ("new decoder architecture"): several, and two norms.
void read_falcon(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m, {.ties_embeddings = true, .ffn_ratio = 4});
  make_classic(m);
  const bool is_new = c.flag({"new_decoder_architecture"});
  if (is_new) {
    m.kv_heads = c.integer_or({"num_kv_heads", "n_head_kv"}, kMostHeads, m.heads);
  } else {
    m.kv_heads = c.flag({"multi_query"}, true) ? 1 : m.heads;
  }
  m.has_parallel_parts = is_new || c.flag({"parallel_attn"}, true);
  const std::int64_t norms = c.integer_or({"num_ln_in_parallel_attn"}, 2, is_new ? 2 : 1);
  m.has_one_norm = m.has_parallel_parts && norms == 1;
  m.has_linear_biases = c.flag({"bias"});
  if (c.flag({"alibi"})) m.positions = PositionKind::kAlibi;
  m.has_dropout = c.is_positive({"hidden_dropout"}, false) || c.is_positive({"attention_dropout"}, false);
}

// Without biases also LayerNorm has none, and counts as RMSNorm does. llm-foundry and transformers share the keys.
void read_mpt(ConfigReader& c, TransformerSpec& m) {
  ConfigReader attention = c.below("attn_config");
  read_geometry(c, m, {.ties_embeddings = true, .ffn_ratio = c.integer_or({"expansion_ratio"}, 1000, 4)});
  make_classic(m);
  const bool has_biases = !c.flag({"no_bias"}, true);
  m.has_linear_biases = has_biases;
  m.norm = has_biases && c.text({"norm_type"}).find("rms") == std::string::npos ? NormKind::kLayer : NormKind::kRms;
  const std::string kind = attention.text({"attn_type"});
  if (kind == "multiquery_attention") m.kv_heads = 1;
  if (kind == "grouped_query_attention") m.kv_heads = attention.integer({"kv_n_heads"}, kMostHeads);
  m.positions = attention.flag({"alibi"}, true)     ? PositionKind::kAlibi
                : attention.flag({"rope"})          ? PositionKind::kRotary
                : c.flag({"learned_pos_emb"}, true) ? PositionKind::kLearned
                                                    : PositionKind::kNone;
  m.has_dropout = c.is_positive({"resid_pdrop"}, false) || attention.is_positive({"attn_pdrop"}, false);
  if (attention.flag({"qk_ln"}))
    attention.error("qk_ln", "is not modelled with this model_type", "false, as in the published models");
}

void read_starcoder2(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m, {.ties_embeddings = true});
  make_classic(m);
  m.has_linear_biases = c.flag({"use_bias"}, true);
  m.has_dropout = c.is_positive({"residual_dropout"}, false) || c.is_positive({"attention_dropout"}, false);
}

// Squared ReLU, a LayerNorm whose weights are stored less one.
void read_nemotron(ConfigReader& c, TransformerSpec& m) {
  read_geometry(c, m);
  make_classic(m);
  read_llama_biases(c, m);
}

}  // namespace

const std::vector<Family>& gpt_families() {
  static const std::vector<Family> families = {
      {"gpt2", read_gpt2},
      {"gpt_bigcode", read_gpt_bigcode},
      {"gpt_neo", read_gpt_neo},
      {"gptj", read_gptj},
      {"gpt_neox", read_gpt_neox},
      {"phi", read_phi},
      {"bloom", read_bloom},
      {"opt", read_opt},
      {"falcon", read_falcon},
      {"RefinedWeb", read_falcon},
      {"mpt", read_mpt},
      {"RefinedWebModel", read_falcon},
      {"starcoder2", read_starcoder2},
      {"nemotron", read_nemotron},
  };
  return families;
}

}  // namespace lockstep::huggingface
