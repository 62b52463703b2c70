// SPDX-License-Identifier: Apache-2.0
#include "workloads/kernels/kernel_list.h"

#include <cmath>

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

bool converts(DataType type) { return type == DataType::kFp8 || type == DataType::kMxfp8 || type == DataType::kNvfp4; }

}  // namespace

RankSizes::RankSizes(const TrainingPlan& p)
    : tokens(static_cast<double>(p.micro_batch_tokens())),
      sequence(static_cast<double>(p.job.seq_len)),
      queries(tokens / static_cast<double>(p.job.micro_batch)),
      hidden(static_cast<double>(p.job.model.hidden)),
      head_dim(static_cast<double>(p.job.model.head_dim)),
      rank_heads(static_cast<double>(ceil_div(p.job.model.heads, p.tp()))),
      rank_kv_heads(static_cast<double>(ceil_div(p.job.model.kv_heads, p.tp()))),
      rank_ffn(static_cast<double>(ceil_div(p.job.model.ffn, p.tp()))),
      rank_vocab(8 * static_cast<double>(ceil_div(ceil_div(p.job.model.vocab, p.tp()), std::int64_t{8}))),
      value(static_cast<double>(bytes_per_element(p.job.precision))),
      grad(static_cast<double>(bytes_per_element(p.job.grad_dtype))),
      norm_tokens(tokens / (p.job.sequence_parallel ? static_cast<double>(p.tp()) : 1.0)) {}

bool KernelList::is_weight_gradient_apart(const Projection& p) const {
  return plan_.splits_passes() || (p.is_entry && plan_.splits_backward());
}

KernelWork KernelList::work_of(const Projection& p, const GemmShape& s) {
  return p.is_quantised ? linear(p.name, s) : gemm(p.name, s);
}

// Tensor-parallel ones, which the host starts too: the sum of the part's output, or of the gradient of its input; with sequence
// parallelism also the gathering before.
double KernelList::collectives(const Projection& p) const {
  if (plan_.tp() == 1) return 0;
  const bool sums = is_forward() ? p.is_exit : p.is_entry;
  const bool gathers = plan_.job.sequence_parallel && (is_forward() ? p.is_entry : p.is_exit);
  return (sums ? 1 : 0) + (gathers ? 1 : 0);
}

void KernelList::set_part(ModelPart part) {
  const bool is_adapted = plan_.trains_adapters() && plan_.job.lora->adapts(part);
  adapter_rank_ = is_adapted ? static_cast<double>(plan_.job.lora->rank) : 0;
}

void KernelList::quantise(const Projection& p, double elements) {
  const DataType type = plan_.job.precision;
  if (!p.is_quantised || !converts(type)) return;
  const double reads = type == DataType::kMxfp8 ? 2 : 4;
  const double copies = plan_.trains_adapters() ? 1 : 2;
  add(memory_kernel("quantise", elements * (reads + copies * operand_bytes(type))));
}

void KernelList::product(const Projection& p) {
  const double in = p.is_quantised ? operand_bytes(plan_.job.precision) : sizes_.value;
  if (direction_ == Direction::kForward) {
    quantise(p, p.batch * p.m * p.k);
    KernelWork work = work_of(p, {.m = p.m, .n = p.n, .k = p.k, .in = in, .out = sizes_.value, .batch = p.batch});
    work.operations += collectives(p);
    add(work);
  } else if (direction_ == Direction::kBackward) {
    quantise(p, p.batch * p.m * p.n);
    KernelWork work = work_of(p, {.m = p.m, .n = p.k, .k = p.n, .in = in, .out = sizes_.value, .batch = p.batch});
    work.operations += collectives(p);
    add(work);
  }
  if (!is_forward() && !plan_.trains_adapters()) weight_gradient(p, in);
  if (adapter_rank_ > 0) adapter(p);
}

