// SPDX-License-Identifier: Apache-2.0
// Which slots of a training program come again. A stage in its steady state alternates forward and backward passes; a lap is one of each
// (plain), or one of each for all chunks of a group of `stages` micro-batches (interleaved). Laps differ only in the numbers of their
// micro-batches, which operations do not carry, except that the first micro-batch waits for gathered parameters and the last one hands
// out gradients.
#include <algorithm>

#include "workloads/schedule/slot_writer.h"

namespace lockstep {
namespace {

// Passes of one direction in a lap.
std::int64_t passes_per_lap(const PipelineShape& s) { return s.chunks == 1 ? 1 : s.stages * s.chunks; }

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Actions of the steady state without any pass of the first and the last lap of micro-batches.
Range regular_actions(const PipelineShape& s, std::int64_t stage) {
  const std::int64_t passes = s.micro_batches * s.chunks;
  const std::int64_t warm_up = warm_up_forwards(s, stage);
  const std::int64_t lap = passes_per_lap(s);
  const std::int64_t first_forward = std::max(warm_up, lap);
  const std::int64_t end_of_backwards = std::min(passes - warm_up, passes - lap);
  return {warm_up + 2 * (first_forward - warm_up), warm_up + 2 * end_of_backwards};
}

}  // namespace

std::int64_t SlotWriter::lap(const TrainingProgram& program, const ProgramCursor& at) {
  return at.scratch[kAction] / (2 * passes_per_lap(program.shape_));
}

std::int64_t SlotWriter::repetitions(const TrainingProgram& program, std::int64_t stage, const ProgramCursor& then,
                                     const ProgramCursor& now) {
  const PipelineShape& shape = program.shape_;
  const auto moved = [&](Scratch s) { return now.scratch[s] - then.scratch[s]; };
  const std::int64_t actions = moved(kAction);
  if (actions <= 0 || actions % (2 * passes_per_lap(shape)) != 0 || moved(kStep) != 0 || moved(kGatherStep) != 0) return 0;
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

  const Range regular = regular_actions(shape, stage);
  if (then.scratch[kAction] < regular.begin) return 0;
  // The action under way, or gathered ahead for, counts as reached.
  const std::int64_t reached = 1 + std::max(now.scratch[kAction], gathers ? now.scratch[kGatherAction] : 0);
  return std::max<std::int64_t>(0, (regular.end - reached) / actions);
}

}  // namespace lockstep
