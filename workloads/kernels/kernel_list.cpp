// SPDX-License-Identifier: Apache-2.0
#include "workloads/kernels/kernel_list.h"

#include "base/wide.h"

namespace lockstep {
namespace {

constexpr double kDropoutMask = 1;  // bytes

// Bytes of an operand of a product with weights.
double operand_bytes(DataType type) {
  switch (type) {
    case DataType::kBf16:
    case DataType::kFp16:
      return 2;
    case DataType::kFp32:
      return 4;
    case DataType::kFp8:
      return 1;
    case DataType::kMxfp8:
      return 1 + 1.0 / 32;
    case DataType::kNvfp4:
      return 0.5 + 1.0 / 16;
  }
  return 2;
}

bool converts(DataType type) {
  return type == DataType::kFp8 || type == DataType::kMxfp8 || type == DataType::kNvfp4;
}

}  // namespace

RankSizes::RankSizes(const TrainingPlan& p)
    : tokens(static_cast<double>(p.micro_batch_tokens())),
      sequence(static_cast<double>(p.job.seq_len)),
      hidden(static_cast<double>(p.job.model.hidden)),
      head_dim(static_cast<double>(p.job.model.head_dim)),
      rank_heads(static_cast<double>(ceil_div(p.job.model.heads, p.tp()))),
      rank_kv_heads(static_cast<double>(ceil_div(p.job.model.kv_heads, p.tp()))),
      rank_ffn(static_cast<double>(ceil_div(p.job.model.ffn, p.tp()))),
      rank_vocab(static_cast<double>(ceil_div(p.job.model.vocab, p.tp()))),
      value(static_cast<double>(bytes_per_element(p.job.precision))),
      grad(static_cast<double>(bytes_per_element(p.job.grad_dtype))),
      norm_tokens(tokens / (p.job.sequence_parallel ? static_cast<double>(p.tp()) : 1.0)) {}

void KernelList::add(KernelWork work) {
  work.slice = slice_;
  works_.push_back(work);
}

bool KernelList::is_weight_gradient_apart(const Projection& p) const { return p.is_entry && plan_.splits_backward(); }

KernelWork KernelList::work_of(const Projection& p, const GemmShape& s) const {
  KernelWork work = p.is_quantised ? linear(p.name, s) : gemm(p.name, s);
  work.flops *= p.batch;
  work.bytes *= p.batch;
  return work;
}

void KernelList::quantise(const Projection& p, double elements) {
  const DataType type = plan_.job.precision;
  if (!p.is_quantised || !converts(type)) return;
  const double reads = type == DataType::kMxfp8 ? 2 : 4;
  add(memory_kernel("quantise", elements * (reads + 2 * operand_bytes(type))));
}

void KernelList::product(const Projection& p) {
  const double in = p.is_quantised ? operand_bytes(plan_.job.precision) : sizes_.value;
  if (direction_ == Direction::kForward) {
    quantise(p, p.batch * p.m * p.k);
    add(work_of(p, {.m = p.m, .n = p.n, .k = p.k, .in = in, .out = sizes_.value}));
    return;
  }
  const bool is_apart = is_weight_gradient_apart(p);
  if (direction_ == Direction::kBackward) {
    quantise(p, p.batch * p.m * p.n);
    add(work_of(p, {.m = p.m, .n = p.k, .k = p.n, .in = in, .out = sizes_.value}));
  }
  if (is_apart == (direction_ == Direction::kWeightGradient)) {
    add(work_of(p, {.m = p.k, .n = p.n, .k = p.m, .in = in, .out = 2 * sizes_.grad}));
  }
}

void KernelList::memory(const char* name, double elements, double forward_passes, double backward_passes) {
  if (direction_ == Direction::kWeightGradient) return;
  add(memory_kernel(name, elements * sizes_.value * (is_forward() ? forward_passes : backward_passes)));
}

void KernelList::residual() {
  memory("residual", sizes_.norm_tokens * sizes_.hidden, 3, 3);
  if (model().has_dropout && direction_ != Direction::kWeightGradient) {
    add(memory_kernel("dropout_mask", sizes_.norm_tokens * sizes_.hidden * kDropoutMask));
  }
}

}  // namespace lockstep