void KernelList::weight_gradient(const Projection& p, double in) {
  if (is_weight_gradient_apart(p) != (direction_ == Direction::kWeightGradient)) return;
  // What FSDP adds up is a shard, once it is reduced.
  const bool is_fused = choice_.fuses_accumulation || plan_.micro_batches == 1 || plan_.job.strategy == Strategy::kFsdp;
  const double out = is_fused ? 2 * sizes_.grad : sizes_.value;
  KernelWork work = work_of(p, {.m = p.k, .n = p.n, .k = p.m, .in = in, .out = out, .batch = p.batch});
  work.operations = 2;  // and is added to what other micro-batches left
  const double weights = p.batch * p.k * p.n;
  work.exposed_bytes = weights * (out - sizes_.value);
  add(work);
  if (is_fused) return;
  KernelWork sum = memory_kernel("accumulate", weights * (sizes_.value + 2 * sizes_.grad));
  sum.operations = 0;  // counted with the product
  add(sum);
}

// Tensor parallelism cuts what A makes before a projection cut by its output, and what B makes after one cut by its input.
void KernelList::adapter(const Projection& p) {
  if (direction_ == Direction::kWeightGradient) return;
  const auto tp = static_cast<double>(p.is_cut ? plan_.tp() : 1);
  const double rank = p.is_exit ? adapter_rank_ : std::ceil(adapter_rank_ / tp);
  const double out = p.is_exit ? std::ceil(p.n / tp) : p.n;
  const auto narrow = [&](const char* name, const GemmShape& shape, double operations) {
    KernelWork work = gemm(name, shape);
    work.operations = operations;
    add(work);
  };
  const double value = sizes_.value;
  const double grad = 2 * sizes_.grad;  // read and written
  const double collective = tp > 1 ? 1 : 0;
  const double sums = collective + (p.is_exit ? collective : 0);
  if (is_forward()) {
    narrow("lora_a", {.m = p.m, .n = rank, .k = p.k, .in = value, .out = value}, 1 + sums);
    narrow("lora_b", {.m = p.m, .n = out, .k = adapter_rank_, .in = value, .out = value}, 1);
    return pointwise("lora_sum", p.m * out, {3, 0}, {5, 0, 2});
  }
  memory("lora_scale", p.m * out, 0, 2);
  narrow("lora_b_grad", {.m = adapter_rank_, .n = out, .k = p.m, .in = value, .out = grad}, 2);
  narrow("lora_b_input_grad", {.m = p.m, .n = adapter_rank_, .k = out, .in = value, .out = value}, 1 + sums);
  narrow("lora_a_grad", {.m = p.k, .n = rank, .k = p.m, .in = value, .out = grad}, 2);
  narrow("lora_a_input_grad", {.m = p.m, .n = p.k, .k = rank, .in = value, .out = value}, 1);
  memory("lora_sum", p.m * p.k, 0, 3);
}

void KernelList::memory(const char* name, double elements, double forward_passes, double backward_passes, double operations) {
  if (direction_ == Direction::kWeightGradient) return;
  KernelWork work = memory_kernel(name, elements * sizes_.value * (is_forward() ? forward_passes : backward_passes));
  work.operations = operations;
  add(work);
}

void KernelList::pointwise(const char* name, double elements, Passes fused, Passes eager) {
  const Passes& p = choice_.fuses_pointwise ? fused : eager;
  memory(name, elements, p.forward, p.backward, p.operations);
}

// RMSNorm in eager operations: in 32 bits the square, its mean, the root, the product, back to 16 bits, the weight.
void KernelList::norm() {
  const double elements = sizes_.norm_tokens * sizes_.hidden;
  if (model().norm != NormKind::kRms) return memory("norm", elements, 2, 3);
  pointwise("norm", elements, {2, 3}, {12, 20, 6});
}

void KernelList::residual() {
  const bool has_dropout = model().has_dropout;
  const double elements = sizes_.norm_tokens * sizes_.hidden;
  const double biases = model().has_linear_biases ? 1 : 0;
  const double drops = has_dropout ? 1 : 0;
  // Backward the gradients of both branches are added up, and dropout's and the sum over tokens for the bias are kernels of their own.
  const double backward = 3 + biases + 2 * drops;
  // Eager: the bias, dropout and the sum one by one.
  pointwise("residual", elements, {3, backward}, {3 + 2 * biases + 2 * drops, backward, 1 + biases + drops});
  if (!has_dropout || direction_ == Direction::kWeightGradient) return;
  KernelWork mask = memory_kernel("dropout_mask", elements * kDropoutMask);
  mask.operations = 0;  // moved by the same kernel
  add(mask);
}

}  // namespace lockstep
