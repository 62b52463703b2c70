// SPDX-License-Identifier: Apache-2.0
// Skips what repeats. A steady pipeline does the same for every micro-batch: if the whole state of the run (every class of ranks, activities and
// transfers under way, each relative to the present) is the same at two instants T apart, and every program says that the operations
// it appended in between come again n times, then so does everything else, for the run is a function of that state. The n repetitions are then added up, not
// simulated: clocks and positions move on by n times their difference, counts and integrals grow by n times theirs, and the fingerprint
// takes every completed operation of the span n more times. Results are the same integers.
//
// Compared are whole states, not hashes of them. Looked for: once per lap of the first rank class (Program::lap), against the last few laps.
// Cost: O(state) a lap; memory a few states and the operations of the last laps, given up when those are too many.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/network/network_model.h"
#include "sim/runtime/run_state.h"
#include "sim/symmetry/reduced_job.h"

namespace lockstep {

class Repetition {
 public:
  Repetition(const Program& program, const ReducedJob& job) : program_(program), job_(job) {}

  // Tells of an operation that has completed, the `position`-th of its stream. Free until the first look.
  void record(std::uint32_t rank_class, Stream stream, std::int64_t position, std::int64_t bytes, Instant tick) {
    if (checkpoints_.empty()) return;
    if (completed_.size() == kMostCompleted) return give_up();
    completed_.push_back({rank_class, stream, position, bytes, tick});
  }
  // Compares the present, a settled instant, with earlier laps and moves the run on when a span repeats. True when it did: then every
  // kernel end on the clock is void.
  // Nothing is skipped up to `before`, when the network changes by itself.
  bool look(RunState& state, NetworkModel& network, Instant before = Instant::never());
  // The network is another: what was seen of it tells nothing of what comes.
  void forget();

  // Simulated time that was added up and not run.
  [[nodiscard]] Duration skipped() const { return skipped_; }

 private:
  static constexpr std::size_t kMostCompleted = std::size_t{1} << 20;

  struct RankMark {
    std::int64_t slot;
    ProgramCursor cursor;
    std::array<std::int64_t, kStreamCount> completed;
    std::array<std::int64_t, kTimeClassCount> spent_ps;
  };
  struct Checkpoint {
    std::vector<std::int64_t> state;  // relative to `network.at` and to the marks
    std::vector<RankMark> ranks;
    NetworkCheckpoint network;
    RunTotals totals;
    std::size_t first_completed = 0;  // of completed_
  };
  struct CompletedOp {
    std::uint32_t rank_class;
    Stream stream;
    std::int64_t position;
    std::int64_t bytes;
    Instant tick;
  };

  [[nodiscard]] Checkpoint checkpoint(RunState& state, const NetworkModel& network) const;
  [[nodiscard]] std::int64_t times(const RunState& state, const Checkpoint& then, const Checkpoint& now, Instant before) const;
  void repeat(RunState& state, const Checkpoint& then, const Checkpoint& now, std::int64_t times) const;
  void repeat_rank(RankState& rank, const RankMark& then, const RankMark& now, Instant at, Duration shift,
                   std::int64_t times) const;
  [[nodiscard]] static bool moved_equally(const RankMark& then, const RankMark& now, const RankMark& other_then,
                                          const RankMark& other_now);
  void give_up();
  void forget_oldest();

  const Program& program_;
  const ReducedJob& job_;
  std::deque<Checkpoint> checkpoints_;  // oldest first
  std::vector<CompletedOp> completed_;  // since the oldest
  Duration skipped_;
  bool has_given_up_ = false;
};

}  // namespace lockstep
