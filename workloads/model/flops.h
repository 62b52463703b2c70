// SPDX-License-Identifier: Apache-2.0
// Floating-point operations of one optimizer step, for MFU and HFU. A fused multiply-add is 2.
//
// With T tokens, Q = sum of squared sequence lengths, h hidden, a query heads, g KV heads of d, f FFN, V vocabulary:
//   attention projections 2 T h (a d + 2 g d) + 2 T (a d) h    attention core, causal 2 Q (a d)
//   MLP 4 T h f, gated 6 T h f                                 logits 2 T h V
// forward; backward is twice forward. Source: Megatron-LM, num_floating_point_operations. The core is halved for causality
// (older formulas are not: kFlopConvention says so in results). Hardware flops add what Recompute runs again; that a fused
// attention kernel multiplies q and k again inside its backward is not counted. Norms, softmax, activations: not counted.
#pragma once

#include "workloads/parallel/plan.h"

namespace lockstep {

inline constexpr const char* kFlopConvention = "model FLOPs: causal attention halved, logits counted, recompute not counted";

struct ForwardFlops {
  double attention_projections = 0;
  double attention_core = 0;
  double mlp = 0;
  double logits = 0;
  [[nodiscard]] double layers() const { return attention_projections + attention_core + mlp; }
  [[nodiscard]] double total() const { return layers() + logits; }
};

// Of `sequences` sequences of `seq_len` tokens through the whole model.
[[nodiscard]] ForwardFlops forward_flops(const TransformerSpec& model, std::int64_t sequences, std::int64_t seq_len);

struct StepFlops {
  double model = 0;
  double hardware = 0;
};
// Of all GPUs together.
[[nodiscard]] StepFlops step_flops(const TrainingPlan& plan);

}  // namespace lockstep
