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
    out.add({"attention_core", KernelClass::kAttentionForward, forward_flops, io, 0});
  } else {
    out.add({"attention_core", KernelClass::kAttentionBackward, kFlashBackward * forward_flops, 2 * io, 0});
  }
}

// Scores are written and read again by every kernel: products, masked softmax, dropout.
void unfused_core(KernelList& out, bool is_forward) {
  const RankSizes& s = out.sizes();
  const CoreWidths w = core_widths(out);
  const double scores = s.tokens * s.sequence * s.rank_heads;
  const auto product = [&](const char* name, double width, double inner) {
    const double operands = 2 * s.tokens * width * s.value;
    out.add({name, KernelClass::kGemm, 2 * s.tokens * s.sequence * width, operands + scores * s.value, inner});
  };
  const auto pass = [&](const char* name, double passes, double mask) {
    out.add(memory_kernel(name, scores * (passes * s.value + mask)));
  };
  const bool has_dropout = out.model().has_dropout;
  if (is_forward) {
    product("attention_scores", w.query_key, w.query_key / s.rank_heads);
    pass("softmax", 2, 0);
    if (has_dropout) pass("attention_dropout", 2, kDropoutMask);
    product("attention_context", w.value, s.sequence);
    return;
  }
  product("attention_grad_scores", w.value, w.value / s.rank_heads);
  product("attention_grad_value", w.value, s.sequence);
  if (has_dropout) pass("attention_dropout", 2, kDropoutMask);
  pass("softmax", 3, 0);
  product("attention_grad_query", w.query_key, s.sequence);
  product("attention_grad_key", w.query_key, s.sequence);
}

void core(KernelList& out, bool is_forward) {
  if (out.plan().job.attention == AttentionKernel::kUnfused) {
    unfused_core(out, is_forward);
  } else {
    fused_core(out, is_forward);
  }
}

void latent_products(KernelList& out, const MlaSpec& mla) {
  const RankSizes& s = out.sizes();
  const auto size = [](std::int64_t v) { return static_cast<double>(v); };
  const double q_width = s.rank_heads * size(mla.nope_dim + mla.rope_dim);
  const double kv_width = s.rank_heads * size(mla.nope_dim + mla.v_dim);
  out.set_slice(PartSlice::kEntry);
  if (mla.q_rank > 0) {
    out.product({.name = "q_down", .m = s.norm_tokens, .n = size(mla.q_rank), .k = s.hidden, .is_entry = true});
  } else {
    out.product({.name = "q", .m = s.tokens, .n = q_width, .k = s.hidden, .is_entry = true});
  }
  out.product({.name = "kv_down", .m = s.norm_tokens, .n = size(mla.kv_rank + mla.rope_dim), .k = s.hidden, .is_entry = true});
  out.set_slice(PartSlice::kMiddle);
  out.memory("latent_norm", s.norm_tokens * size(mla.q_rank + mla.kv_rank), 2, 3);
  if (mla.q_rank > 0) out.product({.name = "q_up", .m = s.tokens, .n = q_width, .k = size(mla.q_rank)});
  out.product({.name = "kv_up", .m = s.tokens, .n = kv_width, .k = size(mla.kv_rank)});
  // Rotation of the rotary halves, and the copies that put k together from what heads share and what they do not.
  out.memory("rotary", s.tokens * (q_width + q_width), 2, 2);
}

}  // namespace

void attention_kernels(KernelList& out) {
  const RankSizes& s = out.sizes();
  const auto& mla = out.model().mla;
  out.norm();
  if (mla) {
    latent_products(out, *mla);
  } else {
    out.set_slice(PartSlice::kEntry);
    out.product({.name = "qkv", .m = s.tokens, .n = s.qkv_width(), .k = s.hidden, .is_entry = true});
    out.set_slice(PartSlice::kMiddle);
    if (out.model().has_qk_norm) out.memory("qk_norm", s.tokens * (s.rank_heads + s.rank_kv_heads) * s.head_dim, 2, 3);
    if (out.model().positions == PositionKind::kRotary) {
      out.memory("rotary", s.tokens * (s.rank_heads + s.rank_kv_heads) * s.head_dim, 2, 2);
    }
  }
  if (out.is_backward()) {
    if (out.plan().job.recompute == Recompute::kSelective) core(out, true);
    core(out, false);
  } else if (out.is_forward()) {
    core(out, true);
  }
  out.set_slice(PartSlice::kExit);
  out.product({.name = "attention_output", .m = s.tokens, .n = s.hidden, .k = core_widths(out).value});
  out.set_slice(PartSlice::kMiddle);
  out.residual();
}

}  // namespace lockstep
