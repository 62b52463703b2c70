// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>

#include "sim/experiment/validation_suites.h"
#include "tests/support/shipped.h"

namespace lockstep {
namespace {

// Nine whole steps are published (eight of Table 5 and the data-parallel one of section 6.3); five rows are single layers. The bound on the
// mean is what the model reached when it was first compared; it may only go down.
TEST(TrainingValidation, KorthikantiIsPredictedAsStated) {
  const std::string file = std::string(LOCKSTEP_TEST_CONFIGS) + "/validation/korthikanti-2022.csv";
  std::ifstream csv(file);
  Diagnostics d;
  const SuiteResult result = run_training_suite(csv, file, test::shipped(), d);
  ASSERT_FALSE(d.has_errors()) << test::messages(d);
  EXPECT_EQ(result.predictions.size(), 9u);
  EXPECT_EQ(result.skipped.size(), 5u);
  EXPECT_LE(statistics(result).mean_abs_error, 0.08);
}

// Median, mean, 90th percentile and bias of errors -10 %, +20 %, +30 %: 20, 20, 30 and 13.3 %.
TEST(TrainingValidation, StatisticsFollowTheirDefinitions) {
  SuiteResult r;
  for (const double predicted : {90.0, 120.0, 130.0})
    r.predictions.push_back({.source = "s", .measured = 100, .predicted = predicted});
  const ErrorStatistics s = statistics(r);
  EXPECT_DOUBLE_EQ(s.median_abs_error, 0.2);
  EXPECT_DOUBLE_EQ(s.mean_abs_error, 0.2);
  EXPECT_DOUBLE_EQ(s.p90_abs_error, 0.3);
  EXPECT_NEAR(s.bias, 0.4 / 3, 1e-15);
}

}  // namespace
}  // namespace lockstep
