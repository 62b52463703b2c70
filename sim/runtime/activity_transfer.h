// SPDX-License-Identifier: Apache-2.0
// What a class of activities puts on the network: the transfer of a message, or of one stage of a collective.
#pragma once

#include <cstdint>
#include <span>

#include "sim/network/network_model.h"
#include "sim/runtime/run_state.h"
#include "sim/symmetry/reduced_job.h"
#include "workloads/collectives/communicator.h"

namespace lockstep {

// The stage `state.stage` of the collective that `state` describes, by its way in that state of the faults; sets state.stage_count. The algorithm is chosen anew for every stage,
// from the same facts. `tunings`: groups on one node, two nodes, more. `scratch` lends memory.
[[nodiscard]] TransferSpec stage_transfer(const ActivityClass& group, ActivityState& state,
                                          std::span<const CollectiveTuning, 3> tunings, std::size_t fault_state,
                                          LoweredCollective& scratch);

[[nodiscard]] TransferSpec message_transfer(const ActivityClass& group, std::int64_t bytes, std::int64_t weight,
                                            const CollectiveTuning& tuning, std::size_t fault_state);

}  // namespace lockstep
