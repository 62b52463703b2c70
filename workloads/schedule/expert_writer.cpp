// SPDX-License-Identifier: Apache-2.0
// The operations of the feed-forward part of an expert layer (Lepikhin et al. 2020, GShard, arXiv 2006.16668; order and groups as Megatron
// Core's all-to-all dispatcher):
//
//   forward   router, shared expert -> tokens out -> experts -> tokens back -> combine
//   backward  the same from the end: two exchanges as well
//
// An exchange is an all_to_all among the ranks that share the experts, of tokens x top_k x hidden elements a rank, times expert_skew: nothing
// is dropped, and the busiest rank decides. Under sequence parallelism a rank sends its part of the tokens. Where experts are cut by tp
// (expert_tp = tp) the tokens of all partners are gathered before the experts and their sums scattered after them; without sequence parallelism
// partners hold the same tokens, and the sums are all-reduced at the end. A shared expert is cut by tp like a dense feed-forward part.
//
// overlap_shared_expert: the shared expert computes beside the way out, in backward beside the last exchange.
// overlap_expert_exchange: in passes that have another micro-batch's pass next to them (the steady state), compute goes on beside an exchange up to the
// next one. What hides an exchange is then the kernels of its own pass, standing for the equal ones of the other micro-batch (DualPipe: DeepSeek-V3,
// arXiv 2412.19437, section 3.2.1; Megatron Core, combined 1F1B): of n exchanges of a pass all but the last can be hidden, as far as kernels last.
// Not modelled: dispatch in 8 bits (tokens travel in those of activations), dropped tokens, devices that tokens are limited to.
#include "workloads/schedule/slot_writer.h"

namespace lockstep {

void SlotWriter::experts_forward(const Unit& unit) {
  const bool has_shared = plan_.job.model.moe->shared_ffn > 0;
  const bool cuts_sequence = plan_.job.sequence_parallel;
  use_updates(unit, ModelPart::kMoe);
  if (has_shared) enter_part();
  if (plan_.job.overlap_shared_expert) {
    compute(slice_kernel_id(ModelPart::kMoe, OverlapSlice::kEntry, true));
    settle_exchange();
    push_exchange();
    push_kernel(slice_kernel_id(ModelPart::kMoe, OverlapSlice::kMiddle, true));
    settle_exchange();
  } else {
    compute(ModelPart::kMoe, true);
    exchange_tokens(unit);
  }
  if (has_shared && cuts_sequence) leave_part();
  use_updates(unit, ModelPart::kExperts);
  compute_experts(true);
  exchange_tokens(unit);
  compute(ModelPart::kCombine, true);
  if (!cuts_sequence) leave_part();
}

void SlotWriter::experts_backward(const Unit& unit) {
  const bool has_shared = plan_.job.model.moe->shared_ffn > 0;
  compute(ModelPart::kCombine, false);
  exchange_tokens(unit);
  compute_experts(false);
  reduce_ready(unit, ModelPart::kExperts);
  if (has_shared) {
    enter_part();    // the gradient of what the shared expert left
    gather_saved();  // its input
  }
  if (plan_.job.overlap_shared_expert) {
    settle_exchange();
    push_exchange();
    compute(slice_kernel_id(ModelPart::kMoe, OverlapSlice::kMiddle, false));
    settle_exchange();
    compute(slice_kernel_id(ModelPart::kMoe, OverlapSlice::kEntry, false));
  } else {
    exchange_tokens(unit);
    compute(ModelPart::kMoe, false);
  }
  if (has_shared || !plan_.job.sequence_parallel) leave_part();
  reduce_ready(unit, ModelPart::kMoe);
}

void SlotWriter::compute_experts(bool is_forward) {
  const bool is_cut = plan_.expert_tp() > 1 && plan_.job.sequence_parallel;
  if (is_cut) tp_collective(CollectiveKind::kAllGather, program_.messages_.expert_input);
  compute(ModelPart::kExperts, is_forward);
  if (is_cut) tp_collective(CollectiveKind::kReduceScatter, program_.messages_.expert_input);
}

// After everything computed and summed so far.
void SlotWriter::push_exchange() {
  if (plan_.ep() == 1) return;
  if (plan_.tp() > 1) wait_all(Stream::kEp, Stream::kTp);
  wait_all(Stream::kEp, Stream::kCompute);
  collective(Stream::kEp, CommFamily::kEp, CollectiveKind::kAllToAll, program_.messages_.tokens);
  scratch(kExchange) = pushed(Stream::kEp);
}

void SlotWriter::exchange_tokens(const Unit& unit) {
  settle_exchange();
  push_exchange();
  if (!has_partner(unit)) settle_exchange();
}

void SlotWriter::settle_exchange() {
  if (scratch(kExchange) == scratch(kExchangeSeen)) return;
  wait(Stream::kCompute, Stream::kEp, scratch(kExchange));
  scratch(kExchangeSeen) = scratch(kExchange);
}

// Whether the pass before or after is one of another micro-batch in the other direction.
bool SlotWriter::has_partner(const Unit& unit) const {
  if (!plan_.job.overlap_expert_exchange) return false;
  const std::int64_t here = cursor_.scratch[kAction];
  for (const std::int64_t other : {here - 1, here + 1}) {
    if (other < 0 || other >= action_total()) continue;
    const PipelineAction action = action_at(other);
    if (action.pass != Pass::kWeight && action.is_forward() != unit.action.is_forward() &&
        action.micro_batch != unit.action.micro_batch)
      return true;
  }
  return false;
}

}  // namespace lockstep
