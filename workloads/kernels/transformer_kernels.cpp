// SPDX-License-Identifier: Apache-2.0
#include "workloads/kernels/transformer_kernels.h"

#include <algorithm>

#include "base/wide.h"

namespace lockstep {
namespace {

constexpr double kActivation = 2;       // bytes of a 16-bit activation or weight
constexpr double kDropoutMask = 1;      // bytes
constexpr double kFlashBackward = 2.5;  // flops of a fused core's backward over its forward

// Sizes of one rank and micro-batch, as doubles because cost models are.
struct Sizes {
  explicit Sizes(const TrainingPlan& p)
      : tokens(static_cast<double>(p.micro_batch_tokens())),
        sequence(static_cast<double>(p.job.seq_len)),
        hidden(static_cast<double>(p.job.model.hidden)),
        head_dim(static_cast<double>(p.job.model.head_dim)),
        rank_heads(static_cast<double>(ceil_div(p.job.model.heads, p.tp()))),
        rank_kv_heads(static_cast<double>(ceil_div(p.job.model.kv_heads, p.tp()))),
        rank_ffn(static_cast<double>(ceil_div(p.job.model.ffn, p.tp()))),
        rank_vocab(static_cast<double>(ceil_div(p.job.model.vocab, p.tp()))),
        grad(static_cast<double>(bytes_per_element(p.job.grad_dtype))),
        norm_tokens(tokens / (p.job.sequence_parallel ? static_cast<double>(p.tp()) : 1.0)) {}
  double tokens, sequence, hidden, head_dim, rank_heads, rank_kv_heads, rank_ffn, rank_vocab, grad;
  double norm_tokens;  // tokens a rank normalises: its part of the sequence under sequence parallelism

  [[nodiscard]] double q_width() const { return rank_heads * head_dim; }
  [[nodiscard]] double qkv_width() const { return (rank_heads + 2 * rank_kv_heads) * head_dim; }
};

class Builder {
 public:
  explicit Builder(const TrainingPlan& plan) : plan_(plan), s_(plan) {}

  std::vector<KernelWork> build(ModelPart part, Direction d) {
    if (d == Direction::kWeightGradient) return weight_gradient(part);
    const bool is_forward = d == Direction::kForward;
    switch (part) {
      case ModelPart::kEmbedding:
        if (is_forward || !plan_.splits_passes()) embedding(is_forward);
        break;
      case ModelPart::kAttention:
        attention(is_forward);
        break;
      case ModelPart::kMlp:
        mlp(is_forward);
        break;
      case ModelPart::kMoe:
      case ModelPart::kExperts:
      case ModelPart::kCombine:
        break;
      case ModelPart::kHead:
        head(is_forward);
        break;
    }
    return std::move(out_);
  }

 private:
  // Y[tokens, n] = X[tokens, k] W; backward dX = dY W^T and dW += X^T dY.
  void projection(const char* name, double k, double n, bool is_forward) {
    if (is_forward) {
      out_.push_back(gemm(name, {.m = s_.tokens, .n = n, .k = k}));
      return;
    }
    out_.push_back(gemm(name, {.m = s_.tokens, .n = k, .k = n}));
    if (!plan_.splits_passes()) weights(name, k, n);
  }
  void weights(const char* name, double k, double n) {
    out_.push_back(gemm(name, {.m = k, .n = n, .k = s_.tokens, .out = 2 * s_.grad}));
  }

  // The projection of a part's input.
  void input_projection(const char* name, double n, bool is_forward) {
    if (is_forward || !plan_.splits_backward()) return projection(name, s_.hidden, n, is_forward);
    out_.push_back(gemm(name, {.m = s_.tokens, .n = s_.hidden, .k = n}));
  }
  [[nodiscard]] double up_width() const { return (plan_.job.model.is_gated ? 2 : 1) * s_.rank_ffn; }

  std::vector<KernelWork> weight_gradient(ModelPart part) {
    if (!plan_.splits_backward() && !plan_.splits_passes()) return {};
    if (plan_.splits_passes()) {
      if (part == ModelPart::kEmbedding) embedding(false);
      if (part == ModelPart::kAttention) weights("attention_output", s_.q_width(), s_.hidden);
      if (part == ModelPart::kMlp) weights("mlp_down", s_.rank_ffn, s_.hidden);
    }
    if (part == ModelPart::kAttention) weights("qkv", s_.hidden, s_.qkv_width());
    if (part == ModelPart::kMlp) weights("mlp_up", s_.hidden, up_width());
    if (part == ModelPart::kHead) weights("logits", s_.hidden, s_.rank_vocab);
    return std::move(out_);
  }

  // Forward: passes of reads and writes over [tokens, width]; backward likewise.
  void memory(const char* name, double elements, double forward_passes, double backward_passes, bool is_forward) {
    out_.push_back(memory_kernel(name, elements * kActivation * (is_forward ? forward_passes : backward_passes)));
  }

  void norm(bool is_forward) { memory("norm", s_.norm_tokens * s_.hidden, 2, 3, is_forward); }

