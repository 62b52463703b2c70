// SPDX-License-Identifier: Apache-2.0
// Of any plan on any cluster the terms of the waterfall add up to the step, and none but that of slow parts is below zero.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <sstream>

#include "sim/experiment/explain/waterfall.h"
#include "tests/support/random_scenarios.h"

namespace lockstep {
namespace {

RunResult run_of(const ClusterSpec& cluster, const test::RandomScenario& s) {
  return run_job(cluster, s.plan, {.network = s.network, .seed = s.seed, .compares_with_ideal = false});
}

void expect_sum(const test::RandomScenario& s) {
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
  RC_ASSERT(w.step == Duration::from_seconds(run.step_time_s));
  RC_ASSERT(w.has_flops() != s.plan.has_profile());
}

// What few plans have, and the terms are told apart by. Where none is drawn the sum says nothing about it.
constexpr bool (*kForms[])(const JobSpec&) = {
    [](const JobSpec& j) { return j.ep > 1; },
    [](const JobSpec& j) { return j.model.moe.has_value() && j.expert_skew > 1; },
    [](const JobSpec& j) { return j.overlap_expert_exchange || j.overlap_shared_expert; },
    [](const JobSpec& j) { return j.cp > 1; },
    [](const JobSpec& j) { return j.virtual_stages > 1; },
    [](const JobSpec& j) { return j.schedule != PipelineSchedule::kOneForwardOneBackward; },
    [](const JobSpec& j) { return j.strategy == Strategy::kFsdp && j.pp > 1; },
    [](const JobSpec& j) { return j.shard_group.has_value(); },
    [](const JobSpec& j) { return j.recompute == Recompute::kSelective; },
    [](const JobSpec& j) { return j.recompute_layers.has_value(); },
};

TEST(Waterfall, AddsUpOnAnyPlan) {
  std::array<int, std::size(kForms)> counts = {};
  const auto property = [&] {
    const test::RandomScenario s = test::draw_scenario();
    expect_sum(s);
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += kForms[i](s.plan.job) ? 1 : 0;
  };
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = 500;
  params.maxSize = 100;
  const rc::detail::TestResult result = rc::detail::checkTestable(property, rc::detail::TestMetadata(), params);
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  ASSERT_TRUE(result.is<rc::detail::SuccessResult>()) << message.str();
  for (std::size_t i = 0; i < counts.size(); ++i) EXPECT_GT(counts[i], 0) << "form " << i;
}

}  // namespace
}  // namespace lockstep
