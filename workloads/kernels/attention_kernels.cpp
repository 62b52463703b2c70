// SPDX-License-Identifier: Apache-2.0
// The attention part of a layer. Latent attention (MLA) squeezes q and k/v through narrow vectors: the products that make them are the
// same on every rank and see its part of the sequence; the ones that unfold them are cut by heads.
#include "workloads/kernels/kernel_list.h"

namespace lockstep {
namespace {

constexpr double kDropoutMask = 1;      // bytes
constexpr double kFlashBackward = 2.5;  // flops of a fused core's backward over its forward

// Widths of all heads of a rank.
struct CoreWidths {
  double query_key = 0;  // of the inner products of scores
  double value = 0;
  double operands = 0;  // q, k and v together
};

CoreWidths core_widths(const KernelList& out) {
  const RankSizes& s = out.sizes();
  if (const auto& mla = out.model().mla) {
    const double query_key = s.rank_heads * static_cast<double>(mla->nope_dim + mla->rope_dim);
    const double value = s.rank_heads * static_cast<double>(mla->v_dim);
    return {.query_key = query_key, .value = value, .operands = 2 * query_key + value};
  }
  return {.query_key = s.q_width(), .value = s.q_width(), .operands = s.qkv_width()};
}

void fused_core(KernelList& out, bool is_forward) {
  const RankSizes& s = out.sizes();
  const CoreWidths w = core_widths(out);
  const double forward_flops = s.tokens * s.sequence * (w.query_key + w.value);  // two products, causal half
  const double io = s.tokens * (w.operands + w.value) * s.value;
  if (is_forward) {
    out.add({.name = "attention_core",
             .kind = KernelClass::kAttentionForward,
             .flops = forward_flops,
             .bytes = io,
             .operations = 3});
  } else {
    out.add({.name = "attention_core",
             .kind = KernelClass::kAttentionBackward,
             .flops = kFlashBackward * forward_flops,
             .bytes = 2 * io,
             .operations = 3});
  }
}

// The kernel of Megatron-LM that scales, masks and normalises at once: from 17 tokens up to what the release allows, and only where
// lengths and rows fall into fours (megatron/model/fused_softmax.py).
bool has_fused_softmax(const KernelList& out) {
  const TrainingPlan& plan = out.plan();
  const std::int64_t rows = plan.job.micro_batch * static_cast<std::int64_t>(out.sizes().rank_heads);
  return out.sizes().sequence <= out.choice().fused_softmax_limit && plan.job.seq_len > 16 && plan.job.seq_len % 4 == 0 &&
         rows % 4 == 0;
}

// Scores are written and read again by every kernel: products, masked softmax, dropout. Products are batches over heads and sequences.
class UnfusedCore {
 public:
  explicit UnfusedCore(KernelList& out) : out_(out), widths_(core_widths(out)) {}

  void forward() {
    product("attention_scores", s().sequence, widths_.query_key / s().rank_heads, 2);
    // The bias is copied to every row; the product adds to what is there, and so reads it.
    if (out_.model().positions == PositionKind::kAlibi) pass("alibi", 2, 0, 1);
    softmax(2, kUnfusedSoftmax);
    dropout();
    product("attention_context", widths_.value / s().rank_heads, s().sequence, 2);
    copies(widths_.value);
  }
  void backward() {
    const double head = widths_.value / s().rank_heads;
    const double key = widths_.query_key / s().rank_heads;
    product("attention_grad_scores", s().sequence, head, 1);
    product("attention_grad_value", head, s().sequence, 1);
    dropout();
    softmax(3, kUnfusedSoftmax);
    product("attention_grad_query", key, s().sequence, 1);
    product("attention_grad_key", key, s().sequence, 1);
    copies(widths_.operands + widths_.value);
  }

 private:
  // Passes over 16-bit scores without the fused kernel: scaled, masked (and the mask read), to 32 bits, normalised there, back to 16.
  static constexpr double kUnfusedSoftmax = 12;

  [[nodiscard]] const RankSizes& s() const { return out_.sizes(); }
  [[nodiscard]] double scores() const { return s().tokens * s().sequence * s().rank_heads; }

