// SPDX-License-Identifier: Apache-2.0
// Takes a run through the faults of its cluster: changes the network at their instants and sends what is under way by the ways that are
// left. Without faults that come and go nothing ever happens.
#pragma once

#include <vector>

#include "sim/network/fault_timeline.h"
#include "sim/runtime/repetition.h"
#include "sim/runtime/run_state.h"
#include "sim/runtime/runtime.h"

namespace lockstep {

class FaultFollower {
 public:
  // `input` must outlive it.
  explicit FaultFollower(const RuntimeInput& input) : in_(input) {}

  [[nodiscard]] Instant next() const { return in_.faults == nullptr ? Instant::never() : in_.faults->next(); }
  // Of the faults, for routes.
  [[nodiscard]] std::size_t state() const { return in_.faults == nullptr ? 0 : in_.faults->state(); }
  // The next instant of the run (FaultClock).
  [[nodiscard]] Instant next_of_all(Instant event);
  // What is due at `now`. PRE: nothing else has happened at this instant.
  void follow(Instant now, std::vector<ActivityState>& activities, Repetition& repetition);
  [[nodiscard]] std::vector<FaultEffect> effects(Instant end) const;

 private:
  [[nodiscard]] NewRoute route_of(std::uint64_t activity, ActivityState& state);

  const RuntimeInput& in_;
  LoweredCollective lowered_;
};

}  // namespace lockstep
