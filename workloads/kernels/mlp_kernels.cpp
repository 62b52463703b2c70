// SPDX-License-Identifier: Apache-2.0
// The feed-forward part of a layer: dense, or routed to experts.
//
// A rank routes its tokens, those of its part of the sequence under sequence parallelism. It sends top_k copies of each and, routing being
// balanced, receives as many; the busiest rank receives expert_skew times that, and everybody waits for it, so every rank computes as
// much. Experts that are cut by tp (expert_tp = tp) compute what all partners have received, gathered; without sequence parallelism
// partners hold the same tokens, and there is nothing to gather. Permuting tokens by expert moves every copy once in and once out, at the
// sender and, where a rank holds several experts, at the receiver (workloads/schedule/expert_writer.cpp).
// Not modelled: tokens dropped or padded by capacity factors.
#include "workloads/kernels/kernel_list.h"

#include <cmath>

#include "base/wide.h"

namespace lockstep {
namespace {

constexpr double kBackwardHost = 1.5;  // of forward's

double as_double(std::int64_t v) { return static_cast<double>(v); }

double branches(const KernelList& out) { return out.model().is_gated ? 2 : 1; }

// Up (and gate) projection, activation, down projection of width `ffn`, over `batch` networks of m rows each.
struct FeedForward {
  const char* up = "";
  const char* activation = "";
  const char* down = "";
  double m = 0;
  double ffn = 0;
  double batch = 1;
  bool is_dense = false;
};

void feed_forward(KernelList& out, const FeedForward& f) {
  const double hidden = out.sizes().hidden;
  const double b = branches(out);
  out.product({.name = f.up, .m = f.m, .n = b * f.ffn, .k = hidden, .batch = f.batch, .is_entry = f.is_dense});
  // Reads every branch, writes the product; backward reads both and the gradient, and writes every branch's gradient. Eager: gated, the
  // function of the gate, then the product; plain, the bias, then the function.
  const double biases = out.model().has_linear_biases ? 1 : 0;
  const double eager = out.model().is_gated ? 2 : 1 + biases;
  out.pointwise(f.activation, f.batch * f.m * f.ffn, {b + 1, 2 * b + 1},
                {out.model().is_gated ? 5 : 2 + 2 * biases, 3 * eager + 2, eager});
  out.product({.name = f.down, .m = f.m, .n = hidden, .k = f.ffn, .batch = f.batch, .is_exit = f.is_dense});
}

double routed_tokens(const KernelList& out) { return as_double(out.plan().own_tokens()); }

// Copies of tokens that a rank sends to experts.
double copies(const KernelList& out) { return routed_tokens(out) * as_double(out.model().moe->top_k); }

// Copies that the experts of a rank compute.
double received(const KernelList& out) {
  const JobSpec& job = out.plan().job;
  const std::int64_t partners = job.sequence_parallel ? job.expert_tp : 1;
  return copies(out) * job.expert_skew * as_double(partners);
}

// Biases of experts as Megatron-LM adds them (TEGroupedMLP; passes and operations counted from memory). That of the projection up is added by its
// product, and its gradient is a sum per expert. That of the projection down goes expert by expert: the bias times the probability of a token
// in 32 bits (4 bytes a value), the sum with the product (2 + 4 + 4), all experts joined (4 + 4), and back to 16 bits (4 + 2). Backward the
// gradient in 32 bits (2 + 4), in 16 bits (4 + 2), and two products with their sums, of the bias and of the probabilities (2 x 12).
void expert_biases(KernelList& out, double rows, double experts) {
  const TransformerSpec& m = out.model();
  if (!m.has_linear_biases && !m.has_mlp_biases) return;
  const double up = branches(out) * as_double(ceil_div(m.moe->ffn, out.plan().job.expert_tp));
  out.memory("experts_up_bias", rows * up, 0, 1, out.is_forward() ? 0 : experts);
  out.memory("experts_down_bias", rows * out.sizes().hidden, 12, 18, out.is_forward() ? 2 * experts + 2 : 5 * experts + 2);
}

std::int64_t experts_of_rank(const KernelList& out) { return ceil_div(out.model().moe->experts, out.plan().job.ep); }

}  // namespace

void mlp_kernels(KernelList& out) {
  if (!out.model().has_one_norm) out.norm();
  feed_forward(out, {.up = "mlp_up",
                     .activation = "activation",
                     .down = "mlp_down",
                     .m = out.sizes().tokens,
                     .ffn = out.sizes().rank_ffn,
                     .is_dense = true});
  out.residual();
}

void router_kernels(KernelList& out) {
  if (!out.model().moe) return;
  const MoeSpec& moe = *out.model().moe;
  const RankSizes& s = out.sizes();
  const double tokens = routed_tokens(out);
  out.norm();
  out.product({.name = "router", .m = tokens, .n = as_double(moe.experts), .k = s.hidden, .is_quantised = false});
  // Scores in 32 bits: softmax or sigmoid, top-k, mask and map of the chosen.
  constexpr double kScorePasses = 2 * 6;  // in 16-bit values
  out.memory("top_k", tokens * as_double(moe.experts), kScorePasses, kScorePasses, 6);
  out.memory("permute", copies(out) * s.hidden, 2, 2, 2);
  if (moe.shared_ffn == 0) return;
  feed_forward(out, {.up = "shared_up",
                     .activation = "shared_activation",
                     .down = "shared_down",
                     .m = s.tokens,
                     .ffn = as_double(ceil_div(moe.shared_ffn, out.plan().tp())),
                     .is_dense = true});
}

void expert_kernels(KernelList& out) {
  if (!out.model().moe) return;
  const MoeSpec& moe = *out.model().moe;
  const JobSpec& job = out.plan().job;
  const double experts = as_double(experts_of_rank(out));
  // Tokens of an expert are padded to whole tiles of 16 rows, as Transformer Engine does for 8-bit products.
  const double rows_of_expert = as_double(16 * static_cast<std::int64_t>(std::ceil(received(out) / experts / 16)));
  const double rows = rows_of_expert * experts;
  if (out.is_forward() || out.is_backward()) {
    const double host = out.is_forward() ? 1.0 : kBackwardHost;
    out.add({.name = "counts", .operations = 0, .expert_parts = host, .expert_launches = host * experts});
  }
  if (experts > 1 && job.ep > 1) out.memory("sort_by_expert", rows * out.sizes().hidden, 4, 4);  // and back
  feed_forward(out, {.up = "experts_up",
                     .activation = "experts_activation",
                     .down = "experts_down",
                     .m = rows_of_expert,
                     .ffn = as_double(ceil_div(moe.ffn, job.expert_tp)),
                     .batch = experts});
  expert_biases(out, rows, experts);
}

void combine_kernels(KernelList& out) {
  if (!out.model().moe) return;
  const RankSizes& s = out.sizes();
  // Every copy is read, weighted and added to its token; backward writes a gradient for every copy.
  out.memory("unpermute", copies(out) * s.hidden + routed_tokens(out) * s.hidden, 1, 1, 2);
  out.residual();
}

}  // namespace lockstep
