// SPDX-License-Identifier: Apache-2.0
// Two jobs on one network give the same numbers, bit for bit, with one representative for each class of equals and with every rank,
// link and transfer standing for itself (and ties shuffled).
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>

#include "sim/experiment/shared_run.h"
#include "tests/support/random_scenarios.h"

namespace lockstep {
namespace {

struct TwoJobs {
  test::RandomScenario first;  // with the cluster of both
  std::vector<ScheduledJob> jobs;
};

// The jobs one after the other, or by turns on single GPUs or pairs, or every GPU drawn.
std::vector<IndexRange> draw_gpus(std::int64_t first, std::int64_t second) {
  std::vector<IndexRange> gpus = test::draw_placement(first + second);
  if (!gpus.empty()) return gpus;
  const std::int64_t turn = test::draw_one({1, 1, 2, 100});
  std::vector<IndexRange> others;
  std::int64_t next = 0;
  while (next < first + second) {
    for (std::int64_t i = 0; i < turn && std::ssize(gpus) < first; ++i) gpus.emplace_back(next++);
    for (std::int64_t i = 0; i < turn && std::ssize(others) < second; ++i) others.emplace_back(next++);
  }
  gpus.insert(gpus.end(), others.begin(), others.end());
  return gpus;
}

TwoJobs draw_two_jobs() {
  std::int64_t ranks[2] = {};
  const JobSpec jobs[2] = {test::draw_job(12, ranks[0]), test::draw_job(12, ranks[1])};
  const std::int64_t all = ranks[0] + ranks[1];
  TwoJobs out;
  out.first.cluster = test::draw_cluster(all, 0, test::draw_chance(2) ? 1 : 8);
  out.first.cluster.network->nic_rate = Rate::gbps(25);  // so that they meet
  out.first.network = test::draw_chance(5) ? NetworkKind::kAnalytic : NetworkKind::kFlow;
  out.first.seed = static_cast<std::uint64_t>(test::draw(0, 1'000));
  const std::vector<IndexRange> gpus = draw_gpus(ranks[0], ranks[1]);
  for (std::size_t j = 0; j < 2; ++j) {
    const auto begin = gpus.begin() + (j == 0 ? 0 : ranks[0]);
    TrainingPlan plan = test::plan_of(jobs[j], ranks[j]);
    plan.job.placement.endpoints.assign(begin, begin + ranks[j]);
    const Duration start = !test::draw_chance(3) ? Duration() : Duration::micros(test::draw(1, 2'000));
    out.jobs.push_back({j == 0 ? "a" : "b", start, std::move(plan)});
  }
  return out;
}

SharedRunResult run(const TwoJobs& s, bool uses_symmetry) {
  return run_jobs(PreparedCluster(s.first.cluster, s.first.seed), s.first.cluster, s.jobs,
                  {.network = s.first.network,
                   .seed = s.first.seed,
                   .tie_seed = uses_symmetry ? std::nullopt : std::optional<std::uint64_t>(s.first.seed),
                   .uses_symmetry = uses_symmetry,
                   .compares_with_ideal = false});
}

std::string first_difference(const SharedRunResult& a, const SharedRunResult& b) {
  if (a.fingerprint != b.fingerprint) return "fingerprint";
  if (a.events != b.events) return "events";
  if (a.end_s != b.end_s) return "end";
  for (std::size_t i = 0; i < a.links.size(); ++i) {
    if (a.links[i].name != b.links[i].name || a.links[i].bytes != b.links[i].bytes) return "link " + a.links[i].name;
    if (a.links[i].utilization != b.links[i].utilization) return "utilization of " + a.links[i].name;
  }
  for (std::size_t j = 0; j < a.jobs.size(); ++j) {
    const std::string difference = test::first_difference(a.jobs[j].run, b.jobs[j].run);
    if (!difference.empty()) return a.jobs[j].name + ": " + difference;
    if (a.jobs[j].slowdown != b.jobs[j].slowdown || a.jobs[j].steps != b.jobs[j].steps) return a.jobs[j].name + ": slow-down";
  }
  return a.links.size() == b.links.size() ? "" : "number of links";
}

TEST(SharedSymmetry, ChangesNothing) {
  std::int64_t runs = 0;
  std::int64_t merged = 0;
  std::int64_t slowed = 0;
  std::int64_t repeated = 0;
  const auto property = [&] {
    const TwoJobs s = draw_two_jobs();
    const SharedRunResult classes = run(s, true);
    RC_ASSERT(first_difference(classes, run(s, false)) == "");
    ++runs;
    merged += classes.symmetry.rank_classes < classes.gpus() ? 1 : 0;
    slowed += classes.jobs[0].slowdown > 1 || classes.jobs[1].slowdown > 1 ? 1 : 0;
    repeated += classes.jobs[0].steps > 1 || classes.jobs[1].steps > 1 ? 1 : 0;
  };
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = 200;
  params.maxSize = 100;
  const rc::detail::TestResult result = rc::detail::checkTestable(property, rc::detail::TestMetadata(), params);
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  ASSERT_TRUE(result.is<rc::detail::SuccessResult>()) << message.str();
  EXPECT_GT(merged, runs / 4);
  EXPECT_GT(slowed, runs / 25);
  EXPECT_GT(repeated, runs / 2);
  std::printf("of %lld runs %lld had equal ranks, %lld jobs that slow each other, %lld several steps\n",
              static_cast<long long>(runs), static_cast<long long>(merged), static_cast<long long>(slowed),
              static_cast<long long>(repeated));
}

}  // namespace
}  // namespace lockstep
