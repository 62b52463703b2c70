// SPDX-License-Identifier: Apache-2.0
// Several jobs on one network: each runs alone first, then all run together on the same GPUs.
//
// Steps differ in length, so that one step each would leave the longest job without company most of the time. Job j therefore repeats its step until the
// last one would have ended undisturbed:
//
//   steps_j = ceil((max over i of (start_i + T_i) - start_j) / T_j)      T: step alone; at least 1, at most 64
//   slowdown_j = mean step beside the others / T_j
//
// A job that is slowed down may end after the others, and then its last steps have the network to themselves: the slow-down is a mean over what
// it met.
#pragma once

#include <span>

#include "sim/experiment/job_run.h"
#include "sim/experiment/scenario_jobs.h"
#include "sim/report/shared_result.h"

namespace lockstep {

// Steps that cover a time, and no more than kMostSteps. PRE: step > 0.
inline constexpr std::int64_t kMostSteps = 64;
[[nodiscard]] std::int64_t steps_to_cover(Duration time, Duration step);

// PRE: the jobs were resolved for this cluster. Throws SimulationError, and UserError when a job finds no place.
[[nodiscard]] SharedRunResult run_jobs(const PreparedCluster& prepared, const ClusterSpec& cluster,
                                       std::span<const ScheduledJob> jobs, const RunOptions& options);

}  // namespace lockstep
