// SPDX-License-Identifier: Apache-2.0
// Floating-point operations of one optimizer step, for MFU and HFU. A fused multiply-add is 2.
//
// With T tokens, Q = sum of squared sequence lengths, h hidden, a query heads, g KV heads of d, f FFN, V vocabulary, k of the experts
// of f_e and f_s of shared ones, n layers of multi-token prediction; latent attention with ranks r_q and r_kv, heads of n + r and v:
//   attention projections 2 T h (a d + 2 g d) + 2 T (a d) h    attention core, causal 2 Q (a d)
//   latent 2 T (r_q (h + a (n + r)) + r_kv (h + a (n + v)) + h r + a v h), core Q a (n + r + v)
//   MLP 4 T h f, gated 6 T h f; experts the same with f = k f_e + f_s        logits 2 T h V (1 + n)
//   multi-token prediction: n layers more, and the projection of each, 4 T h^2
// forward; backward is twice forward. Frozen weights (LoRA) have no gradient: backward of projections, feed-forward parts and logits is once
// forward, and adapters of P parameters add 2 T P forward and twice that backward (Megatron Bridge publishes 278.8 GFLOP a token for LoRA on
// Llama 3 70B, where 4 per weight of layers and logits are 278.0). Source: Megatron-LM, num_floating_point_operations (which adds the norms of latent attention and of
// multi-token prediction: a few 1e-5 of the whole). The core is halved for causality (older formulas are not: kFlopConvention says so in
// results). Hardware flops add what Recompute runs again; that a fused attention kernel multiplies q and k again inside its backward is
// not counted. Norms, softmax, activations, routers and gates: not counted. Positions (ALiBi, rotary) cost no FLOPs here.
#pragma once

#include "workloads/parallel/plan.h"

namespace lockstep {

inline constexpr const char* kFlopConvention = "model FLOPs: causal attention halved, logits counted, recompute not counted";

// Forward FLOPs of one layer.
struct LayerFlops {
  double attention_projections = 0;
  double attention_core = 0;
  double feed_forward = 0;  // the MLP, or what k experts and the shared ones compute
  [[nodiscard]] double total() const { return attention_projections + attention_core + feed_forward; }
};

struct ForwardFlops {
  double attention_projections = 0;
  double attention_core = 0;
  double mlp = 0;      // of dense layers
  double experts = 0;  // of expert layers, shared experts included
  double mtp_core = 0;
  double mtp_rest = 0;  // of layers of multi-token prediction and their projections, without logits
  double logits = 0;    // multi-token prediction included
  [[nodiscard]] double layers() const { return attention_projections + attention_core + mlp + experts; }
  [[nodiscard]] double mtp() const { return mtp_core + mtp_rest; }
  [[nodiscard]] double total() const { return layers() + mtp() + logits; }
};

// Of `sequences` sequences of `seq_len` tokens through layer 0, 1, ... (from model.layers on: of multi-token prediction, without its
// projection).
[[nodiscard]] LayerFlops layer_flops(const TransformerSpec& model, std::int64_t layer, std::int64_t sequences,
                                     std::int64_t seq_len);
// Through the whole model.
[[nodiscard]] ForwardFlops forward_flops(const TransformerSpec& model, std::int64_t sequences, std::int64_t seq_len);

struct StepFlops {
  double model = 0;
  double hardware = 0;
};
// Of all GPUs together.
[[nodiscard]] StepFlops step_flops(const TrainingPlan& plan);

}  // namespace lockstep
