// SPDX-License-Identifier: Apache-2.0
// One rank while it runs: how far it is in the log of its role (role_log.h), per stream; what its compute is doing; where its time went.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"
#include "base/wide.h"
#include "workloads/program.h"

namespace lockstep {

struct StreamState {
  std::int64_t completed = 0;  // operations; the next one of the role's log is under way or comes next
  std::uint32_t visible = 0;   // operations after those that the rank may see
  std::uint16_t waiters = 0;   // streams whose front is a kWait on this one
  bool is_busy = false;        // its front operation is under way

  [[nodiscard]] bool is_empty() const { return visible == 0; }
};

// A kernel under way. Work is counted in picoseconds x kFullSpeed, so that a change of speed loses nothing.
struct ComputeState {
  static constexpr std::int64_t kFullSpeed = 1000;
  Int128 work_left = 0;
  Instant updated;
  std::int64_t speed = kFullSpeed;
  std::uint32_t version = 0;  // events of older versions are stale
  bool is_running = false;
};

// WHY this order: with a hundred thousand of these the run is bound by memory; what an event touches lies together.
struct RankState {
  ComputeState compute;
  Instant accounted;  // time since then belongs to `current`
  TimeClass current = TimeClass::kBubble;
  bool has_ended = false;        // the program has no more slots
  bool is_compute_held = false;  // the compute stream waits for ...
  Stream held_by = Stream::kCompute;
  std::uint16_t collectives_in_flight = 0;
  std::array<std::uint16_t, kTimeClassCount> in_flight = {};  // transfers of this rank that have started and not ended
  std::array<StreamState, kStreamCount> streams;
  std::uint32_t log = 0;  // of its role
  std::uint32_t job = 0;
  std::int64_t slot = 0;  // of the program
  std::array<std::int64_t, kTimeClassCount> spent_ps = {};

  // The class of this moment: compute if it computes; else the communication its compute stream waits for, if that is in flight; else any in
  // flight (tp, cp, ep, pp, dp in this order); else bubble.
  [[nodiscard]] TimeClass classify() const {
    if (compute.is_running) return TimeClass::kCompute;
    if (is_compute_held) {
      const TimeClass c = time_class(held_by);
      if (in_flight[static_cast<std::size_t>(c)] > 0) return c;
    }
    for (const TimeClass c : {TimeClass::kTp, TimeClass::kCp, TimeClass::kEp, TimeClass::kPp, TimeClass::kDp}) {
      if (in_flight[static_cast<std::size_t>(c)] > 0) return c;
    }
    return TimeClass::kBubble;
  }

  // Call after every change of what classify() reads.
  void account(Instant now) {
    spent_ps[static_cast<std::size_t>(current)] += (now - accounted).picos();
    accounted = now;
    current = classify();
  }

  // A kernel has just ended, all of whose time counts as compute so far: of that the host is to blame for so much (Kernel::host).
  void charge_host(Int128 picos) {
    const auto moved = static_cast<std::int64_t>(picos);
    spent_ps[static_cast<std::size_t>(TimeClass::kCompute)] -= moved;
    spent_ps[static_cast<std::size_t>(TimeClass::kHost)] += moved;
  }
};

}  // namespace lockstep
