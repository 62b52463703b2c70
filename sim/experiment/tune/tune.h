// SPDX-License-Identifier: Apache-2.0
// Looks for the fastest plan of a job on a cluster, everything else given.
//
// 1. Every combination of the space (plan_space.h) is resolved; those that make no plan are counted by reason, those that do not fit in
//    GPU memory (workloads/model/memory.h) as too large.
// 2. The others get a lower bound and an estimate (plan_bound.h) and are evaluated by a run on the network model, the lowest estimates first,
//    in rounds of kRound. A plan whose bound is not below the `top`-th best time found so far cannot be among the best and is not run. The
//    search ends when no other is left: then the best are those of the whole space. Or after max_evaluations, and then it says so.
// Rounds are the same for any number of threads, so the result is, too. With a folder, finished plans are kept in its store as soon as they
// are done and never run again (sim/experiment/sweep/point_store.h): after an interruption the same search goes on.
//
// Complexity: resolving is microseconds a plan, a bound about a millisecond, a run what `lockstep run` takes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "sim/experiment/cluster_run.h"
#include "sim/experiment/scenario.h"
#include "sim/experiment/tune/tuned_plan.h"

namespace lockstep {

struct TuneProgress {
  std::size_t candidates = 0;  // plans that fit
  std::size_t settled = 0;     // of them: evaluated, or beaten by their bound
  std::size_t evaluated = 0;
  double best_s = 0;  // 0: none yet
};

struct TuneOptions {
  NetworkKind network = NetworkKind::kFlow;
  std::uint64_t seed = 0;
  std::size_t threads = 1;
  std::size_t top = 10;
  std::size_t max_evaluations = 1000;
  bool uses_bounds = true;            // off: every plan that fits is run
  std::optional<std::string> folder;  // of the store
  std::string version;
  std::function<void(const TuneProgress&)> on_progress = {};  // one call at a time
};

// Sequences per step of a job as it stands: its global_batch, or that of its plan on the cluster. Nothing, with errors, when neither is known.
[[nodiscard]] std::optional<std::int64_t> global_batch_of(const JobSpec& job, const ClusterSpec& cluster, Diagnostics& d);

// PRE: the space was made for the cluster of `spec`. Throws StorageError.
[[nodiscard]] TuneResult tune(const ScenarioSpec& spec, const PlanSpace& space, const TuneOptions& options);

}  // namespace lockstep
