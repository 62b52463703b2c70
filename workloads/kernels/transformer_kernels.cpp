// SPDX-License-Identifier: Apache-2.0
#include "workloads/kernels/transformer_kernels.h"

#include <algorithm>

#include "workloads/kernels/kernel_list.h"

namespace lockstep {
namespace {

// Operations that the host starts, counted from memory of Megatron-LM, about: the tokens of a micro-batch come to the GPU, are broadcast to tensor-parallel
// ranks and masked, then looked up, with their positions; the loss is a maximum, a mask, exponentials, sums, logarithms, one by one, and a
// mean over tokens and replicas.
constexpr double kBatchOperations = 24;
constexpr double kLossForward = 26;
constexpr double kLossBackward = 8;

void embedding_kernels(KernelList& out) {
  const RankSizes& s = out.sizes();
  const double activations = s.tokens * s.hidden;
  out.memory("embedding", activations, 2, 0, kBatchOperations);
  // A dense gradient: every row of the table is written, whichever tokens came.
  const bool is_here = out.plan().splits_passes() ? !out.is_forward() && !out.is_backward() : out.is_backward();
  if (is_here && !out.plan().trains_adapters()) {
    out.add(memory_kernel("embedding", activations * s.value + s.rank_vocab * s.hidden * s.grad));
  }
}

void add_loss(KernelList& out, double bytes, double operations) {
  KernelWork work = memory_kernel("loss", bytes);
  work.operations = operations;
  out.add(work);
}

void head_kernels(KernelList& out) {
  const RankSizes& s = out.sizes();
  out.norm();
  out.product({.name = "logits", .m = s.tokens, .n = s.rank_vocab, .k = s.hidden, .is_entry = true, .is_quantised = false});
  // Cross-entropy in 32 bits, fused: cast (2 + 4), maximum (4), exponential and sum (4 + 4); backward reads the probabilities (4) and writes
  // 16-bit gradients (2). Kernel by kernel it is more: see KernelChoice.
  const double bytes = s.tokens * s.rank_vocab * out.choice().loss_bytes;
  if (out.is_forward()) add_loss(out, bytes * 3 / 4, kLossForward);
  if (out.is_backward()) add_loss(out, bytes / 4, kLossBackward);
}

void add_part(KernelList& out, ModelPart part) {
  switch (part) {
    case ModelPart::kEmbedding:
      return embedding_kernels(out);
    case ModelPart::kAttention:
      return attention_kernels(out);
    case ModelPart::kMlp:
      return mlp_kernels(out);
    case ModelPart::kMoe:
      return router_kernels(out);
    case ModelPart::kExperts:
      return expert_kernels(out);
    case ModelPart::kCombine:
      return combine_kernels(out);
    case ModelPart::kHead:
      return head_kernels(out);
  }
}

}  // namespace

std::vector<KernelWork> part_kernels(const TrainingPlan& plan, ModelPart part, Direction direction,
                                     const KernelChoice& choice) {
  KernelList list(plan, direction, choice);
  list.set_part(part);
  add_part(list, part);
  std::vector<KernelWork> works = list.take();
  std::erase_if(works, [](const KernelWork& w) { return w.bytes <= 0 && w.expert_parts <= 0 && !w.is_host_only; });
  return works;
}

std::vector<KernelWork> optimizer_kernels(const TrainingPlan& plan, std::int64_t parameters) {
  constexpr double state = 3 * 4;  // master weight and two moments, 32 bits
  const auto grad = static_cast<double>(bytes_per_element(plan.job.grad_dtype));
  const auto weight = static_cast<double>(bytes_per_element(plan.job.precision));
  const double on_host = static_cast<double>(parameters) * plan.job.optimizer_offload.value;
  const double on_gpu = static_cast<double>(parameters) - on_host;
  KernelWork adam = memory_kernel("adam", on_gpu * (2 * state + grad + weight));
  adam.steps = 1;
  if (on_host <= 0) return {adam};
  const auto host_kernel = [](const char* name, KernelClass kind, double bytes) {
    return KernelWork{.name = name, .kind = kind, .bytes = bytes};
  };
  return {adam, host_kernel("gradients_to_host", KernelClass::kHostCopy, on_host * grad),
          host_kernel("adam_on_host", KernelClass::kHostMemory, on_host * (2 * state + grad + weight)),
          host_kernel("weights_from_host", KernelClass::kHostCopy, on_host * weight)};
}

}  // namespace lockstep
