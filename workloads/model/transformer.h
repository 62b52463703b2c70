// SPDX-License-Identifier: Apache-2.0
// Geometry of a decoder-only transformer and the parameters that follow from it. Every weight is listed as a tensor with the
// axes that tensor and expert parallelism cut, so counts per model, per rank and per layer part come from one place.
//
// Source of the shapes: the published architectures (GPT-3, Llama, Qwen, Mixtral, DeepSeek-V3, BLOOM, Falcon, GPT-J, Gemma, Grok-1,
// gpt-oss), as their checkpoints hold them. Not modelled: encoder-decoder, sliding windows, layers that are no attention.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

template <class T>
class FieldTable;

enum class NormKind : std::uint8_t {
  kRms,    // one weight per channel; a LayerNorm without biases (MPT, DBRX, Command R) has as many
  kLayer,  // weight and bias
  kPlain   // a LayerNorm without weights (OLMo)
};
// How a token's place enters: rotated q and k, a learned vector per position, a bias of the scores (ALiBi), or not at all.
enum class PositionKind : std::uint8_t { kRotary, kLearned, kAlibi, kNone };

// Mixture of experts: a router sends every token to top_k of `experts` feed-forward networks of width ffn.
struct MoeSpec {
  std::int64_t experts = 0;
  std::int64_t top_k = 1;
  std::int64_t ffn = 0;           // width of one expert
  std::int64_t shared_ffn = 0;    // width of what every token passes as well, all shared experts together; 0: none
  std::int64_t dense_layers = 0;  // the first layers are dense, of TransformerSpec::ffn
  std::int64_t interval = 1;      // of the layers after those, each interval-th is an expert layer, the others dense
  bool has_shared_gate = false;   // a sigmoid gate of `hidden` weights on the shared expert (Qwen2-MoE)
  bool has_router_bias = false;   // one bias per expert: of the router (gpt-oss), or to balance load (DeepSeek-V3)
};

// Multi-head latent attention (DeepSeek): q and k/v go through narrow latent vectors, one rotary key is shared by all heads.
struct MlaSpec {
  std::int64_t q_rank = 0;  // 0: q is projected directly
  std::int64_t kv_rank = 0;
  std::int64_t nope_dim = 0;  // of a head of q and k, without rotation
  std::int64_t rope_dim = 0;  // rotated
  std::int64_t v_dim = 0;
  [[nodiscard]] std::int64_t qk_dim() const { return nope_dim + rope_dim; }
};

struct TransformerSpec {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;     // query heads
  std::int64_t kv_heads = 0;  // key/value heads; fewer than heads is grouped-query attention
  std::int64_t head_dim = 0;
  std::int64_t ffn = 0;  // of a dense layer
  std::int64_t vocab = 0;
  std::int64_t max_positions = 0;                  // 0: not said
  bool is_gated = true;                            // SwiGLU: gate and up projections
  bool has_tied_embeddings = false;                // logits reuse the word embedding
  PositionKind positions = PositionKind::kRotary;  // learned: max_positions x hidden more parameters
  bool has_linear_biases = false;                  // on every projection of a layer
  bool has_qkv_biases = false;                     // on q, k and v only (Qwen2)
  bool has_output_biases = false;                  // on the projection after attention
  bool has_mlp_biases = false;                     // on the feed-forward part and the experts (GPT-J)
  bool has_head_bias = false;                      // on the logits (GPT-J)
  bool has_qk_norm = false;                        // RMSNorm of head_dim on q and k (Qwen3)
  bool has_wide_qk_norm = false;                   // ... with a weight per head and channel (Command R+)
  bool has_attention_sinks = false;                // one learned score per head (gpt-oss)
  bool has_dropout = false;                        // after attention, attention output and MLP (GPT)
  bool has_parallel_parts =
      false;  // attention and feed-forward part read the same input and share one all-reduce (GPT-J, Falcon, NeoX)
  bool has_one_norm = false;        // ... and one norm (GPT-J, Falcon-7B)
  bool has_post_norms = false;      // a second norm behind each part (Gemma 2, Grok-1)
  bool has_embedding_norm = false;  // a norm after the word embedding (BLOOM)
  NormKind norm = NormKind::kRms;
  std::optional<MoeSpec> moe;
  std::optional<MlaSpec> mla;   // then kv_heads equals heads and head_dim is not used
  std::int64_t mtp_layers = 0;  // multi-token prediction: layers after the last, each with a head of its own (DeepSeek-V3)

