// SPDX-License-Identifier: Apache-2.0
// The kernels of one part of a model as they are collected: sizes of a rank and micro-batch, and the rows that parts have in common.
//
// Products with weights in 8 or 4 bits convert their operands on the way (Transformer Engine): a tensor of 16-bit values is read, once
// more for its maximum where one scale holds for all of it or two levels of scales do, and written twice, as rows and as columns, since
// forward and the gradient of the weights read along different axes; with frozen weights rows alone are written (Transformer Engine asks for
// columns where weights need a gradient). Weights are converted once a step and are not counted.
//
// Low-rank adapters (workloads/model/adapters.h) of Y = X W run beside it in 16 bits: forward X A and (X A) B, and Y plus their product,
// scaled; backward the scaled dY, with which B's gradient and that of X A, with which A's and that of X, and the sum of the two gradients of
// X. Not modelled: the time of tensor-parallel collectives of adapters, r values a token (their launches are counted).
#pragma once

#include <vector>

#include "workloads/kernels/transformer_kernels.h"

namespace lockstep {

// Sizes of one rank and micro-batch, as doubles because cost models are.
struct RankSizes {
  explicit RankSizes(const TrainingPlan& plan);
  double tokens, sequence, queries, hidden, head_dim, rank_heads, rank_kv_heads, rank_ffn, rank_vocab;
  // WHY eights: libraries pad a vocabulary so that tensor cores can be used.
  double value;        // bytes of an activation or weight
  double grad;         // ... of a gradient as accumulated
  double norm_tokens;  // tokens a rank normalises: its part of the sequence under sequence parallelism

  [[nodiscard]] double q_width() const { return rank_heads * head_dim; }
  [[nodiscard]] double qkv_width() const { return (rank_heads + 2 * rank_kv_heads) * head_dim; }
};

// Y[m, n] = X[m, k] W[k, n].
struct Projection {
  const char* name = "";
  double m = 0;
  double n = 0;
  double k = 0;
  double batch = 1;          // as many with weights of their own, of m rows each
  bool is_entry = false;     // meets the input of its part
  bool is_exit = false;      // makes its output
  bool is_quantised = true;  // runs in the job's precision
  bool is_cut = true;        // by tensor parallelism
};

// Over the data of an operation: reads and writes of a pass each, and how many operations they are.
struct Passes {
  double forward = 0;
  double backward = 0;
  double operations = 1;
};

class KernelList {
 public:
  KernelList(const TrainingPlan& plan, Direction direction, const KernelChoice& choice)
      : plan_(plan), sizes_(plan), direction_(direction), choice_(choice) {}

  [[nodiscard]] const TrainingPlan& plan() const { return plan_; }
  [[nodiscard]] const TransformerSpec& model() const { return plan_.job.model; }
  [[nodiscard]] const RankSizes& sizes() const { return sizes_; }
  [[nodiscard]] const KernelChoice& choice() const { return choice_; }
  [[nodiscard]] bool is_forward() const { return direction_ == Direction::kForward; }
  [[nodiscard]] bool is_backward() const { return direction_ == Direction::kBackward; }
  // Whose products have adapters, where it has any.
  void set_part(ModelPart part);
  [[nodiscard]] std::vector<KernelWork> take() { return std::move(works_); }

  void add(const KernelWork& work) { works_.push_back(work); }
  // Forward the product; backward dX = dY W^T and dW += X^T dY, of which Direction::kWeightGradient may hold the second. Frozen weights
  // have dX alone, beside what adapters of the part compute.
  void product(const Projection& p);
  // Reads and writes of `elements` activations, so many passes over them.
  void memory(const char* name, double elements, double forward_passes, double backward_passes, double operations = 1);
  // The same of an operation that eager frameworks without kernels of their own make of several.
  void pointwise(const char* name, double elements, Passes fused, Passes eager);
  void norm();
  // x + dropout(y + bias): two reads and a write; backward passes the gradient through the branch and adds the two.
  void residual();

 private:
  [[nodiscard]] bool is_weight_gradient_apart(const Projection& p) const;
  [[nodiscard]] double collectives(const Projection& p) const;
  [[nodiscard]] static KernelWork work_of(const Projection& p, const GemmShape& shape);
  void quantise(const Projection& p, double elements);
  void weight_gradient(const Projection& p, double in);
  void adapter(const Projection& p);

  const TrainingPlan& plan_;
  RankSizes sizes_;
  Direction direction_;
  KernelChoice choice_;
  double adapter_rank_ = 0;  // of the part at hand; 0: none
  std::vector<KernelWork> works_;
};

// By part, each with its norm and residual.
void attention_kernels(KernelList& out);
void mlp_kernels(KernelList& out);
void router_kernels(KernelList& out);   // ModelPart::kMoe
void expert_kernels(KernelList& out);   // ModelPart::kExperts
void combine_kernels(KernelList& out);  // ModelPart::kCombine

}  // namespace lockstep
