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

void add_options(FieldTable<TransformerSpec>& t) {
  t.field("gated", &TransformerSpec::is_gated).doc("the feed-forward part multiplies two branches (SwiGLU)");
  t.field("tied_embeddings", &TransformerSpec::has_tied_embeddings).doc("logits reuse the word embedding");
  t.choice("positions", &TransformerSpec::positions,
           {{"rotary", PositionKind::kRotary, "q and k are rotated"},
            {"learned", PositionKind::kLearned, "an embedding per position"},
            {"alibi", PositionKind::kAlibi, "a bias of the scores by distance"},
            {"none", PositionKind::kNone, "nothing"}})
      .doc("how the place of a token enters");
  t.field("linear_biases", &TransformerSpec::has_linear_biases).doc("every projection has a bias");
  t.field("qkv_biases", &TransformerSpec::has_qkv_biases).doc("the q, k and v projections have a bias");
  t.field("qk_norm", &TransformerSpec::has_qk_norm).doc("q and k are normalised per head");
  t.field("dropout", &TransformerSpec::has_dropout)
      .doc("dropout on attention weights and residual branches; costs time and memory");
  t.choice("norm", &TransformerSpec::norm,
           {{"rms", NormKind::kRms, "RMSNorm: one weight per channel"},
            {"layer", NormKind::kLayer, "LayerNorm: weight and bias per channel"}})
      .doc("normalisation before attention, before the feed-forward part and before the logits");
}

}  // namespace

const FieldTable<TransformerSpec>& model_fields() {
  static const FieldTable<TransformerSpec> table = [] {
    FieldTable<TransformerSpec> t("model");
    add_geometry(t);
    add_options(t);
    t.validate([](const TransformerSpec& m, Section& s) {
      if (m.heads % m.kv_heads != 0) {
        s.error("kv_heads", fmt::format("{} query heads do not share {} key/value heads evenly", m.heads, m.kv_heads),
                "heads must be a multiple of kv_heads");
      }
      if (m.has_learned_positions() && m.max_positions == 0) {
        s.error("max_positions", "learned positions need their number", "set max_positions");
      }
    });
    return t;
  }();
  return table;
}

}  // namespace lockstep
