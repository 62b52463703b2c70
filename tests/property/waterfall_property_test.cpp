// SPDX-License-Identifier: Apache-2.0
// Of any plan on any cluster the terms of the waterfall add up to the step, and none but that of slow parts is below zero.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/experiment/explain/waterfall.h"
#include "tests/support/random_scenarios.h"

namespace lockstep {
namespace {

RunResult run_of(const ClusterSpec& cluster, const test::RandomScenario& s) {
  return run_job(cluster, s.plan, {.network = s.network, .seed = s.seed, .compares_with_ideal = false});
}

RC_GTEST_PROP(Waterfall, AddsUpOnAnyPlan, ()) {
  const test::RandomScenario s = test::draw_scenario();
  RC_LOG() << test::to_yaml(s);
  const RunResult run = run_of(s.cluster, s);
  const std::optional<ClusterSpec> even = without_slow_parts(s.cluster);
  const ClusterSpec& cluster = even ? *even : s.cluster;
  const Waterfall w = waterfall_of(cluster, s.plan, even ? run_of(cluster, s) : run, Duration::from_seconds(run.step_time_s));

  Duration sum;
  // Rounding: a kernel is rounded to a picosecond, and ends at a whole one however it was slowed.
  const double tolerance = 1e-9 * run.step_time_s + 1e-12 * static_cast<double>(run.events);
  for (const WaterfallTerm& t : w.terms) {
    sum += t.time;
    if (t.loss == Loss::kStragglers) continue;
    RC_LOG() << to_text(t.loss) << " " << t.time.seconds() << "\n";
    RC_ASSERT(t.time.seconds() >= -tolerance);
    RC_ASSERT(t.loss != Loss::kOther || t.time.seconds() <= tolerance);
  }
  RC_ASSERT(sum == w.step);
  RC_ASSERT(w.has_flops() != s.plan.has_profile());
}

}  // namespace
}  // namespace lockstep
