// SPDX-License-Identifier: Apache-2.0
// Which slots of a training program come again. A stage in its steady state repeats a block of passes, a lap: one forward and one
// backward (plain), or one of each for all chunks of a group of `stages` micro-batches (interleaved), or a forward, a backward and a
// weight gradient (zero bubble); under GPipe a forward, and later a backward. Laps differ only in the numbers of their micro-batches, which
// operations do not carry, except that the first micro-batch waits for gathered parameters and the last one hands out gradients.
// Schedules that are tables repeat where the table does (PipelineTable::steady()).
#include <algorithm>

#include "workloads/parallel/schedule_kind.h"
#include "workloads/schedule/slot_writer.h"

namespace lockstep {
namespace {

// Actions.
std::int64_t lap_length(const PipelineShape& s) {
  if (s.schedule == PipelineSchedule::kGpipe) return 1;
  if (has_upward_chunk(s.schedule)) return PipelineTable::kPeriod;
  if (splits_passes(s.schedule)) return 3;
  return s.chunks == 1 ? 2 : 2 * s.stages * s.chunks;
}

using Range = PipelineTable::Range;

// Actions of the steady state without any pass of the first and the last lap of micro-batches.
Range alternating_actions(const PipelineShape& s, std::int64_t stage) {
  const std::int64_t passes = s.micro_batches * s.chunks;
  const std::int64_t warm_up = warm_up_forwards(s, stage);
  const std::int64_t lap = lap_length(s) / 2;
  const std::int64_t first_forward = std::max(warm_up, lap);
  const std::int64_t end_of_backwards = std::min(passes - warm_up, passes - lap);
  return {warm_up + 2 * (first_forward - warm_up), warm_up + 2 * end_of_backwards};
}

// All forwards but that of the first micro-batch, or all backwards but that of the last.
Range gpipe_actions(const PipelineShape& s, std::int64_t from) {
  const std::int64_t m = s.micro_batches;
  return from < m ? Range{1, m} : Range{m, 2 * m - 1};
}

// Blocks of F, B and W, the first forward and the last weight gradient not among them.
Range split_actions(const PipelineShape& s, std::int64_t stage) {
  const std::int64_t warm_up = warm_up_forwards(s, stage);
  const std::int64_t delay = weight_delay(s, stage);
  const std::int64_t blocks = s.micro_batches - warm_up;
  const std::int64_t first = std::max(delay, std::int64_t{warm_up == 0 ? 1 : 0});
  const std::int64_t end = std::min(blocks, s.micro_batches - 1);
  const std::int64_t begin = warm_up + 2 * delay;  // of the first block with all three
  return {begin + 3 * (first - delay), begin + 3 * (end - delay)};
}

Range regular_actions(const PipelineShape& s, std::int64_t stage, std::int64_t from) {
  if (s.schedule == PipelineSchedule::kGpipe) return gpipe_actions(s, from);
  return splits_passes(s.schedule) ? split_actions(s, stage) : alternating_actions(s, stage);
}

}  // namespace

std::int64_t SlotWriter::lap(const TrainingProgram& program, const ProgramCursor& at) {
  return at.scratch[kAction] / lap_length(program.shape_);
}

std::int64_t SlotWriter::repetitions(const TrainingProgram& program, std::int64_t stage, const ProgramCursor& then,
                                     const ProgramCursor& now) {
  const PipelineShape& shape = program.shape_;
  const auto moved = [&](Scratch s) { return now.scratch[s] - then.scratch[s]; };
  const std::int64_t actions = moved(kAction);
  if (actions <= 0 || actions % lap_length(shape) != 0 || moved(kStep) != 0 || moved(kGatherStep) != 0) return 0;
  if (moved(kNextBucket) != 0) return 0;
  const bool gathers = now.scratch[kGathersIssued] > 0;
  if (!gathers && moved(kGathersUsed) != 0) return 0;
  if (gathers && (moved(kGatherAction) != actions || moved(kGathersIssued) != moved(kGathersUsed))) return 0;

  // A stream that caught up in the span has caught up as far; one that did not will not.
  const auto pushed = [&](Stream s) {
    return now.pushed[static_cast<std::size_t>(s)] - then.pushed[static_cast<std::size_t>(s)];
  };
  const auto keeps_up = [&](Scratch seen, Stream target) { return moved(seen) == 0 || moved(seen) == pushed(target); };
  if (!keeps_up(kTpSeenByCompute, Stream::kTp) || !keeps_up(kComputeSeenByTp, Stream::kCompute) ||
      !keeps_up(kComputeSeenByReduce, Stream::kCompute) || !keeps_up(kExchange, Stream::kEp) ||
      !keeps_up(kExchangeSeen, Stream::kEp)) {
    return 0;
  }

  const Range regular =
      program.table_.is_empty() ? regular_actions(shape, stage, then.scratch[kAction]) : program.table_.steady(stage);
  if (then.scratch[kAction] < regular.begin) return 0;
  // The action under way, or gathered ahead for, counts as reached.
  const std::int64_t reached = 1 + std::max(now.scratch[kAction], gathers ? now.scratch[kGatherAction] : 0);
  return std::max<std::int64_t>(0, (regular.end - reached) / actions);
}

}  // namespace lockstep
