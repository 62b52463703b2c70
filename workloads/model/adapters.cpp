// SPDX-License-Identifier: Apache-2.0
#include "workloads/model/adapters.h"

#include "base/field_table.h"
#include "base/wide.h"

namespace lockstep {
namespace {

// Pairs of A and B in the order of a layer.
class AdapterList {
 public:
  explicit AdapterList(std::int64_t rank) : rank_(rank) {}

  void before_columns(std::int64_t in) { add("lora_a", rank_, in, true); }
  void columns(std::int64_t rows, std::int64_t row_size) { add("lora_b", rows, row_size * rank_, true); }
  void before_rows(std::int64_t rows, std::int64_t row_size) { add("lora_a", rows, row_size * rank_, true); }
  void whole(std::int64_t in, std::int64_t out) {
    add("lora_a", 1, in * rank_, false);
    add("lora_b", 1, out * rank_, false);
  }
  [[nodiscard]] std::vector<ParameterTensor> take() { return std::move(tensors_); }

 private:
  void add(const char* name, std::int64_t rows, std::int64_t row_size, bool is_split) {
    tensors_.push_back({.name = name, .rows = rows, .row_size = row_size, .is_split = is_split});
  }

  std::int64_t rank_;
  std::vector<ParameterTensor> tensors_;
};

// The projections of latent vectors are whole on every rank, and so are their adapters.
void append_latent(const TransformerSpec& m, const MlaSpec& mla, AdapterList& out) {
  if (mla.q_rank > 0) out.whole(m.hidden, mla.q_rank);
  out.before_columns(mla.q_rank > 0 ? mla.q_rank : m.hidden);
  out.columns(m.heads, mla.qk_dim());
  out.whole(m.hidden, mla.kv_rank + mla.rope_dim);
  out.before_columns(mla.kv_rank);
  out.columns(m.heads, mla.nope_dim + mla.v_dim);
}

void append_attention(const TransformerSpec& m, AdapterList& out) {
  if (m.mla) {
    append_latent(m, *m.mla, out);
  } else {
    out.before_columns(m.hidden);
    out.columns(m.heads, m.head_dim);
    out.columns(m.kv_heads, m.head_dim);
    out.columns(m.kv_heads, m.head_dim);
  }
  out.before_rows(m.heads, m.mla ? m.mla->v_dim : m.head_dim);
  out.columns(m.hidden, 1);
}

void append_mlp(const TransformerSpec& m, AdapterList& out) {
  out.before_columns(m.hidden);
  out.columns(m.ffn, m.is_gated ? 2 : 1);
  out.before_rows(m.ffn, 1);
  out.columns(m.hidden, 1);
}

}  // namespace

std::vector<ParameterTensor> adapter_tensors(const TransformerSpec& model, const LoraSpec& lora, ModelPart part) {
  AdapterList list(lora.rank);
  if (lora.adapts(part)) part == ModelPart::kAttention ? append_attention(model, list) : append_mlp(model, list);
  return list.take();
}

std::int64_t adapter_parameter_count(const TransformerSpec& model, const LoraSpec& lora) {
  std::int64_t sum = 0;
  for (const ModelPart part : {ModelPart::kAttention, ModelPart::kMlp}) {
    for (const ParameterTensor& t : adapter_tensors(model, lora, part)) sum = checked_add(sum, t.elements());
  }
  return checked_mul(sum, model.layers + model.mtp_layers);
}

std::int64_t adapter_count(const TransformerSpec& model, const LoraSpec& lora, ModelPart part) {
  if (!lora.adapts(part)) return 0;
  if (part == ModelPart::kMlp || !model.mla) return 2;
  return model.mla->q_rank > 0 ? 5 : 4;
}

const FieldTable<LoraSpec>& lora_fields() {
  static const FieldTable<LoraSpec> table = [] {
    FieldTable<LoraSpec> t;
    t.field("rank", &LoraSpec::rank).range(1, 1 << 20).doc("width of the adapters").source("MLPerf Training, llama2_70b_lora");
    t.choice("targets", &LoraSpec::targets,
             {{"attention", LoraTargets::kAttention, "the projections to q, k and v and the one after attention"},
              {"mlp", LoraTargets::kMlp, "those of the feed-forward part"},
              {"all_linear", LoraTargets::kAllLinear, "both"}})
        .doc("projections that have adapters");
    return t;
  }();
  return table;
}

}  // namespace lockstep
