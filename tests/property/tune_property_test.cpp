// SPDX-License-Identifier: Apache-2.0
// No run is faster than the bound of its plan, and a search that leaves out what bounds rule out finds what running every plan finds, on any
// number of threads.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/experiment/job_run.h"
#include "sim/experiment/tune/plan_bound.h"
#include "sim/experiment/tune/tune.h"
#include "tests/property/max_min_random.h"
#include "tests/support/random_scenarios.h"
#include "tests/support/shipped.h"
#include "tests/support/workload_fixtures.h"
#include "workloads/kernels/performance.h"

namespace lockstep {
namespace {

// On the ideal network, where only kernels and their order take time, and on the network of the scenario.
void expect_bound_below_runs() {
  const test::RandomScenario s = test::draw_scenario();
  RC_LOG() << test::to_yaml(s);
  if (s.plan.has_profile()) RC_DISCARD("a profile has no plan to bound");
  const PreparedCluster prepared(s.cluster, s.seed);
  const double bound = cost_of(s.plan, performance_of(*s.cluster.server, s.cluster.software, s.plan.job),
                               pair_rates(build_healthy_network(s.cluster)))
                           .bound_s;
  const auto step = [&](NetworkKind network) {
    return run_job(prepared, s.cluster, s.plan, {.network = network, .seed = s.seed, .compares_with_ideal = false}).step_time_s;
  };
  RC_ASSERT(bound > 0);
  RC_ASSERT(bound <= step(NetworkKind::kIdeal) + 1e-12);
  RC_ASSERT(bound <= step(s.network) + 1e-12);
}

TEST(PlanBound, IsNeverAboveARun) { test::check_property(300, expect_bound_below_runs); }

// Jobs of one schedule on a short and a long pipeline, with few micro-batches and with more than a bound walks; of stages of unequal layers where the
// schedule has them, and of two chunks where it need not have them.
std::vector<JobSpec> jobs_of(PipelineSchedule schedule) {
  std::vector<JobSpec> out;
  for (const std::int64_t pp : {2, 3, 4, 6, 8}) {
    if (is_bidirectional(schedule) && pp % 2 != 0) continue;
    JobSpec job;
    job.name = "tiny";
    job.model = test::tiny(2 * pp);
    job.seq_len = 512;
    job.pp = pp;
    job.gpus = pp;
    job.schedule = schedule;
    for (const std::int64_t m : {2 * pp, 4 * pp, 9 * pp + pp % 2}) {
      job.gradient_accumulation = m;
      out.push_back(job);
      if (is_v_shaped(schedule)) continue;
      ++out.emplace_back(job).model.layers;
      if (schedule == PipelineSchedule::kOneForwardOneBackward && m % pp == 0) out.emplace_back(job).virtual_stages = 2;
    }
  }
  return out;
}

// Alone on the ideal network, where the bound is nearest to the run.
TEST(PlanBound, IsNeverAboveARunOfAnySchedule) {
  using S = PipelineSchedule;
  const ClusterSpec cluster = test::cluster("dgx-h100", {"nodes=1"});
  const PreparedCluster prepared(cluster, 1);
  const PairRates rates = pair_rates(prepared.network);
  for (const S schedule : {S::kOneForwardOneBackward, S::kGpipe, S::kZeroBubbleH1, S::kZeroBubbleH2, S::kZeroBubbleV, S::kVHalf,
                           S::kVMin, S::kDualPipe}) {
    for (const JobSpec& job : jobs_of(schedule)) {
      const TrainingPlan plan = test::plan_of(job, job.pp);
      const double bound = cost_of(plan, performance_of(*cluster.server, cluster.software, plan.job), rates).bound_s;
      const RunOptions options{.network = NetworkKind::kIdeal, .compares_with_ideal = false};
      const double step = run_job(prepared, cluster, plan, options).step_time_s;
      SCOPED_TRACE(fmt::format("{} pp {} v {} m {}, {} layers", to_text(schedule), job.pp, job.virtual_stages,
                               plan.micro_batches, job.model.layers));
      EXPECT_LE(bound, step + 1e-12);
      EXPECT_GE(bound, 0.8 * step);
    }
  }
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
