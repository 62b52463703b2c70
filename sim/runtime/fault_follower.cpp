// SPDX-License-Identifier: Apache-2.0
#include "sim/runtime/fault_follower.h"

#include "sim/runtime/activity_transfer.h"

namespace lockstep {

Instant FaultFollower::next_of_all(Instant event) {
  return in_.faults == nullptr ? event : in_.faults->next_of_all(event, in_.network.in_flight() > 0);
}

void FaultFollower::follow(Instant now, std::vector<ActivityState>& activities, Repetition& repetition) {
  if (next() != now) return;
  repetition.forget();
  if (!in_.faults->apply(now, in_.network)) return;
  std::vector<std::uint64_t> moved;
  const auto present = [&](std::uint64_t activity) { return route_of(activity, activities[activity]); };
  in_.network.reroute(now, present, moved);
  std::int64_t transfers = 0;
  for (const std::uint64_t activity : moved) transfers += in_.job.activities()[activity].size;
  in_.faults->count_rerouted(transfers);
}

NewRoute FaultFollower::route_of(std::uint64_t activity, ActivityState& state_of_activity) {
  const ActivityClass& group = in_.job.activities()[activity];
  if (group.communicator == nullptr) {
    const ReducedShares& shares = group.shares(RouteForm::kClosed, state());
    return {shares.all, shares.alone};
  }
  const TransferSpec spec = stage_transfer(group, state_of_activity, in_.tunings, state(), lowered_);
  return {spec.shares, spec.alone};
}

std::vector<FaultEffect> FaultFollower::effects(Instant end) const {
  return in_.faults == nullptr ? std::vector<FaultEffect>() : in_.faults->effects(end);
}

}  // namespace lockstep
