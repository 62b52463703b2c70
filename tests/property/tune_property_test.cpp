// SPDX-License-Identifier: Apache-2.0
// No run is faster than the bound of its plan, and a search that leaves out what bounds rule out finds what running every plan finds, on any
// number of threads.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/experiment/job_run.h"
#include "sim/experiment/tune/plan_bound.h"
#include "sim/experiment/tune/tune.h"
#include "tests/support/random_scenarios.h"
#include "tests/support/shipped.h"
#include "tests/support/workload_fixtures.h"
#include "workloads/kernels/performance.h"

namespace lockstep {
namespace {

// On the ideal network, where only kernels and their order take time, and on the network of the scenario.
RC_GTEST_PROP(PlanBound, IsNeverAboveARun, ()) {
  const test::RandomScenario s = test::draw_scenario();
  RC_LOG() << test::to_yaml(s);
  if (s.plan.has_profile()) RC_DISCARD("a profile has no plan to bound");
  const PreparedCluster prepared(s.cluster, s.seed);
  const double bound =
      cost_of(s.plan, performance_of(s.cluster.server->gpu, s.cluster.software, s.plan.job), pair_rates(prepared.network))
          .bound_s;
  const auto step = [&](NetworkKind network) {
    return run_job(prepared, s.cluster, s.plan, {.network = network, .seed = s.seed, .compares_with_ideal = false}).step_time_s;
  };
  RC_ASSERT(bound > 0);
  RC_ASSERT(bound <= step(NetworkKind::kIdeal) + 1e-12);
  RC_ASSERT(bound <= step(s.network) + 1e-12);
}

struct Problem {
  ScenarioSpec spec;
  std::optional<PlanSpace> space;
};

// Sixteen or eight GPUs; memory that some plans do not fit in; a batch that not every plan divides.
Problem draw_problem() {
  Problem p;
  p.spec.name = "random";
  p.spec.cluster = test::cluster(*rc::gen::element<std::string>("dgx-h100", "h100-roce-oversubscribed"),
                                 {"nodes=" + std::to_string(*rc::gen::inRange(1, 3))});
  JobSpec job;
  job.model = test::tiny(*rc::gen::element(4, 6, 8));
  job.model.hidden = *rc::gen::element(256, 1024);
  job.name = "tiny";
  job.seq_len = 512;
  job.attention = *rc::gen::element(AttentionKernel::kFlash, AttentionKernel::kUnfused);
  p.spec.job = job;
  Diagnostics d;
  const std::int64_t batch = *rc::gen::element(16, 24, 32);
  p.space = PlanSpace::make(
      job, batch, size_of(p.spec.cluster),
      {"tp=1,2,4", "micro_batch=1,2", "recompute=none,full", "data_parallel=ddp,distributed_optimizer,fsdp"}, d);
  return p;
}

std::vector<std::string> best(const TuneResult& r, std::size_t top) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(top, r.plans.size()); ++i) {
    out.push_back(std::to_string(r.plans[i].numbers->step_time_s));
  }
  return out;
}

TEST(Tune, FindsWhatRunningEveryPlanFinds) {
  std::size_t ruled_out = 0;
  const auto property = [&] {
    const Problem p = draw_problem();
    RC_ASSERT(p.space.has_value());
    TuneOptions options{.threads = 1, .top = 3, .max_evaluations = 100'000, .version = "test"};
    const TuneResult search = tune(p.spec, *p.space, options);
    options.threads = 3;
    const TuneResult threads = tune(p.spec, *p.space, options);
    options.uses_bounds = false;
    const TuneResult everything = tune(p.spec, *p.space, options);
    RC_ASSERT(everything.counts.bounded == 0u);
    RC_ASSERT(best(search, 3) == best(everything, 3));
    RC_ASSERT(search.plans.front().text == everything.plans.front().text);
    RC_ASSERT(search.counts.evaluated == threads.counts.evaluated);
    RC_ASSERT(search.plans.size() == threads.plans.size());
    for (std::size_t i = 0; i < search.plans.size(); ++i) RC_ASSERT(search.plans[i].record == threads.plans[i].record);
    const TuneCounts& c = search.counts;
    RC_ASSERT(c.plans == c.unresolved + c.too_large + c.bounded + c.unevaluated + c.evaluated);
    ruled_out += c.bounded;
  };
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = 12;
  const rc::detail::TestResult result = rc::detail::checkTestable(property, rc::detail::TestMetadata(), params);
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  ASSERT_TRUE(result.is<rc::detail::SuccessResult>()) << message.str();
  EXPECT_GT(ruled_out, 100u);  // without that equality would say nothing
}

}  // namespace
}  // namespace lockstep
