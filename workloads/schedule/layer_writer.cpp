// SPDX-License-Identifier: Apache-2.0
// The operations of a layer, part by part, with the collectives around and beside its kernels.
//
// Context parallelism (the ranks of a sequence hold equal parts of it, balanced under the causal mask: two pieces each, one from either end):
//   ring        keys and values of c - 1 others come past beside the attention core: as much as an all-gather along a ring moves,
//               2 b (s/c) (g d) bytes/element / t a hop. In backward they come past again together with their gradients. Where a hop
//               takes longer than the core of the tokens at hand the rest is exposed (Liu et al. 2023, arXiv 2310.01889; Megatron Core's p2p)
//   all_gather  of keys and values before the core; their gradients are reduce-scattered after it (Llama 3, arXiv 2407.21783, section 3.3.2)
//   all_to_all  q, k and v before the core, its output after it, heads for tokens; in backward the same four (Jacobs et al. 2023, DeepSpeed-
//               Ulysses, arXiv 2309.14509)
//
// Tensor parallelism in chunks (TpOverlap::kPipelined, with sequence parallelism): a collective runs in four chunks beside the matrix product
// that it feeds or that feeds it. One chunk is exposed, the others run beside just that product (Megatron Bridge, communication overlap;
// Transformer Engine's user buffers). Besides backward does what TpOverlap::kBackward does.
//
// Not modelled: a second gather of keys and values in the backward pass of all_gather; chunks that wait for single pieces of the product.
#include "workloads/schedule/slot_writer.h"

namespace lockstep {
namespace {

constexpr std::int64_t kChunks = 4;

}  // namespace

bool SlotWriter::has_experts(const Unit& unit) const {
  return unit.is_layer() && plan_.job.model.is_expert_layer(unit.chunk.layer(unit.index));
}

void SlotWriter::layer_forward(const Unit& unit) {
  use_updates(unit, ModelPart::kAttention);
  part_forward(ModelPart::kAttention);
  if (has_experts(unit)) return experts_forward(unit);
  use_updates(unit, ModelPart::kMlp);
  part_forward(ModelPart::kMlp);
}

void SlotWriter::layer_backward(const Unit& unit) {
  if (has_experts(unit)) {
    experts_backward(unit);
  } else {
    layer_part_backward(unit, ModelPart::kMlp);
  }
  layer_part_backward(unit, ModelPart::kAttention);
}

bool SlotWriter::is_sliced(ModelPart part) const {
  return plan_.pipelines_tp() || (part == ModelPart::kAttention && plan_.cp() > 1);
}

void SlotWriter::part_forward(ModelPart part) {
  if (is_sliced(part)) return sliced_part_forward(part);
  enter_part();
  compute(part, true);
  leave_part();
}

void SlotWriter::layer_part_backward(const Unit& unit, ModelPart part) {
  if (is_sliced(part)) {
    sliced_part_backward(part);
  } else {
    enter_part();  // the gradient of what the part left
    part_backward(part);
  }
  reduce_ready(unit, part);
}

void SlotWriter::sliced_part_forward(ModelPart part) {
  enter_beside(slice_kernel_id(part, OverlapSlice::kEntry, true));
  catch_up(Stream::kCompute, Stream::kTp, kTpSeenByCompute);
  middle(part, true);
  leave_beside(slice_kernel_id(part, OverlapSlice::kExit, true));
}

void SlotWriter::sliced_part_backward(ModelPart part) {
  enter_beside(slice_kernel_id(part, OverlapSlice::kExit, false));
  catch_up(Stream::kCompute, Stream::kTp, kTpSeenByCompute);
  const KernelId entry = slice_kernel_id(part, OverlapSlice::kEntry, false);
  if (!plan_.splits_backward()) {
    middle(part, false);
    gather_saved();
    compute(entry);
    leave_part();
    return;
  }
  enter_part();  // the saved norm output, beside the gradient of the input
  const std::int64_t gathered = pushed(Stream::kTp);
  middle(part, false);
  push_kernel(entry);
  leave_part();
  if (scratch(kTpSeenByCompute) < gathered) {
    wait(Stream::kCompute, Stream::kTp, gathered);
    scratch(kTpSeenByCompute) = gathered;
  }
  push_kernel(weight_gradient_kernel_id(part));
}

// The kernel that what the part enters with feeds.
void SlotWriter::enter_beside(KernelId kernel) {
  if (!plan_.pipelines_tp()) {
    enter_part();
    compute(kernel);
    return;
  }
  const std::int64_t first = program_.messages_.activations / kChunks;
  tp_collective(CollectiveKind::kAllGather, first);
  const std::int64_t exposed = pushed(Stream::kTp);
  tp_collective(CollectiveKind::kAllGather, program_.messages_.activations - first);
  wait(Stream::kCompute, Stream::kTp, exposed);
  scratch(kTpSeenByCompute) = exposed;
  push_kernel(kernel);
}

// The kernel that makes what the part leaves.
void SlotWriter::leave_beside(KernelId kernel) {
  if (!plan_.pipelines_tp()) {
    compute(kernel);
    leave_part();
    return;
  }
  const std::int64_t last = program_.messages_.activations / kChunks;
  tp_collective(CollectiveKind::kReduceScatter, program_.messages_.activations - last);
  push_kernel(kernel);
  tp_collective(CollectiveKind::kReduceScatter, last);
}

void SlotWriter::middle(ModelPart part, bool is_forward) {
  if (part == ModelPart::kAttention && plan_.cp() > 1) return exchange_context(is_forward);
  push_kernel(slice_kernel_id(part, OverlapSlice::kMiddle, is_forward));
}

void SlotWriter::cp_collective(CollectiveKind kind, std::int64_t bytes) {
  collective(Stream::kCp, CommFamily::kCp, kind, bytes);
}

void SlotWriter::exchange_context(bool is_forward) {
  const auto& m = program_.messages_;
  const auto core = [&] { push_kernel(slice_kernel_id(ModelPart::kAttention, OverlapSlice::kMiddle, is_forward)); };
  const auto heads_for_tokens = [&](std::initializer_list<std::int64_t> sizes) {
    wait_all(Stream::kCp, Stream::kCompute);
    for (const std::int64_t bytes : sizes) cp_collective(CollectiveKind::kAllToAll, bytes);
    wait_all(Stream::kCompute, Stream::kCp);
  };
  switch (plan_.job.cp_exchange) {
    case CpExchange::kRing:
      wait_all(Stream::kCp, Stream::kCompute);
      cp_collective(CollectiveKind::kAllGather, m.kv);
      if (!is_forward) cp_collective(CollectiveKind::kReduceScatter, m.kv);
      core();
      wait_all(Stream::kCompute, Stream::kCp);
      return;
    case CpExchange::kAllGather:
      if (!is_forward) core();
      wait_all(Stream::kCp, Stream::kCompute);
      cp_collective(is_forward ? CollectiveKind::kAllGather : CollectiveKind::kReduceScatter, m.kv);
      wait_all(Stream::kCompute, Stream::kCp);
      if (is_forward) core();
      return;
    case CpExchange::kAllToAll:
      if (is_forward) {
        heads_for_tokens({m.cp_query, m.cp_key, m.cp_value});
        core();
        heads_for_tokens({m.cp_output});
      } else {
        heads_for_tokens({m.cp_output});
        core();
        heads_for_tokens({m.cp_query, m.cp_key, m.cp_value});
      }
      return;
  }
}

}  // namespace lockstep
