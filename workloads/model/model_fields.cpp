// SPDX-License-Identifier: Apache-2.0
#include "base/field_table.h"
#include "workloads/model/transformer.h"

namespace lockstep {
namespace {

void add_geometry(FieldTable<TransformerSpec>& t) {
  t.field("layers", &TransformerSpec::layers).required().range(1, 10'000).doc("transformer layers");
  t.field("hidden", &TransformerSpec::hidden).required().range(1, 1 << 20).doc("width of the hidden state");
  t.field("heads", &TransformerSpec::heads).required().range(1, 65'536).doc("query heads");
  t.field("kv_heads", &TransformerSpec::kv_heads)
      .required()
      .range(1, 65'536)
      .doc("key/value heads; fewer than heads is grouped-query attention");
  t.field("head_dim", &TransformerSpec::head_dim).required().range(1, 65'536).doc("width of a head; usually hidden / heads");
  t.field("ffn", &TransformerSpec::ffn).required().range(1, 1 << 22).doc("width of the feed-forward part");
  t.field("vocab", &TransformerSpec::vocab).required().range(1, 100'000'000).doc("vocabulary entries, padding included");
  t.field("max_positions", &TransformerSpec::max_positions)
      .range(0, 1 << 30)
      .doc("longest sequence; the number of learned positions where there are some. 0: not said");
}

const FieldTable<MoeSpec>& moe_fields() {
  static const FieldTable<MoeSpec> table = [] {
    FieldTable<MoeSpec> t;
    t.field("experts", &MoeSpec::experts).required().range(2, 65'536).doc("routed experts of an expert layer");
    t.field("top_k", &MoeSpec::top_k).required().range(1, 65'536).doc("experts that each token is sent to");
    t.field("ffn", &MoeSpec::ffn).required().range(1, 1 << 22).doc("width of one expert");
    t.field("shared_ffn", &MoeSpec::shared_ffn)
        .range(0, 1 << 22)
        .doc("width of the shared experts together, which every token passes as well. 0: none");
    t.field("dense_layers", &MoeSpec::dense_layers).range(0, 10'000).doc("so many first layers are dense, of the model's ffn");
    t.field("interval", &MoeSpec::interval)
        .range(1, 10'000)
        .doc("of the layers after those, each interval-th has experts and the others are dense");
    t.field("shared_gate", &MoeSpec::has_shared_gate).doc("a gate scales what the shared experts give (Qwen2-MoE)");
    t.field("router_bias", &MoeSpec::has_router_bias).doc("a bias per expert, of the router or to balance load");
    t.validate([](const MoeSpec& m, Section& s) {
      if (m.top_k > m.experts) {
        s.error("top_k", fmt::format("{} experts per token of only {}", m.top_k, m.experts), "at most experts");
      }
      if (m.has_shared_gate && m.shared_ffn == 0) {
        s.error("shared_gate", "there is no shared expert to gate", "set shared_ffn, or leave shared_gate out");
      }
    });
    return t;
  }();
  return table;
}

const FieldTable<MlaSpec>& mla_fields() {
  static const FieldTable<MlaSpec> table = [] {
    FieldTable<MlaSpec> t;
    t.field("q_rank", &MlaSpec::q_rank).range(0, 1 << 20).doc("width of the latent vector of q; 0: q is projected directly");
    t.field("kv_rank", &MlaSpec::kv_rank).required().range(1, 1 << 20).doc("width of the latent vector of k and v");
    t.field("nope_dim", &MlaSpec::nope_dim).required().range(1, 65'536).doc("of a head of q and k, what is not rotated");
    t.field("rope_dim", &MlaSpec::rope_dim).required().range(0, 65'536).doc("of a head of q and k, what is rotated");
    t.field("v_dim", &MlaSpec::v_dim).required().range(1, 65'536).doc("width of a head of v");
    return t;
  }();
  return table;
}

void add_biases(FieldTable<TransformerSpec>& t) {
  t.field("linear_biases", &TransformerSpec::has_linear_biases).doc("every projection of a layer has a bias");
  t.field("qkv_biases", &TransformerSpec::has_qkv_biases).doc("the q, k and v projections have a bias");
  t.field("output_biases", &TransformerSpec::has_output_biases).doc("the projection after attention has a bias");
  t.field("mlp_biases", &TransformerSpec::has_mlp_biases).doc("the feed-forward part and the experts have biases");
  t.field("head_bias", &TransformerSpec::has_head_bias).doc("the logits have a bias");
}

void add_norms(FieldTable<TransformerSpec>& t) {
  t.choice("norm", &TransformerSpec::norm,
           {{"rms", NormKind::kRms, "RMSNorm, or a LayerNorm without biases: one weight per channel"},
            {"layer", NormKind::kLayer, "LayerNorm: weight and bias per channel"},
            {"plain", NormKind::kPlain, "LayerNorm without weights"}})
      .doc("normalisation before attention, before the feed-forward part and before the logits");
  t.field("qk_norm", &TransformerSpec::has_qk_norm).doc("q and k are normalised per head");
  t.field("wide_qk_norm", &TransformerSpec::has_wide_qk_norm)
      .doc("that norm has a weight per head and channel (Command R+, OLMo 2)");
  t.field("parallel_parts", &TransformerSpec::has_parallel_parts)
      .doc("attention and feed-forward part read the same input and share one all-reduce (GPT-J, GPT-NeoX, Falcon)");
  t.field("one_norm", &TransformerSpec::has_one_norm)
      .doc("parts that read the same input share its norm as well (GPT-J, Falcon 7B)");
  t.field("post_norms", &TransformerSpec::has_post_norms).doc("a second norm behind attention and feed-forward part (Gemma 2)");
  t.field("embedding_norm", &TransformerSpec::has_embedding_norm).doc("a norm after the word embedding (BLOOM)");
}

void add_options(FieldTable<TransformerSpec>& t) {
  t.field("gated", &TransformerSpec::is_gated).doc("the feed-forward part multiplies two branches (SwiGLU)");
  t.field("tied_embeddings", &TransformerSpec::has_tied_embeddings).doc("logits reuse the word embedding");
  t.choice("positions", &TransformerSpec::positions,
           {{"rotary", PositionKind::kRotary, "q and k are rotated"},
            {"learned", PositionKind::kLearned, "an embedding per position"},
            {"alibi", PositionKind::kAlibi, "a bias of the scores by distance"},
            {"none", PositionKind::kNone, "nothing"}})
      .doc("how the place of a token enters");
  add_biases(t);
  t.field("attention_sinks", &TransformerSpec::has_attention_sinks).doc("a learned score per head that takes part in softmax");
  t.field("dropout", &TransformerSpec::has_dropout)
      .doc("dropout on attention weights and residual branches; costs time and memory");
  add_norms(t);
}

void add_expert_options(FieldTable<TransformerSpec>& t) {
  t.section("moe", &TransformerSpec::moe, moe_fields()).doc("experts in the place of the feed-forward part");
  t.section("mla", &TransformerSpec::mla, mla_fields())
      .doc("multi-head latent attention; heads and kv_heads are equal and head_dim is not used");
  t.field("mtp_layers", &TransformerSpec::mtp_layers)
      .range(0, 64)
      .doc("layers of multi-token prediction after the last, each with logits of its own");
}

void check_attention(const TransformerSpec& m, Section& s) {
  if (m.heads % m.kv_heads != 0) {
    s.error("kv_heads", fmt::format("{} query heads do not share {} key/value heads evenly", m.heads, m.kv_heads),
            "heads must be a multiple of kv_heads");
  }
  if (m.has_learned_positions() && m.max_positions == 0) {
    s.error("max_positions", "learned positions need their number", "set max_positions");
  }
  if (m.has_one_norm && !m.has_parallel_parts) {
    s.error("one_norm", "only parts that read the same input can share its norm", "set parallel_parts as well");
  }
  if (m.has_wide_qk_norm && !m.has_qk_norm) s.error("wide_qk_norm", "q and k are not normalised", "set qk_norm as well");
  if (!m.mla) return;
  if (m.kv_heads != m.heads) {
    s.error("kv_heads", fmt::format("latent attention grows a key and a value per query head, not {}", m.kv_heads),
            fmt::format("kv_heads: {}", m.heads));
  }
  const std::pair<const char*, bool> others[] = {{"linear_biases", m.has_linear_biases},
                                                 {"qkv_biases", m.has_qkv_biases},
                                                 {"qk_norm", m.has_qk_norm},

                                                 {"attention_sinks", m.has_attention_sinks}};
  for (const auto& [key, is_set] : others) {
    if (is_set) s.error(key, "is not modelled with latent attention", "leave it out, or leave mla out");
  }
}

void check_layers(const TransformerSpec& m, Section& s) {
  if (!m.moe) return;
  if (m.moe->dense_layers >= m.layers) {
    s.error("moe.dense_layers", fmt::format("all {} layers would be dense", m.layers), "fewer than layers, or no moe");
  } else if (m.expert_layers() == 0) {
    s.error("moe.interval", fmt::format("none of {} layers would have experts", m.layers - m.moe->dense_layers),
            "at most the layers after dense_layers");
  }
  if (m.has_parallel_parts) {
    s.error("parallel_parts", "is not modelled with experts", "leave it out, or leave moe out");
  }
}

}  // namespace

const FieldTable<TransformerSpec>& model_fields() {
  static const FieldTable<TransformerSpec> table = [] {
    FieldTable<TransformerSpec> t("model");
    add_geometry(t);
    add_options(t);
    add_expert_options(t);
    t.validate(check_attention);
    t.validate(check_layers);
    return t;
  }();
  return table;
}

}  // namespace lockstep
