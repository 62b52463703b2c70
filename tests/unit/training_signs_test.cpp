// SPDX-License-Identifier: Apache-2.0
// Sign tests of training: what a line says, and that each can fail.
#include <gtest/gtest.h>

#include <sstream>

#include "sim/experiment/training_rows/sign_tests.h"
#include "sim/report/validation_report.h"
#include "tests/support/shipped.h"

namespace lockstep {
namespace {

const std::string kHeader = "what,source,row,per_row,metric,measured,expect,scenario,set,per_scenario,per_set,remark\n";

// Of predictions: t:2 100 s for 90, t:3 50 s for 60, and t:4 of the part "MoE", 10 s for 10.
SuiteResult result_of(const std::string& rows) {
  SuiteResult r{.suite = "training"};
  const auto add = [&](const char* source, int row, double measured, double predicted) {
    r.predictions.push_back({.source = source, .row = row, .measured = measured, .predicted = predicted});
  };
  add("t", 2, 90, 100);
  add("t", 3, 60, 50);
  add("t MoE", 4, 10, 10);
  add("tt", 5, 1, 1);
  std::istringstream csv(kHeader + rows);
  Diagnostics d;
  const TrainingSigns signs(csv, "s.csv", test::shipped(), d);
  if (d.has_errors()) throw std::runtime_error(test::messages(d));
  signs.add_to(r);
  return r;
}

std::string errors_of(const std::string& row) {
  std::istringstream csv(kHeader + row + "\n");
  Diagnostics d;
  const TrainingSigns signs(csv, "s.csv", test::shipped(), d);
  return test::messages(d);
}

// 100 s against 50 s are 2, and were 90 against 60: 1.5.
TEST(TrainingSigns, TwoRowsGiveARatioBesideTheMeasuredOne) {
  const SuiteResult r = result_of("w,,t:2,t:3,step_time_s,,above 1.9,,,,,\nw,,t:2,t:3,step_time_s,,below 1.9,,,,,why\n");
  ASSERT_EQ(r.signs.size(), 2u);
  EXPECT_EQ(r.signs[0].source, "training-signs");
  EXPECT_EQ(r.signs[0].row, 2);
  EXPECT_EQ(r.signs[0].what, "w (t:2 / t:3)");
  EXPECT_EQ(r.signs[0].metric, "ratio of step_time_s");
  EXPECT_EQ(r.signs[0].measured, "1.5");
  EXPECT_EQ(r.signs[0].predicted, 2);
  EXPECT_TRUE(r.signs[0].holds);
  EXPECT_FALSE(r.signs[1].holds);
  EXPECT_EQ(r.signs[1].remark, "why");
  ASSERT_EQ(r.limits.size(), 1u);
  EXPECT_EQ(r.limits[0].found, 0.5);
  EXPECT_FALSE(r.limits[0].holds());
}

TEST(TrainingSigns, ARowIsFoundInItsPartOfATable) {
  const SuiteResult r = result_of("w,,t:4,t:3,step_time_s,,0.2 to 0.2,,,,,\n");
  EXPECT_TRUE(r.signs[0].holds);
  EXPECT_TRUE(r.limits[0].holds());
}

// Line 5 is of another table, whose name begins alike.
TEST(TrainingSigns, ARowThatIsNotPredictedMakesItsTestFail) {
  const SuiteResult r = result_of("w,,t:5,t:3,step_time_s,,above 0,,,,,\nw,,t:3,u:3,step_time_s,,above 0,,,,,\n");
  EXPECT_FALSE(r.signs[0].holds);
  EXPECT_EQ(r.signs[0].remark, "the first row is not predicted");
  EXPECT_EQ(r.signs[1].remark, "the second row is not predicted");
  EXPECT_EQ(r.limits[0].found, 0);
}

// The same run twice: 1.
TEST(TrainingSigns, TwoRunsOfItsOwnGiveARatio) {
  const std::string runs = "gpt-22b-a100,job.recompute=full,,job.recompute=full,\n";
  const SuiteResult r = result_of("w,paper,,,step_time_s,1.1,0.9 to 1.1," + runs + "w,paper,,,step_time_s,,above 1.1," + runs);
  EXPECT_EQ(r.signs[0].what, "w (paper)");
  EXPECT_EQ(r.signs[0].measured, "1.1");
  EXPECT_EQ(r.signs[0].predicted, 1);
  EXPECT_TRUE(r.signs[0].holds);
  EXPECT_FALSE(r.signs[1].holds);
}

TEST(TrainingSigns, WrongLinesAreReportedWithTheirPlace) {
  EXPECT_EQ(errors_of("w,,t:2,t:3,step_time_s,,about 2,,,,,"),
            "s.csv:2:25: error: expect: above X, below X or X to Y is expected\n");
  EXPECT_EQ(errors_of("w,,t,t:3,step_time_s,,above 1,,,,,"),
            "s.csv:2:4: error: row: TABLE:LINE is expected, like bloom-bigscience:37\n");
  EXPECT_EQ(errors_of("w,,t:1,t:3,step_time_s,,above 1,,,,,"),
            "s.csv:2:4: error: row: TABLE:LINE is expected, like bloom-bigscience:37\n");
  EXPECT_EQ(errors_of("w,,t:2,t:x,step_time_s,,above 1,,,,,"),
            "s.csv:2:8: error: per_row: TABLE:LINE is expected, like bloom-bigscience:35\n");
  EXPECT_EQ(errors_of("w,,t:2,t:3,mfu,,above 1,,,,,"), "s.csv:2:12: error: metric: rows have step_time_s\n");
  EXPECT_EQ(errors_of("w,,,,step_time_s,,above 1,,,,,"), "s.csv:2:4: error: row: a row TABLE:LINE or a scenario is expected\n");
  EXPECT_NE(errors_of("w,,,,step_time_s,,above 1,gpt-22b-a10,,,,").find("did you mean 'gpt-22b-a100'?"), std::string::npos);
  EXPECT_NE(errors_of("w,,,,steps,,above 1,gpt-22b-a100,,,,").find("metric: 'steps' is no number of such a run"),
            std::string::npos);
}

TEST(TrainingSigns, AColumnThatIsMissingIsNamed) {
  std::istringstream csv("what,source,row,per_row,metric,measured,scenario,set,per_scenario,per_set,remark\n");
  Diagnostics d;
  const TrainingSigns signs(csv, "s.csv", test::shipped(), d);
  EXPECT_EQ(test::messages(d), "s.csv:1:1: error: the column 'expect' is missing\n");
}

TEST(TrainingSigns, NamesTheRowsThatItIsAbout) {
  std::istringstream csv(kHeader + "w,,t:2,u:3,step_time_s,,above 1,,,,,\n");
  Diagnostics d;
  const TrainingSigns signs(csv, "s.csv", test::shipped(), d);
  EXPECT_TRUE(signs.names("t", 2));
  EXPECT_TRUE(signs.names("u", 3));
  EXPECT_FALSE(signs.names("t", 3));
}

TEST(TrainingSigns, StandInEveryFormat) {
  const SuiteResult r = result_of("w,,t:2,t:3,step_time_s,,below 1.9,,,,,\n");
  EXPECT_NE(to_table(r).find("DOES NOT HOLD"), std::string::npos);
  EXPECT_NE(to_markdown(r).find("| training-signs:2 | w (t:2 / t:3) | 1.5 | below 1.9 | 2 | NO |"), std::string::npos);
  EXPECT_NE(to_json(r).find("\"holds\": false"), std::string::npos);
  EXPECT_NE(to_csv(r).find("training-signs,2,w (t:2 / t:3),ratio of step_time_s,1.5,2,,below 1.9,no\n"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
