// SPDX-License-Identifier: Apache-2.0
#include "workloads/model/transformer.h"

#include "base/check.h"
#include "base/wide.h"

namespace lockstep {
namespace {

ParameterTensor split(const char* name, std::int64_t rows, std::int64_t row_size) {
  return {.name = name, .rows = rows, .row_size = row_size, .is_split = true};
}

ParameterTensor replicated(const char* name, std::int64_t elements) { return {.name = name, .row_size = elements}; }

ParameterTensor of_experts(const MoeSpec& moe, ParameterTensor tensor) {
  tensor.experts = moe.experts;
  return tensor;
}

void append_norm(const TransformerSpec& m, const char* name, std::vector<ParameterTensor>& out) {
  if (m.norm == NormKind::kPlain) return;
  out.push_back(replicated(name, m.norm == NormKind::kLayer ? 2 * m.hidden : m.hidden));
}

void append_post_norm(const TransformerSpec& m, const char* name, std::vector<ParameterTensor>& out) {
  if (m.has_post_norms) append_norm(m, name, out);
}

void append_qkv(const TransformerSpec& m, std::vector<ParameterTensor>& out) {
  const bool has_biases = m.has_linear_biases || m.has_qkv_biases;
  const std::int64_t row = m.head_dim * (m.hidden + (has_biases ? 1 : 0));
  out.push_back(split("q", m.heads, row));
  out.push_back(split("k", m.kv_heads, row));
  out.push_back(split("v", m.kv_heads, row));
  if (m.has_qk_norm && m.has_wide_qk_norm) {
    out.push_back(split("q_norm", m.heads, m.head_dim));
    out.push_back(split("k_norm", m.kv_heads, m.head_dim));
  } else if (m.has_qk_norm) {
    out.push_back(replicated("qk_norm", 2 * m.head_dim));
  }
  if (m.has_attention_sinks) out.push_back(split("sinks", m.heads, 1));
  out.push_back(split("o", m.heads, m.head_dim * m.hidden));
}

// Latent vectors are on every tensor-parallel rank, the heads that grow from them are dealt.
void append_latent_qkv(const TransformerSpec& m, const MlaSpec& mla, std::vector<ParameterTensor>& out) {
  if (mla.q_rank > 0) {
    out.push_back(replicated("q_down", m.hidden * mla.q_rank));
    out.push_back(replicated("q_norm", mla.q_rank));
    out.push_back(split("q_up", m.heads, mla.qk_dim() * mla.q_rank));
  } else {
    out.push_back(split("q", m.heads, mla.qk_dim() * m.hidden));
  }
  out.push_back(replicated("kv_down", m.hidden * (mla.kv_rank + mla.rope_dim)));
  out.push_back(replicated("kv_norm", mla.kv_rank));
  out.push_back(split("kv_up", m.heads, (mla.nope_dim + mla.v_dim) * mla.kv_rank));
  out.push_back(split("o", m.heads, mla.v_dim * m.hidden));
}

void append_attention(const TransformerSpec& m, std::vector<ParameterTensor>& out) {
  append_norm(m, "attention_norm", out);
  if (m.mla) {
    append_latent_qkv(m, *m.mla, out);
  } else {
    append_qkv(m, out);
  }
  if (m.has_linear_biases || m.has_output_biases) out.push_back(replicated("o_bias", m.hidden));
  append_post_norm(m, "attention_post_norm", out);
}

bool has_mlp_biases(const TransformerSpec& m) { return m.has_linear_biases || m.has_mlp_biases; }

void append_feed_forward(const TransformerSpec& m, std::int64_t width, std::vector<ParameterTensor>& out) {
  const std::int64_t row = m.hidden + (has_mlp_biases(m) ? 1 : 0);
  if (m.is_gated) out.push_back(split("gate", width, row));
  out.push_back(split("up", width, row));
  out.push_back(split("down", width, m.hidden));
  if (has_mlp_biases(m)) out.push_back(replicated("down_bias", m.hidden));
}

void append_mlp_norm(const TransformerSpec& m, std::vector<ParameterTensor>& out) {
  if (!m.has_one_norm) append_norm(m, "mlp_norm", out);
}

void append_mlp(const TransformerSpec& m, std::vector<ParameterTensor>& out) {
  append_mlp_norm(m, out);
  append_feed_forward(m, m.ffn, out);
  append_post_norm(m, "mlp_post_norm", out);
}

void append_moe(const TransformerSpec& m, const MoeSpec& moe, std::vector<ParameterTensor>& out) {
  append_mlp_norm(m, out);
  out.push_back(replicated("router", (m.hidden + (moe.has_router_bias ? 1 : 0)) * moe.experts));
  if (moe.shared_ffn > 0) append_feed_forward(m, moe.shared_ffn, out);
  if (moe.has_shared_gate) out.push_back(replicated("shared_gate", m.hidden));
  append_post_norm(m, "mlp_post_norm", out);
}

void append_experts(const TransformerSpec& m, const MoeSpec& moe, std::vector<ParameterTensor>& out) {
  append_feed_forward(m, moe.ffn, out);
  for (ParameterTensor& t : out) t = of_experts(moe, t);
}

void append_embedding(const TransformerSpec& m, std::vector<ParameterTensor>& out) {
  out.push_back(split("word_embedding", m.vocab, m.hidden));
  if (m.has_learned_positions()) out.push_back(replicated("position_embedding", m.max_positions * m.hidden));
  if (m.has_embedding_norm) append_norm(m, "embedding_norm", out);
}

void append_head(const TransformerSpec& m, std::vector<ParameterTensor>& out) {
  append_norm(m, "final_norm", out);
  if (!m.has_tied_embeddings) out.push_back(split("output", m.vocab, m.hidden));
  if (m.has_head_bias) out.push_back(split("output_bias", m.vocab, 1));
}

std::int64_t sum_of(const std::vector<ParameterTensor>& tensors, const WeightCuts& cuts) {
  std::int64_t sum = 0;
  for (const ParameterTensor& t : tensors) sum = checked_add(sum, t.rank_elements(cuts));
  return sum;
}

}  // namespace

std::int64_t ParameterTensor::rank_elements(const WeightCuts& cuts) const {
  LOCKSTEP_CHECK(cuts.tp > 0 && cuts.ep > 0 && cuts.expert_tp > 0, "tp {}, ep {}, expert_tp {}", cuts.tp, cuts.ep,
                 cuts.expert_tp);
  const std::int64_t ways = is_expert() ? cuts.expert_tp : cuts.tp;
  const std::int64_t one = checked_mul(is_split ? ceil_div(rows, ways) : rows, row_size);
  return is_expert() ? checked_mul(one, ceil_div(experts, cuts.ep)) : one;
}

std::vector<ParameterTensor> parameter_tensors(const TransformerSpec& m, ModelPart part) {
  std::vector<ParameterTensor> out;
  switch (part) {
    case ModelPart::kEmbedding:
      append_embedding(m, out);
      break;
    case ModelPart::kAttention:
      append_attention(m, out);
      break;
    case ModelPart::kMlp:
      append_mlp(m, out);
      break;
    case ModelPart::kMoe:
      if (m.moe) append_moe(m, *m.moe, out);
      break;
    case ModelPart::kExperts:
      if (m.moe) append_experts(m, *m.moe, out);
      break;
    case ModelPart::kCombine:
      break;
    case ModelPart::kHead:
      append_head(m, out);
      break;
  }
  return out;
}

std::vector<ParameterTensor> mtp_tensors(const TransformerSpec& m) {
  std::vector<ParameterTensor> out;
  out.reserve(4);  // WHY: without it GCC 12 sees an overflow that is not there
  append_norm(m, "mtp_hidden_norm", out);
  append_norm(m, "mtp_embedding_norm", out);
  out.push_back(split("mtp_projection", m.hidden, 2 * m.hidden));
  append_norm(m, "mtp_final_norm", out);
  return out;
}

std::int64_t part_rank_parameters(const TransformerSpec& m, ModelPart part, const WeightCuts& cuts) {
  return sum_of(parameter_tensors(m, part), cuts);
}

std::int64_t part_rank_parameters(const TransformerSpec& m, ModelPart part, std::int64_t tp) {
  return part_rank_parameters(m, part, WeightCuts{tp, 1, tp});
}

std::int64_t part_parameters(const TransformerSpec& m, ModelPart part) { return part_rank_parameters(m, part, WeightCuts{}); }

std::int64_t layer_parameters(const TransformerSpec& m, std::int64_t layer) {
  const std::int64_t attention = part_parameters(m, ModelPart::kAttention);
  if (!m.is_expert_layer(layer)) return checked_add(attention, part_parameters(m, ModelPart::kMlp));
  return checked_add(attention, checked_add(part_parameters(m, ModelPart::kMoe), part_parameters(m, ModelPart::kExperts)));
}

std::int64_t parameter_count(const TransformerSpec& m) {
  std::int64_t sum = checked_add(part_parameters(m, ModelPart::kEmbedding), part_parameters(m, ModelPart::kHead));
  for (std::int64_t layer = 0; layer < m.layers; ++layer) sum = checked_add(sum, layer_parameters(m, layer));
  return sum;
}

std::int64_t active_parameter_count(const TransformerSpec& m) {
  TransformerSpec active = m;
  if (m.moe) {
    const std::int64_t idle = m.moe->experts - m.moe->top_k;
    active.moe->experts = m.moe->top_k;
    // The router scores all experts.
    const std::int64_t scores = checked_mul(idle, m.hidden + (m.moe->has_router_bias ? 1 : 0));
    return checked_add(parameter_count(active), checked_mul(scores, m.expert_layers()));
  }
  return parameter_count(active);
}

std::int64_t mtp_parameter_count(const TransformerSpec& m) {
  std::int64_t sum = checked_mul(sum_of(mtp_tensors(m), {}), m.mtp_layers);
  for (std::int64_t i = 0; i < m.mtp_layers; ++i) sum = checked_add(sum, layer_parameters(m, m.layers + i));
  return sum;
}

}  // namespace lockstep