  void product(const char* name, double n, double k, double operations) {
    KernelWork work = gemm(name, {.m = s().queries,
                                  .n = n,
                                  .k = k,
                                  .in = s().value,
                                  .out = s().value,
                                  .batch = s().rank_heads * s().tokens / s().queries});
    work.operations = operations;
    out_.add(work);
  }
  void pass(const char* name, double passes, double mask, double operations) {
    KernelWork work = memory_kernel(name, scores() * (passes * s().value + mask));
    work.operations = operations;
    out_.add(work);
  }
  void softmax(double fused, double unfused) {
    const bool is_fused = has_fused_softmax(out_);
    pass("softmax", is_fused ? fused : unfused, 0, is_fused ? 1 : 5);
  }
  void dropout() {
    if (out_.model().has_dropout) pass("attention_dropout", 2, kDropoutMask, 1);
  }

  // Heads come side by side again, which writes what was read: the context forward, the gradients of it and of q, k and v backward.
  void copies(double width) {
    KernelWork work = memory_kernel("attention_copies", 2 * s().tokens * width * s().value);
    work.operations = 0;
    out_.add(work);
  }

  KernelList& out_;
  CoreWidths widths_;
};

void core(KernelList& out, bool is_forward) {
  if (out.plan().job.attention == AttentionKernel::kUnfused) {
    UnfusedCore unfused(out);
    is_forward ? unfused.forward() : unfused.backward();
  } else {
    fused_core(out, is_forward);
  }
}

void latent_products(KernelList& out, const MlaSpec& mla) {
  const RankSizes& s = out.sizes();
  const auto size = [](std::int64_t v) { return static_cast<double>(v); };
  const double q_width = s.rank_heads * size(mla.nope_dim + mla.rope_dim);
  const double kv_width = s.rank_heads * size(mla.nope_dim + mla.v_dim);
  if (mla.q_rank > 0) {
    out.product(
        {.name = "q_down", .m = s.norm_tokens, .n = size(mla.q_rank), .k = s.hidden, .is_entry = true, .is_cut = false});
  } else {
    out.product({.name = "q", .m = s.tokens, .n = q_width, .k = s.hidden, .is_entry = true});
  }
  out.product({.name = "kv_down",
               .m = s.norm_tokens,
               .n = size(mla.kv_rank + mla.rope_dim),
               .k = s.hidden,
               .is_entry = true,
               .is_cut = false});
  out.memory("latent_norm", s.norm_tokens * size(mla.q_rank + mla.kv_rank), 2, 3);
  if (mla.q_rank > 0) out.product({.name = "q_up", .m = s.tokens, .n = q_width, .k = size(mla.q_rank)});
  out.product({.name = "kv_up", .m = s.tokens, .n = kv_width, .k = size(mla.kv_rank)});
  // Rotation of the rotary halves, and the copies that put k together from what heads share and what they do not.
  out.memory("rotary", s.tokens * (q_width + q_width), 2, 2);
}

// A layer is a unit of FSDP: its weights are allocated, gathered, viewed as tensors and freed, in backward its gradients copied, scattered
// and added up; operations of torch.distributed.fsdp 2.1, about.
void unit_of_weights(KernelList& out) {
  constexpr double kForward = 30;
  constexpr double kBackward = 40;
  if (out.plan().job.strategy != Strategy::kFsdp || (!out.is_forward() && !out.is_backward())) return;
  out.add({.name = "fsdp_unit", .operations = out.is_forward() ? kForward : kBackward, .is_host_only = true});
}

}  // namespace

void attention_kernels(KernelList& out) {
  const RankSizes& s = out.sizes();
  const auto& mla = out.model().mla;
  unit_of_weights(out);
  out.norm();
  if (mla) {
    latent_products(out, *mla);
  } else {
    out.product({.name = "qkv", .m = s.tokens, .n = s.qkv_width(), .k = s.hidden, .is_entry = true});
    const double heads = s.tokens * (s.rank_heads + s.rank_kv_heads) * s.head_dim;
    if (out.model().has_qk_norm) out.pointwise("qk_norm", heads, {2, 3, 2}, {12, 20, 12});
    // Eager: halves swapped with a sign, two products, their sum, for q and for k.
    if (out.model().positions == PositionKind::kRotary) out.pointwise("rotary", heads, {2, 2}, {10, 10, 10});
  }
  if (out.is_backward()) {
    if (out.plan().job.recompute == Recompute::kSelective) core(out, true);
    core(out, false);
  } else if (out.is_forward()) {
    core(out, true);
  }
  out.product({.name = "attention_output", .m = s.tokens, .n = s.hidden, .k = core_widths(out).value, .is_exit = true});
  // Parallel parts are added up once, after the feed-forward part, which reads the output of this one too.
  if (!out.model().has_parallel_parts) return out.residual();
  out.memory("residual", s.norm_tokens * s.hidden, 1, 1, 0);
}

}  // namespace lockstep
