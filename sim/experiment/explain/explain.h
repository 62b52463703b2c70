// SPDX-License-Identifier: Apache-2.0
// Why a step takes as long as it does: a waterfall (waterfall.h), what each single upgrade would bring (upgrades.h, each a run of its own),
// and which of the usual causes hold the job back (causes.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/experiment/explain/causes.h"
#include "sim/experiment/explain/waterfall.h"
#include "sim/experiment/job_run.h"
#include "sim/experiment/scenario.h"

namespace lockstep {

struct UpgradeResult {
  std::string name;
  std::string words;
  bool is_plan = false;          // a change of the plan, not of the hardware
  std::vector<std::string> set;  // --set that do the same
  std::optional<double> step_s;  // absent: it does not apply, and `reason` says why
  std::optional<double> gain;    // in throughput: old step over new step, less 1
  std::string reason;
};

struct Explanation {
  RunResult run;  // as it is; without the run on an ideal network
  Waterfall waterfall;
  std::vector<UpgradeResult> upgrades;  // the largest gain first, then those that do not apply
  std::vector<Cause> causes;            // the largest share first; at least one
};

struct ExplainOptions {
  NetworkKind network = NetworkKind::kFlow;
  std::uint64_t seed = 0;
  std::size_t threads = 1;
  bool runs_upgrades = true;
  // Told after each run, from any thread but one at a time.
  std::function<void(std::size_t done, std::size_t total)> on_progress = {};
};

// PRE: a scenario of one job. Throws SimulationError if its own run fails; what fails with an upgrade is that one's reason.
[[nodiscard]] Explanation explain(const Scenario& scenario, const ExplainOptions& options);

}  // namespace lockstep
