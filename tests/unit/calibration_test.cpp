// SPDX-License-Identifier: Apache-2.0
// Constants that made measurements are found in them again; what measurements cannot tell stays.
#include "sim/experiment/calibration/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/experiment/collective.h"
#include "sim/experiment/collective_predictor.h"
#include "sim/report/calibration_report.h"
#include "tests/support/cluster_fixtures.h"
#include "tests/support/shipped.h"

namespace lockstep {
namespace {

// `runs`: how many times each size was measured, always with the same result.
MeasuredTable table_of(const std::string& name, const ClusterSpec& cluster, int nodes, int per_node, std::size_t runs = 1) {
  constexpr CollectiveKind kind = CollectiveKind::kAllReduce;
  MeasuredTable t{.name = name, .cluster = cluster, .kind = kind, .members = first_gpus(cluster, nodes, per_node)};
  CollectivePredictor predictor(t.cluster, {.kind = kind, .members = t.members});
  for (std::int64_t bytes = 1024; bytes <= (std::int64_t{1} << 33); bytes *= 4) {
    t.rows.insert(t.rows.end(), runs, {.bytes = bytes, .seconds = predictor.seconds(bytes)});
  }
  return t;
}

double value(const Calibration& c, const std::string& path) {
  for (const FittedConstant& f : c.constants) {
    if (f.constant.path == path) return f.constant.value(c.after);
  }
  ADD_FAILURE() << "no constant " << path;
  return 0;
}

// Exact line y = 2 + 3 t with one outlier, no prior to speak of: Huber's loss leaves the line where the others are.
TEST(LeastSquares, FindALineInSpiteOfAnOutlier) {
  const std::vector<FitParameter> parameters(2, {.prior_deviation = 1e6, .lowest = -100, .highest = 100});
  const auto fit = fit_least_squares(parameters,
                                     [](const std::vector<double>& x) {
                                       std::vector<double> r;
                                       for (int t = 0; t < 20; ++t)
                                         r.push_back((x[0] + x[1] * t - (2 + 3 * t + (t == 7 ? 500 : 0))) / 0.1);
                                       return r;
                                     },
                                     {0, 0});
  EXPECT_NEAR(fit.values[0], 2, 0.05);
  EXPECT_NEAR(fit.values[1], 3, 0.005);
}

// One observation y = x of deviation 1 beside a prior of deviation 1 at 0: the mean of both, with deviation sqrt(1/2).
TEST(LeastSquares, PriorsWeighAsObservations) {
  const std::vector<FitParameter> parameters(1, {.prior_deviation = 1, .lowest = -9, .highest = 9});
  const auto fit = fit_least_squares(parameters, [](const std::vector<double>& x) { return std::vector{x[0] - 1}; }, {0});
  EXPECT_NEAR(fit.values[0], 0.5, 1e-4);
  EXPECT_NEAR(fit.deviations[0], std::sqrt(0.5), 1e-4);
}

TEST(LeastSquares, StayWithinTheirBounds) {
  const std::vector<FitParameter> parameters(1, {.prior_deviation = 100, .lowest = 0, .highest = 0.25});
  const auto fit =
      fit_least_squares(parameters, [](const std::vector<double>& x) { return std::vector{10 * (x[0] - 1)}; }, {0});
  EXPECT_EQ(fit.values[0], 0.25);
}

// A collective alone on its links takes what the engine says, for every kind, on one node and several.
TEST(CollectivePredictor, PredictsWhatTheEngineRuns) {
  const auto spec = test::shipped_cluster("dgx-a100", {"nodes=3"});
  const PreparedCluster prepared(spec, 0);
  for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kBroadcast,
                                    CollectiveKind::kAllToAll, CollectiveKind::kSendRecv}) {
    for (const auto& [nodes, per_node] : {std::pair{1, 5}, {2, 1}, {3, 8}}) {
      CollectivePredictor predictor(spec, {.kind = kind, .members = first_gpus(spec, nodes, per_node)});
      const std::vector<std::int64_t> sizes = {0, 8, 4096, 1 << 20, 1 << 30};
      const auto rows = run_collective({.kind = kind, .sizes = sizes, .members = first_gpus(spec, nodes, per_node)},
                                       prepared.router, prepared.tunings, NetworkKind::kFlow);
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        EXPECT_NEAR(predictor.seconds(sizes[i]) / rows[i].time_s, 1, 1e-6) << to_text(kind) << ' ' << nodes << ' ' << sizes[i];
      }
    }
  }
}

// New constants give what a cluster with these constants gives, also where they change rates of links.
TEST(CollectivePredictor, RetuneIsTheSameAsANewCluster) {
  const auto spec = test::shipped_cluster("dgx-a100", {"nodes=2"});
  TuningSpec other = spec.tuning;
  other.generations.ampere.launch = Duration::micros(7);
  other.generations.ampere.link_payload = 0.9;
  other.transports.ib.payload = 0.8;
  ClusterSpec changed = spec;
  changed.tuning = other;
  const CollectiveQuestion question{.members = first_gpus(spec, 2, 8)};
  CollectivePredictor retuned(spec, question);
  retuned.retune(other);
  CollectivePredictor made(changed, question);
  for (const std::int64_t bytes : {8, 1 << 20, 1 << 30}) EXPECT_EQ(retuned.seconds(bytes), made.seconds(bytes));
  retuned.retune(spec.tuning);
  EXPECT_EQ(retuned.seconds(1 << 30), CollectivePredictor(spec, question).seconds(1 << 30));
}

