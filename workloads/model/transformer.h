// SPDX-License-Identifier: Apache-2.0
// Geometry of a dense decoder-only transformer and the parameters that follow from it. Every weight is listed as a tensor
// with the axis tensor parallelism cuts, so counts per model, per rank and per layer part come from one place.
//
// Source of the shapes: the published architectures (Llama, Qwen3, GPT-3); closed forms in K22 = Korthikanti et al. 2022,
// arXiv 2205.05198. Not modelled: experts, latent attention, encoder-decoder, sliding windows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

template <class T>
class FieldTable;

enum class NormKind : std::uint8_t { kRms, kLayer };

struct TransformerSpec {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;     // query heads
  std::int64_t kv_heads = 0;  // key/value heads; fewer than heads is grouped-query attention
  std::int64_t head_dim = 0;
  std::int64_t ffn = 0;
  std::int64_t vocab = 0;
  std::int64_t max_positions = 0;      // 0: not said
  bool is_gated = true;                // SwiGLU: gate and up projections
  bool has_tied_embeddings = false;    // logits reuse the word embedding
  bool has_learned_positions = false;  // max_positions x hidden more parameters; otherwise rotary
  bool has_linear_biases = false;      // on every projection of a layer
  bool has_qkv_biases = false;         // on q, k and v only (Qwen2)
  bool has_qk_norm = false;            // RMSNorm of head_dim on q and k (Qwen3)
  bool has_dropout = false;            // after attention, attention output and MLP (GPT)
  NormKind norm = NormKind::kRms;
};

// A weight of `rows` x `row_size` elements. Tensor parallelism deals whole rows (heads, FFN channels, vocabulary entries)
// to its ranks, or replicates the tensor.
struct ParameterTensor {
  const char* name = "";
  std::int64_t rows = 1;
  std::int64_t row_size = 0;
  bool is_split = false;
  [[nodiscard]] std::int64_t elements() const { return rows * row_size; }
  // Of the fullest rank. Fewer rows than ranks (KV heads) means copies; a vocabulary that does not divide is padded.
  [[nodiscard]] std::int64_t rank_elements(std::int64_t tp) const;
};

// The parts that own weights, in forward order.
enum class ModelPart : std::uint8_t { kEmbedding, kAttention, kMlp, kHead };

// Tensors of one part (of one layer for kAttention and kMlp) in forward order. The head holds the final norm and, untied,
// the output projection.
[[nodiscard]] std::vector<ParameterTensor> parameter_tensors(const TransformerSpec& model, ModelPart part);

[[nodiscard]] std::int64_t part_parameters(const TransformerSpec& model, ModelPart part);
[[nodiscard]] std::int64_t part_rank_parameters(const TransformerSpec& model, ModelPart part, std::int64_t tp);
// Exact, norms and biases included.
[[nodiscard]] std::int64_t parameter_count(const TransformerSpec& model);

// kind: model.
[[nodiscard]] const FieldTable<TransformerSpec>& model_fields();

}  // namespace lockstep
