// SPDX-License-Identifier: Apache-2.0
// Why a run cannot go on: which ranks wait for what, or do not agree.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sim/runtime/run_state.h"
#include "sim/symmetry/reduced_job.h"

namespace lockstep {

// `pending`: what the network says of its stalled transfers. Throws SimulationError naming the first waiting streams when a rank has not finished its program or transfers are pending.
void throw_if_stalled(const Program& program, const ReducedJob& job, const RunState& state, std::int64_t transfers_in_flight,
                      const std::string& pending);

// Two members of a communicator call different collectives: `rank` calls `op`, the one being assembled is another.
[[noreturn]] void throw_mismatch(const Program& program, Rank rank, const RoleOp& op, const ActivityState& assembled);

}  // namespace lockstep