// The valley where the descent from 0 ends is not the deepest: r = 1 + (x - 1/2)^2 up to 3/2, then (x - 3) / 2.
TEST(LeastSquares, LookAroundForADeeperValley) {
  const std::vector<FitParameter> parameters(1, {.prior_deviation = 8, .lowest = -20, .highest = 20});
  const auto fit = fit_least_squares(parameters,
                                     [](const std::vector<double>& v) {
                                       const double x = v[0];
                                       return std::vector{x < 1.5 ? 1 + (x - 0.5) * (x - 0.5) : (x - 3) / 2};
                                     },
                                     {0});
  EXPECT_NEAR(fit.values[0], 3, 0.25);
}

// Measurements made of known constants, 8 GPUs of one node, so many of them that the belief in the shipped ones counts for little: the
// constants come back, and tables that were not fitted fit.
TEST(Calibration, FindsTheConstantsThatMadeTheMeasurements) {
  ClusterSpec truth = test::shipped_cluster("dgx-a100", {"nodes=2"});
  truth.tuning.generations.ampere.launch = Duration::micros(21);
  truth.tuning.generations.ampere.fill = Duration::micros(15);
  truth.tuning.generations.ampere.link_payload = 0.95;
  constexpr std::size_t kRuns = 32;
  const Calibration c = calibrate(test::shipped_tuning(), {table_of("eight", truth, 1, 8, kRuns)},
                                  {table_of("two", truth, 1, 2), table_of("nodes", truth, 2, 8)});
  EXPECT_NEAR(value(c, "generations.ampere.launch"), 21e-6, 2e-6);
  EXPECT_NEAR(value(c, "generations.ampere.fill"), 15e-6, 2e-6);
  EXPECT_NEAR(value(c, "generations.ampere.link_payload"), 0.95, 0.005);
  EXPECT_NEAR(value(c, "generations.ampere.hop_scale"), truth.tuning.generations.ampere.hop_scale, 0.1);
  ASSERT_EQ(c.tables.size(), 3u);
  EXPECT_GT(c.tables[0].before, 0.1);
  for (const TableError& t : c.tables) EXPECT_LT(t.after, 0.02) << t.table;
  EXPECT_TRUE(c.tables[0].is_fitted);
  EXPECT_FALSE(c.tables[1].is_fitted);
}

// One node says nothing of the network: its constants are not in the fit.
TEST(Calibration, OneNodeLeavesTheTransportAlone) {
  const ClusterSpec spec = test::shipped_cluster("dgx-a100", {"nodes=2", "network=ib-4x100"});
  const Calibration one = calibrate(spec.tuning, {table_of("one", spec, 1, 8)}, {});
  for (const FittedConstant& f : one.constants) EXPECT_EQ(f.constant.path.find("transports"), std::string::npos);
  ClusterSpec slow = spec;
  slow.tuning.transports.ib.payload = 0.8;
  const Calibration two = calibrate(spec.tuning, {table_of("two", slow, 2, 8, 16)}, {});
  EXPECT_NEAR(value(two, "transports.ib.payload"), 0.8, 0.02);
}

// A fabric that moves 0.6 of what its NICs could is followed with the belief that is stated, at the largest sizes too.
TEST(Calibration, ASlowFabricIsFollowed) {
  ClusterSpec slow = test::shipped_cluster("dgx-a100", {"nodes=2", "network=ib-4x100"});
  const TuningSpec shipped = slow.tuning;
  slow.tuning.transports.ib.payload = 0.6;
  const Calibration c = calibrate(shipped, {table_of("slow", slow, 2, 8)}, {});
  EXPECT_NEAR(value(c, "transports.ib.payload"), 0.6, 0.02);
  EXPECT_LT(c.tables[0].large_after, 0.05);
}

// Moved by twice its belief, a constant is not near what it was, however little the tables say of it.
TEST(Calibration, OnlyWhatStayedIsCalledKept) {
  const TunableConstant launch = tunable_constants(test::shipped_cluster("dgx-a100", {"nodes=1"}), false).front();
  const auto said = [&launch](double offset) {
    return to_table(
        Calibration{.before = test::shipped_tuning(),
                    .after = test::shipped_tuning(),
                    .constants = {{.constant = launch, .offset = offset, .deviation = 0.9, .prior = 1, .determined = 0.19}}});
  };
  EXPECT_NE(said(0.5).find("kept near what it was"), std::string::npos);
  EXPECT_EQ(said(-2).find("kept near what it was"), std::string::npos);
  EXPECT_NE(said(-2).find("hardly determined, yet moved"), std::string::npos);
}

// Three tables of one truth, one of them twice as slow: what is left out is predicted by the others.
TEST(Calibration, LeaveOneOutJudgesATableByTheOthers) {
  ClusterSpec truth = test::shipped_cluster("dgx-a100", {"nodes=1"});
  truth.tuning.generations.ampere.launch = Duration::micros(10);
  std::vector<MeasuredTable> tables = {table_of("a", truth, 1, 8), table_of("b", truth, 1, 4), table_of("odd", truth, 1, 2)};
  for (MeasuredRow& row : tables[2].rows) row.seconds *= 2;
  const std::vector<TableError> errors = leave_one_out(test::shipped_tuning(), tables);
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_NEAR(errors[2].after, 0.5, 0.05);
}

}  // namespace
}  // namespace lockstep
