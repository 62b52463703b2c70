// SPDX-License-Identifier: Apache-2.0
// Messages between the stages of a pipeline: where a pass begins with what another stage sends, and where what it ends with goes.
//
// Interleaved, the last stage sends on to the next chunk of the first. With an upward chunk nothing goes round: a V turns at the last
// stage without a message.
#include "base/check.h"
#include "workloads/schedule/slot_writer.h"

namespace lockstep {

bool SlotWriter::has_neighbour(std::int64_t stage_offset) const {
  const std::int64_t stage = std::int64_t{at_.pp} + stage_offset;
  return !has_upward_chunk(plan_.job.schedule) || (stage >= 0 && stage < plan_.pp());
}

// Megatron-LM's plain schedule does, its interleaved one does not; neither do the zero-bubble ones.
bool SlotWriter::waits_for_sends() const { return plan_.chunks() == 1 && !plan_.splits_passes(); }

bool SlotWriter::is_last_of_chunk(const PipelineAction& action) const {
  const bool is_half = is_bidirectional(plan_.job.schedule) && action.chunk == 0;
  return action.micro_batch == plan_.micro_batches / (is_half ? 2 : 1) - 1;
}

Op SlotWriter::message(OpKind kind, std::int64_t stage_offset) const {
  Coordinates peer = at_;
  const std::int64_t stage = std::int64_t{at_.pp} + stage_offset + plan_.pp();  // chunks wrap around the pipeline
  peer.pp = static_cast<std::uint32_t>(stage % plan_.pp());
  Op op;
  op.kind = kind;
  op.peer = plan_.layout.rank_of(peer);
  op.bytes = program_.messages_.pipeline;
  return op;
}

void SlotWriter::enter(const Unit& unit) {
  const bool is_start = unit.action.is_forward() ? unit.chunk.has_embedding : unit.chunk.has_head;
  const std::int64_t from = -heading(plan_.job.schedule, unit.action.pass, unit.action.chunk);
  if (is_start || !has_neighbour(from)) return;
  const Stream stream = from < 0 ? Stream::kPpRecvPrev : Stream::kPpRecvNext;
  // A stream of receives holds nothing else. What the neighbour sends before it, for a later pass, comes in first.
  const PipelineTable& table = program_.table_;
  const std::int64_t needed = table.is_empty() ? pushed(stream) + 1 : table.arrivals(at_.pp, scratch(kAction));
  while (pushed(stream) < needed) push(stream, message(OpKind::kRecv, from));
  wait(Stream::kCompute, stream, needed);
  if (plan_.scatters_messages()) tp_collective(CollectiveKind::kAllGather, program_.messages_.activations);
}

void SlotWriter::leave(const Unit& unit) {
  const bool is_end = unit.action.is_forward() ? unit.chunk.has_head : unit.chunk.has_embedding;
  const std::int64_t to = heading(plan_.job.schedule, unit.action.pass, unit.action.chunk);
  if (is_end || !has_neighbour(to)) return;
  const Stream stream = to > 0 ? Stream::kPpSendNext : Stream::kPpSendPrev;
  wait_all(stream, Stream::kCompute);
  if (plan_.tp() > 1) wait_all(stream, Stream::kTp);
  push(stream, message(OpKind::kSend, to));
  if (waits_for_sends()) wait_all(Stream::kCompute, stream);
}

// Of two copies: each sends the other its gradients, sharded if the optimizer is, and adds what comes; a ring all-reduce of two moves as much.
void SlotWriter::add_copies() {
  const bool is_near_start = 2 * std::int64_t{at_.pp} < plan_.pp();
  const Stream sends = is_near_start ? Stream::kPpSendNext : Stream::kPpSendPrev;
  const Stream receives = is_near_start ? Stream::kPpRecvNext : Stream::kPpRecvPrev;
  Coordinates mirror = at_;
  mirror.pp = static_cast<std::uint32_t>(plan_.pp()) - 1 - at_.pp;
  Op op;
  op.peer = plan_.layout.rank_of(mirror);
  op.bytes = stage_.copied_grads;
  wait_all(sends, Stream::kCompute);
  op.kind = OpKind::kSend;
  push(sends, op);
  op.kind = OpKind::kRecv;
  push(receives, op);
  wait_all(Stream::kCompute, receives);
}

}  // namespace lockstep
