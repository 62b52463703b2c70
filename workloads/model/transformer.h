// SPDX-License-Identifier: Apache-2.0
// Geometry of a dense decoder-only transformer and the parameters that follow from it. Every weight is listed as a tensor
// with the axis tensor parallelism cuts, so counts per model, per rank and per layer part come from one place.
//
// Source of the shapes: the published architectures (Llama, Qwen3, GPT-3); closed forms in K22 = Korthikanti et al. 2022,
// arXiv 2205.05198. Not modelled: experts, latent attention, encoder-decoder, sliding windows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

template <class T>
class FieldTable;

enum class NormKind : std::uint8_t { kRms, kLayer };
// How a token's place enters: rotated q and k, a learned vector per position, a bias of the scores (ALiBi), or not at all.
enum class PositionKind : std::uint8_t { kRotary, kLearned, kAlibi, kNone };

// Mixture of experts: a router sends every token to top_k of `experts` feed-forward networks of width ffn.
struct MoeSpec {
  std::int64_t experts = 0;
  std::int64_t top_k = 1;
  std::int64_t ffn = 0;                 // width of one expert
  std::int64_t shared_ffn = 0;          // width of what every token passes as well, all shared experts together; 0: none
  std::int64_t dense_layers = 0;        // the first layers are dense, of TransformerSpec::ffn
  std::int64_t interval = 1;            // of the layers after those, each interval-th is an expert layer, the others dense
  bool has_shared_gate = false;         // a sigmoid gate of `hidden` weights on the shared expert (Qwen2-MoE)
  bool has_router_bias = false;         // one bias per expert that balances load (DeepSeek-V3)
};

// Multi-head latent attention (DeepSeek): q and k/v go through narrow latent vectors, one rotary key is shared by all heads.
struct MlaSpec {
  std::int64_t q_rank = 0;   // 0: q is projected directly
  std::int64_t kv_rank = 0;
  std::int64_t nope_dim = 0;  // of a head of q and k, without rotation
  std::int64_t rope_dim = 0;  // rotated
  std::int64_t v_dim = 0;
};

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
  PositionKind positions = PositionKind::kRotary;  // learned: max_positions x hidden more parameters
  bool has_linear_biases = false;      // on every projection of a layer
  bool has_qkv_biases = false;         // on q, k and v only (Qwen2)
  bool has_qk_norm = false;            // RMSNorm of head_dim on q and k (Qwen3)
  bool has_dropout = false;            // after attention, attention output and MLP (GPT)
  bool has_parallel_parts = false;     // attention and feed-forward part read the same input and share one all-reduce (GPT-J, Falcon, NeoX)
  bool has_one_norm = false;           // ... and one norm (GPT-J, Falcon-7B)
  bool has_embedding_norm = false;     // a norm after the word embedding (BLOOM)
  NormKind norm = NormKind::kRms;
  std::optional<MoeSpec> moe;
  std::optional<MlaSpec> mla;          // then kv_heads equals heads and head_dim is not used
  std::int64_t mtp_layers = 0;         // multi-token prediction: layers after the last, each with a head of its own (DeepSeek-V3)

  [[nodiscard]] bool has_learned_positions() const { return positions == PositionKind::kLearned; }
  // Of layer 0, 1, ... in forward order.
  [[nodiscard]] bool is_expert_layer(std::int64_t layer) const {
    return moe && layer >= moe->dense_layers && (layer - moe->dense_layers) % moe->interval == moe->interval - 1;
  }
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
// An expert layer has kMoe (norm, router, shared expert; tensor-parallel), kExperts (the routed ones; expert-parallel) and kCombine (no
// weights: brings tokens back into order) in the place of kMlp.
enum class ModelPart : std::uint8_t { kEmbedding, kAttention, kMlp, kMoe, kExperts, kCombine, kHead };
inline constexpr ModelPart kModelParts[] = {ModelPart::kEmbedding, ModelPart::kAttention, ModelPart::kMlp, ModelPart::kMoe,
                                            ModelPart::kExperts,   ModelPart::kCombine,   ModelPart::kHead};

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
