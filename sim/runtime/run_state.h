// SPDX-License-Identifier: Apache-2.0
// Everything that changes while a program runs, apart from the network and the events on the clock.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/runtime/rank_state.h"
#include "sim/runtime/role_log.h"
#include "sim/symmetry/reduced_job.h"

namespace lockstep {

// What a class of activities is doing. A member cannot arrive at the next collective before it has finished this one, so one is open at
// a time; a channel sends one message at a time.
struct ActivityState {
  // Communicator: the collective being assembled or under way.
  CollectiveKind collective = CollectiveKind::kAllReduce;
  std::int64_t bytes = 0;
  std::uint32_t arrived = 0;
  Stream stream = Stream::kCompute;  // of the first to arrive
  std::uint8_t stage = 0;            // of its algorithm, under way; of stage_count
  std::uint8_t stage_count = 1;
  // Channel: messages are matched in order.
  bool receiver_waits = false;
  std::int64_t messages_arrived = 0;
  std::int64_t messages_received = 0;

  bool is_moving = false;  // a transfer is in the network
};

// Counts, each class with its size.
struct RunTotals {
  std::uint64_t fingerprint = 0;  // order-free: sum over completed operations of hash(stream, position, bytes, tick)
  std::int64_t events = 0;        // completed operations and transfers
  std::int64_t collectives = 0;
  std::int64_t messages = 0;
};

struct RunState {
  std::vector<RoleLog> logs;  // by role
  Instant now;
  Instant end;                            // of the last operation; outdated kernel ends may be due later
  std::vector<Instant> job_ends;          // the same, by job of the program
  std::vector<RankState> ranks;           // by rank class
  std::vector<ActivityState> activities;  // by activity class
  RunTotals totals;
};

// One log for each role, in the order of their first ranks; the job of each rank, and an end for each job.
void open_logs(RunState& state, const Program& program, const ReducedJob& job);
// Drops from a log what every rank of its role has done. O(ranks).
void shorten(RunState& state, std::uint32_t log);

// One of the jobs of a program.
struct JobTimes {
  Instant end;
  std::array<double, kTimeClassCount> breakdown_s = {};  // mean over its ranks, from the start of the run; sums to `end`
};
// At the end of the run, by job.
[[nodiscard]] std::vector<JobTimes> job_times(RunState& state, const ReducedJob& job);

// What a completed operation adds to the fingerprint.
[[nodiscard]] std::uint64_t operation_hash(Stream stream, std::int64_t position, std::int64_t bytes, Instant tick);

}  // namespace lockstep
