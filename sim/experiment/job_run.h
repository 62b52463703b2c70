// SPDX-License-Identifier: Apache-2.0
// One step of one training job on one cluster, from checked specs to a RunResult. The same job runs once more on an ideal network
// (infinite bandwidth, zero latency) to say what the network costs. That run always takes sprayed paths, which leave the fewest classes
// of ranks; what they change is which algorithm `auto` chooses. Nothing is broken there, and no node slow by a fault.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/experiment/cluster_run.h"
#include "sim/report/run_result.h"
#include "sim/symmetry/partition.h"
#include "workloads/parallel/plan.h"
#include "workloads/program.h"

namespace lockstep {

struct RuntimeResult;  // sim/runtime/runtime.h

struct RunOptions {
  NetworkKind network = NetworkKind::kFlow;
  std::uint64_t seed = 0;
  std::optional<std::uint64_t> tie_seed;  // shuffles simultaneous events
  bool uses_symmetry = true;              // off: every rank, link and transfer for itself
  SymmetryFault symmetry_fault = SymmetryFault::kNone;
  bool compares_with_ideal = true;  // off: effective GPUs and price stay those of this run
  bool uses_one_thread = false;     // the ideal run takes its turn instead of a thread of its own
  std::function<void(Instant now, std::int64_t events)> on_progress = {};  // of the run itself, not of the ideal one
};

// PRE: the plan was resolved for this cluster. Throws SimulationError.
[[nodiscard]] RunResult run_job(const ClusterSpec& cluster, const TrainingPlan& plan, const RunOptions& options);
// The same on what was prepared from this cluster with options.seed.
[[nodiscard]] RunResult run_job(const PreparedCluster& prepared, const ClusterSpec& cluster, const TrainingPlan& plan,
                                const RunOptions& options);
// The same with the plan's program at hand, on given endpoints, one for each rank.
[[nodiscard]] RunResult run_job(const PreparedCluster& prepared, const ClusterSpec& cluster, const TrainingPlan& plan,
                                const Program& program, const std::vector<EndpointId>& placement, const RunOptions& options);

// Faults of the cluster that are for good, and of the others those that began during the run.
[[nodiscard]] std::vector<FaultReport> report_faults(const ClusterSpec& cluster, const RuntimeResult& run);

// Sets the numbers that follow from the step time and the ideal one: throughput, efficiency, cost.
void add_rates(const TrainingPlan& plan, const ClusterSpec& cluster, RunResult& r);

}  // namespace lockstep