  [[nodiscard]] bool has_learned_positions() const { return positions == PositionKind::kLearned; }
  // Of layer 0, 1, ... in forward order; those of multi-token prediction follow the last.
  [[nodiscard]] bool is_expert_layer(std::int64_t layer) const {
    return moe && layer >= moe->dense_layers && (layer - moe->dense_layers) % moe->interval == moe->interval - 1;
  }
  // Of layers 0 ... layers - 1.
  [[nodiscard]] std::int64_t expert_layers() const {
    return moe && layers > moe->dense_layers ? (layers - moe->dense_layers) / moe->interval : 0;
  }
};

// How many ways weights are cut: whole rows over tensor-parallel ranks, those of an expert over expert_tp, experts over ep.
struct WeightCuts {
  std::int64_t tp = 1;
  std::int64_t ep = 1;
  std::int64_t expert_tp = 1;
};

// A weight of `rows` x `row_size` elements, of every expert where `experts` is not 0. Tensor parallelism deals whole rows (heads, FFN
// channels, vocabulary entries) to its ranks, or replicates the tensor; expert parallelism deals whole experts.
struct ParameterTensor {
  const char* name = "";
  std::int64_t rows = 1;
  std::int64_t row_size = 0;
  bool is_split = false;
  std::int64_t experts = 0;
  [[nodiscard]] bool is_expert() const { return experts > 0; }
  [[nodiscard]] std::int64_t elements() const { return rank_elements(WeightCuts{}); }
  // Of the fullest rank. Fewer rows than ranks (KV heads) means copies; what does not divide is padded.
  [[nodiscard]] std::int64_t rank_elements(const WeightCuts& cuts) const;
  // The same with all experts on every rank, cut as the rest is.
  [[nodiscard]] std::int64_t rank_elements(std::int64_t tp) const { return rank_elements(WeightCuts{tp, 1, tp}); }
};

// The parts that own weights, in forward order.
// An expert layer has kMoe (norm, router, shared expert; tensor-parallel), kExperts (the routed ones; expert-parallel) and kCombine (no
// weights: brings tokens back into order) in the place of kMlp.
enum class ModelPart : std::uint8_t { kEmbedding, kAttention, kMlp, kMoe, kExperts, kCombine, kHead };
inline constexpr ModelPart kModelParts[] = {ModelPart::kEmbedding, ModelPart::kAttention, ModelPart::kMlp, ModelPart::kMoe,
                                            ModelPart::kExperts,   ModelPart::kCombine,   ModelPart::kHead};

// Tensors of one part (of one layer for the parts of a layer) in forward order. The head holds the final norm and, untied, the output
// projection. An expert layer owns kAttention, kMoe and kExperts, a dense one kAttention and kMlp.
[[nodiscard]] std::vector<ParameterTensor> parameter_tensors(const TransformerSpec& model, ModelPart part);
// What one layer of multi-token prediction owns besides the parts of a layer: norms of the hidden state and of the embedding of the
// next token, the projection of both to one, its final norm (DeepSeek-V3, arXiv 2412.19437, section 2.2; Megatron-LM). Word embedding and
// output projection are those of the model.
[[nodiscard]] std::vector<ParameterTensor> mtp_tensors(const TransformerSpec& model);

[[nodiscard]] std::int64_t part_parameters(const TransformerSpec& model, ModelPart part);
[[nodiscard]] std::int64_t part_rank_parameters(const TransformerSpec& model, ModelPart part, std::int64_t tp);
[[nodiscard]] std::int64_t part_rank_parameters(const TransformerSpec& model, ModelPart part, const WeightCuts& cuts);
// All parts of layer 0, 1, ... (also those of multi-token prediction, without mtp_tensors).
[[nodiscard]] std::int64_t layer_parameters(const TransformerSpec& model, std::int64_t layer);
// Exact, norms and biases included, without multi-token prediction.
[[nodiscard]] std::int64_t parameter_count(const TransformerSpec& model);
// Those of them one token meets: top_k of the experts. The embedding counts in full (Mixtral 8x7B: 12.9 of 46.7 G).
[[nodiscard]] std::int64_t active_parameter_count(const TransformerSpec& model);
// What multi-token prediction adds.
[[nodiscard]] std::int64_t mtp_parameter_count(const TransformerSpec& model);

// kind: model.
[[nodiscard]] const FieldTable<TransformerSpec>& model_fields();

}  // namespace lockstep