  // x + dropout(y + bias): two reads and a write; backward passes the gradient through the branch and adds the two.
  void residual(bool is_forward) {
    memory("residual", s_.norm_tokens * s_.hidden, 3, 3, is_forward);
    if (plan_.job.model.has_dropout) out_.push_back(memory_kernel("dropout_mask", s_.norm_tokens * s_.hidden * kDropoutMask));
  }

  void attention(bool is_forward) {
    norm(is_forward);
    input_projection("qkv", s_.qkv_width(), is_forward);
    if (plan_.job.model.positions == PositionKind::kRotary) {
      memory("rotary", s_.tokens * (s_.rank_heads + s_.rank_kv_heads) * s_.head_dim, 2, 2, is_forward);
    }
    if (!is_forward && plan_.job.recompute == Recompute::kSelective) core(true);
    core(is_forward);
    projection("attention_output", s_.q_width(), s_.hidden, is_forward);
    residual(is_forward);
  }

  void core(bool is_forward) {
    if (plan_.job.attention == AttentionKernel::kFlash) {
      fused_core(is_forward);
    } else {
      unfused_core(is_forward);
    }
  }

  void fused_core(bool is_forward) {
    const double forward_flops = 2 * s_.tokens * s_.sequence * s_.q_width();  // two products, causal half
    const double io = s_.tokens * (s_.qkv_width() + s_.q_width()) * kActivation;
    if (is_forward) {
      out_.push_back({"attention_core", KernelClass::kAttentionForward, forward_flops, io, 0});
    } else {
      out_.push_back({"attention_core", KernelClass::kAttentionBackward, kFlashBackward * forward_flops, 2 * io, 0});
    }
  }

  // Scores are written and read again by every kernel: products, masked softmax, dropout.
  void unfused_core(bool is_forward) {
    const double scores = s_.tokens * s_.sequence * s_.rank_heads;
    const double square = 2 * scores * s_.head_dim;  // flops of one product
    const double operands = 2 * s_.tokens * s_.q_width() * kActivation;
    const auto product = [&](const char* name, double inner) {
      out_.push_back({name, KernelClass::kGemm, square, operands + scores * kActivation, inner});
    };
    const auto pass = [&](const char* name, double passes, double mask) {
      out_.push_back(memory_kernel(name, scores * (passes * kActivation + mask)));
    };
    const bool has_dropout = plan_.job.model.has_dropout;
    if (is_forward) {
      product("attention_scores", s_.head_dim);
      pass("softmax", 2, 0);
      if (has_dropout) pass("attention_dropout", 2, kDropoutMask);
      product("attention_context", s_.sequence);
      return;
    }
    product("attention_grad_scores", s_.head_dim);
    product("attention_grad_value", s_.sequence);
    if (has_dropout) pass("attention_dropout", 2, kDropoutMask);
    pass("softmax", 3, 0);
    product("attention_grad_query", s_.sequence);
    product("attention_grad_key", s_.sequence);
  }

  void mlp(bool is_forward) {
    const double branches = plan_.job.model.is_gated ? 2 : 1;
    norm(is_forward);
    input_projection("mlp_up", up_width(), is_forward);
    // Reads every branch, writes the product; backward reads both and the gradient, and writes every branch's gradient.
    memory("activation", s_.tokens * s_.rank_ffn, branches + 1, 2 * branches + 1, is_forward);
    projection("mlp_down", s_.rank_ffn, s_.hidden, is_forward);
    residual(is_forward);
  }

  void embedding(bool is_forward) {
    const double activations = s_.tokens * s_.hidden;
    if (is_forward) {
      memory("embedding", activations, 2, 0, true);
      return;
    }
    // A dense gradient: every row of the table is written, whichever tokens came.
    out_.push_back(memory_kernel("embedding", activations * kActivation + s_.rank_vocab * s_.hidden * s_.grad));
  }

  void head(bool is_forward) {
    norm(is_forward);
    input_projection("logits", s_.rank_vocab, is_forward);
    // Cross-entropy in 32 bits: cast (2 + 4), maximum (4), exponential and sum (4 + 4); backward reads the
    // probabilities (4) and writes 16-bit gradients (2).
    out_.push_back(memory_kernel("loss", s_.tokens * s_.rank_vocab * (is_forward ? 18 : 6)));
  }

  const TrainingPlan& plan_;
  Sizes s_;
  std::vector<KernelWork> out_;
};

}  // namespace

std::vector<KernelWork> part_kernels(const TrainingPlan& plan, ModelPart part, Direction direction) {
  return Builder(plan).build(part, direction);
}

std::vector<KernelWork> optimizer_kernels(const TrainingPlan& plan, std::int64_t parameters) {
  constexpr double state = 3 * 4;  // master weight and two moments, 32 bits
  const auto grad = static_cast<double>(bytes_per_element(plan.job.grad_dtype));
  const auto weight = static_cast<double>(bytes_per_element(plan.job.precision));
  return {memory_kernel("adam", static_cast<double>(parameters) * (2 * state + grad + weight))};
}

}  // namespace lockstep
