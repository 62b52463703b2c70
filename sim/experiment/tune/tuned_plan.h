// SPDX-License-Identifier: Apache-2.0
// What a search knows of plans: numbers of one that was evaluated, and what became of all the others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/experiment/tune/plan_space.h"
#include "workloads/program.h"

namespace lockstep {

// Of a run of the plan, as its record says (sim/report/render.h).
struct PlanNumbers {
  double step_time_s = 0;
  double tokens_per_s_per_gpu = 0;
  double mfu = 0;
  double hfu = 0;
  std::int64_t memory_bytes = 0;  // of the fullest GPU
  std::array<double, kTimeClassCount> breakdown_s = {};
  std::string bottleneck;
};

struct TunedPlan {
  PlanChoice choice;
  std::string text;  // PlanSpace::text()
  double bound_s = 0;
  double estimate_s = 0;
  std::int64_t pp = 1;
  std::int64_t micro_batches = 1;
  std::optional<PlanNumbers> numbers;  // or
  std::string error;                   // of its simulation
  std::string record;                  // all the run says; empty with an error
};

// Plans that share a fate.
struct PlanGroup {
  std::string reason;
  std::size_t plans = 0;
  std::string example;  // one of them
};

struct TuneCounts {
  std::size_t plans = 0;        // combinations of the space
  std::size_t unresolved = 0;   // of them: no plan
  std::size_t too_large = 0;    // do not fit in memory
  std::size_t bounded = 0;      // cannot be among the best: their bound is not below the last of these
  std::size_t unevaluated = 0;  // left by --max-evaluations
  std::size_t evaluated = 0;
  std::size_t failed = 0;  // of those evaluated
  std::size_t found = 0;   // of those evaluated: were in the store
};

struct TuneResult {
  TuneCounts counts;
  std::vector<TunedPlan> plans;       // evaluated: the fastest first, then those that failed
  std::vector<PlanGroup> unresolved;  // by reason, most plans first
  // Of the plans that do not fit, if any: the one with the lowest bound, and the one that needs least.
  std::optional<TunedPlan> fastest_too_large;
  std::optional<TunedPlan> smallest_too_large;
  std::int64_t smallest_bytes = 0;
  std::int64_t capacity_bytes = 0;
  std::vector<std::string> ways_to_fit;        // for the smallest, when nothing fits
  std::optional<double> least_unevaluated_s;   // bound of those left over
  std::vector<std::size_t> idle_timings = {};  // rows of job.kernel_timings that are no kernel of any plan that fits
  [[nodiscard]] bool has_winner() const { return !plans.empty() && plans.front().numbers.has_value(); }
};

}  // namespace lockstep
