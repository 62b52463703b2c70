// SPDX-License-Identifier: Apache-2.0
#include "sim/runtime/activity_transfer.h"

namespace lockstep {

TransferSpec stage_transfer(const ActivityClass& group, ActivityState& state, std::span<const CollectiveTuning, 3> tunings,
                            std::size_t fault_state, LoweredCollective& scratch) {
  const PlacedCommunicator& comm = *group.communicator;
  lower_collective({.ring = comm.shape,
                    .closed_rate = comm.closed_rate,
                    .open_rate = comm.open_rate,
                    .others = *group.algorithms,
                    .tunings = tunings,
                    .kind = state.collective,
                    .bytes = state.bytes,
                    .algorithm = comm.algorithm},
                   scratch);
  state.stage_count = static_cast<std::uint8_t>(scratch.stages.size());
  const Stage& stage = scratch.stages[state.stage];
  const ReducedShares& shares = group.shares(stage.form, fault_state);
  return {.shares = shares.all,
          .alone = shares.alone,
          .weight = stage.weight,
          .bytes = stage.bytes,
          .latency = stage.latency,
          .rate_cap = stage.rate_cap,
          .members = checked_mul(stage.members, group.size)};
}

TransferSpec message_transfer(const ActivityClass& group, std::int64_t bytes, std::int64_t weight,
                              const CollectiveTuning& tuning, std::size_t fault_state) {
  const ReducedShares& shares = group.shares(RouteForm::kClosed, fault_state);
  return {.shares = shares.all,
          .alone = shares.alone,
          .weight = weight,
          .bytes = bytes,
          .latency = send_latency(tuning, group.channel->hop, group.channel->path_latency),
          .rate_cap = send_rate(tuning, group.channel->hop),
          .members = group.size};
}

}  // namespace lockstep
