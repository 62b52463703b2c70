// SPDX-License-Identifier: Apache-2.0
// Messages between the stages of a pipeline: where a pass begins with what another stage sends, and where what it ends with goes.
//
// A chunk runs forward from the first stage to the last, or the other way round if it is the upward one (the second of a V or of two
// copies); backward runs against it. A V turns at the last stage without a message.
#include "base/check.h"
#include "workloads/schedule/slot_writer.h"

namespace lockstep {

// Where the pass goes on to, as a distance in stages.
std::int64_t SlotWriter::stage_after(const Unit& unit) const {
  const bool runs_up = has_upward_chunk(plan_.job.schedule) && unit.action.chunk == 1;
  return unit.action.is_forward() != runs_up ? +1 : -1;
}

bool SlotWriter::turns_here(const Unit& unit, bool is_entry) const {
  if (!is_v_shaped(plan_.job.schedule) || !plan_.is_last(at_.pp)) return false;
  const bool is_second_half = unit.action.is_forward() == (unit.action.chunk == 1);
  return is_entry == is_second_half;
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
  if (is_start || turns_here(unit, true)) return;
  const std::int64_t from = -stage_after(unit);
  const Stream stream = from < 0 ? Stream::kPpRecvPrev : Stream::kPpRecvNext;
  push(stream, message(OpKind::kRecv, from));
  wait_all(Stream::kCompute, stream);
  if (plan_.scatters_messages()) tp_collective(CollectiveKind::kAllGather, program_.messages_.activations);
}

void SlotWriter::leave(const Unit& unit) {
  const bool is_end = unit.action.is_forward() ? unit.chunk.has_head : unit.chunk.has_embedding;
  if (is_end || turns_here(unit, false)) return;
  const std::int64_t to = stage_after(unit);
  const Stream stream = to > 0 ? Stream::kPpSendNext : Stream::kPpSendPrev;
  wait_all(stream, Stream::kCompute);
  if (plan_.tp() > 1) wait_all(stream, Stream::kTp);
  push(stream, message(OpKind::kSend, to));
  if (waits_for_sends()) wait_all(Stream::kCompute, stream);
}

}  // namespace lockstep
