// SPDX-License-Identifier: Apache-2.0
// Running one representative for each class of equals (and each lap of equal micro-batches once) changes nothing: every number of the
// result is, bit for bit, that of a run in which every rank, link and transfer stands for itself.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>

#include "tests/support/random_scenarios.h"

namespace lockstep {
namespace {

RunResult run(const test::RandomScenario& s, bool uses_symmetry, SymmetryFault fault = SymmetryFault::kNone) {
  return run_job(s.cluster, s.plan,
                 {.network = s.network,
                  .seed = s.seed,
                  .tie_seed = uses_symmetry ? std::nullopt : std::optional<std::uint64_t>(s.seed),
                  .uses_symmetry = uses_symmetry,
                  .symmetry_fault = fault,
                  .compares_with_ideal = false});
}

// How often there was something to merge: without that equality would say nothing.
struct Merged {
  std::int64_t runs = 0;
  std::int64_t ranks = 0;
  std::int64_t activities = 0;
  std::int64_t links = 0;
  std::int64_t laps = 0;

  void count(const RunResult& r) {
    const SymmetryReport& s = r.symmetry;
    ++runs;
    ranks += s.rank_classes < r.gpus ? 1 : 0;
    activities += s.activity_classes < s.activities ? 1 : 0;
    links += s.link_classes < s.links ? 1 : 0;
    laps += s.repeated_s > 0 ? 1 : 0;
  }
};

TEST(Symmetry, ChangesNothing) {
  Merged merged;
  const auto property = [&] {
    const test::RandomScenario s = test::draw_scenario();
    RC_LOG() << test::to_yaml(s);
    const RunResult classes = run(s, true);
    RC_ASSERT(test::first_difference(classes, run(s, false)) == "");
    merged.count(classes);
  };
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = 1000;
  params.maxSize = 100;
  const rc::detail::TestResult result = rc::detail::checkTestable(property, rc::detail::TestMetadata(), params);
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  ASSERT_TRUE(result.is<rc::detail::SuccessResult>()) << message.str();
  EXPECT_GT(merged.ranks, merged.runs / 2);
  EXPECT_GT(merged.activities, merged.runs / 2);
  EXPECT_GT(merged.links, merged.runs / 2);
  EXPECT_GT(merged.laps, merged.runs / 20);
  RecordProperty("runs_with_equal_ranks", std::to_string(merged.ranks));
  std::printf("of %lld runs %lld had equal ranks, %lld equal activities, %lld equal links, %lld repeated laps\n",
              static_cast<long long>(merged.runs), static_cast<long long>(merged.ranks),
              static_cast<long long>(merged.activities), static_cast<long long>(merged.links),
              static_cast<long long>(merged.laps));
}

// A colour left out of the refinement merges what is not equal. The comparison above notices within a few hundred scenarios: a number
// differs, or the run breaks an invariant.
class SymmetryFaults : public ::testing::TestWithParam<SymmetryFault> {};

TEST_P(SymmetryFaults, AreNoticed) {
  const auto scenarios = rc::gen::exec([] { return test::draw_scenario(); });
  rc::Random random(1);
  for (int i = 0; i < 300; ++i) {
    const test::RandomScenario s = scenarios(random.split(), 100).value();
    try {
      if (!test::first_difference(run(s, true, GetParam()), run(s, false)).empty()) return;
    } catch (const std::exception&) {
      return;
    }
  }
  FAIL() << "the fault changed nothing";
}

INSTANTIATE_TEST_SUITE_P(All, SymmetryFaults,
                         ::testing::Values(SymmetryFault::kIgnoreSlowdowns, SymmetryFault::kIgnoreLinks,
                                           SymmetryFault::kIgnoreCoefficients, SymmetryFault::kIgnorePeers));

}  // namespace
}  // namespace lockstep
