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

void append_norm(const TransformerSpec& m, const char* name, std::vector<ParameterTensor>& out) {
  out.push_back(replicated(name, m.norm == NormKind::kLayer ? 2 * m.hidden : m.hidden));
}

void append_attention(const TransformerSpec& m, std::vector<ParameterTensor>& out) {
  append_norm(m, "attention_norm", out);
  const bool has_qkv_biases = m.has_linear_biases || m.has_qkv_biases;
  const std::int64_t row = m.head_dim * (m.hidden + (has_qkv_biases ? 1 : 0));
  out.push_back(split("q", m.heads, row));
  out.push_back(split("k", m.kv_heads, row));
  out.push_back(split("v", m.kv_heads, row));
  if (m.has_qk_norm) out.push_back(replicated("qk_norm", 2 * m.head_dim));
  out.push_back(split("o", m.heads, m.head_dim * m.hidden));
  if (m.has_linear_biases) out.push_back(replicated("o_bias", m.hidden));
}

void append_mlp(const TransformerSpec& m, std::vector<ParameterTensor>& out) {
  append_norm(m, "mlp_norm", out);
  const std::int64_t row = m.hidden + (m.has_linear_biases ? 1 : 0);
  if (m.is_gated) out.push_back(split("gate", m.ffn, row));
  out.push_back(split("up", m.ffn, row));
  out.push_back(split("down", m.ffn, m.hidden));
  if (m.has_linear_biases) out.push_back(replicated("down_bias", m.hidden));
}

}  // namespace

std::int64_t ParameterTensor::rank_elements(std::int64_t tp) const {
  LOCKSTEP_CHECK(tp > 0, "tensor-parallel size {}", tp);
  return is_split ? checked_mul(ceil_div(rows, tp), row_size) : elements();
}

std::vector<ParameterTensor> parameter_tensors(const TransformerSpec& m, ModelPart part) {
  std::vector<ParameterTensor> out;
  switch (part) {
    case ModelPart::kEmbedding:
      out.push_back(split("word_embedding", m.vocab, m.hidden));
      if (m.has_learned_positions()) out.push_back(replicated("position_embedding", m.max_positions * m.hidden));
      break;
    case ModelPart::kAttention:
      append_attention(m, out);
      break;
    case ModelPart::kMlp:
      append_mlp(m, out);
      break;
    case ModelPart::kMoe:
    case ModelPart::kExperts:
    case ModelPart::kCombine:
      break;
    case ModelPart::kHead:
      append_norm(m, "final_norm", out);
      if (!m.has_tied_embeddings) out.push_back(split("output", m.vocab, m.hidden));
      break;
  }
  return out;
}

std::int64_t part_parameters(const TransformerSpec& m, ModelPart part) { return part_rank_parameters(m, part, 1); }

std::int64_t part_rank_parameters(const TransformerSpec& m, ModelPart part, std::int64_t tp) {
  std::int64_t sum = 0;
  for (const ParameterTensor& t : parameter_tensors(m, part)) sum = checked_add(sum, t.rank_elements(tp));
  return sum;
}

std::int64_t parameter_count(const TransformerSpec& m) {
  const std::int64_t layer = part_parameters(m, ModelPart::kAttention) + part_parameters(m, ModelPart::kMlp);
  return checked_mul(layer, m.layers) + part_parameters(m, ModelPart::kEmbedding) + part_parameters(m, ModelPart::kHead);
}

}  // namespace lockstep
