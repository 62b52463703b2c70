// SPDX-License-Identifier: Apache-2.0
// Runs a Program: every rank's streams side by side, its transfers on a NetworkModel, its kernels on the clock. What runs is a
// ReducedJob: one rank for each class of equals, and counts with the size of its class.
//
// A kernel runs at full speed, or 1/(1 + slowdown) of it while a collective of its rank is in flight (the collective's own kernels hold
// SMs and memory bandwidth). A collective starts when all members have arrived; a send when it is posted. Every instant of a rank
// belongs to exactly one TimeClass, so the breakdown sums to the step time. What the host adds to a kernel (Kernel::host, part of its
// time) is kHost once the kernel has ended, of a slow GPU as much more as the kernel takes longer; there is no clock of the host.
//
// The run ends when every rank has finished its program. If nothing can happen any more before that, it fails (SimulationError) and
// says which rank waits for what. Order inside an instant does not change results (`tie_seed` shuffles it to prove that).
//
// Faults that come and go change capacities at their instants; what is under way then goes on by the ways of the new state.
//
// Cost: O(operations of the representatives) plus the network model's; memory O(classes + what is in flight).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/time.h"
#include "sim/network/fault_timeline.h"
#include "sim/network/network_model.h"
#include "sim/runtime/run_state.h"
#include "sim/symmetry/reduced_job.h"
#include "workloads/collectives/tuning.h"
#include "workloads/program.h"

namespace lockstep {

struct RuntimeInput {
  const Program& program;
  const ReducedJob& job;                        // of this program
  NetworkModel& network;                        // on job.link_capacities()
  std::int64_t message_weight = kSharerWeight;  // of a point-to-point message: Router::weight() x kSharerWeight
  std::array<CollectiveTuning, 3> tunings;      // groups on one node, two nodes, more
  FaultClock* faults = nullptr;                 // on job.link_capacities(), from the start
  LinkNames link_name = number_of;              // of a link class, for messages
  double comm_slowdown = 0;                     // 0.18: a kernel takes 18 % longer while a collective is in flight
  bool skips_repetition = true;
  std::optional<std::uint64_t> tie_seed;  // shuffles simultaneous kernel ends, completions and streams that can go on
  // Told now and then how far the run is: simulated time and completed operations and transfers.
  std::function<void(Instant now, std::int64_t events)> on_progress;
};

struct RuntimeResult {
  Duration step_time;          // until the end of the last job
  std::vector<JobTimes> jobs;  // at least one
  RunTotals totals;
  Duration skipped;  // of the step, for it repeats what came before (repetition.h)
  std::vector<FaultEffect> faults = {};
};

[[nodiscard]] RuntimeResult run_program(const RuntimeInput& input);

}  // namespace lockstep
