// SPDX-License-Identifier: Apache-2.0
// Which points a sweep has, and in which order.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/sweep_text.h"

namespace lockstep {
namespace {

using test::good_sweep;
using test::points_of;

std::string points(const std::string& text, const std::vector<std::string>& assignments = {}) {
  return points_of(good_sweep(text, assignments));
}

// 2 x 3 values make 6 points; the last axis varies fastest.
TEST(SweepPoints, AGridTakesEveryCombinationInOrder) {
  EXPECT_EQ(points("axes: {cluster.nodes: [2, 4], seed: [7, 8, 9]}"), "2 7 | 2 8 | 2 9 | 4 7 | 4 8 | 4 9");
}

TEST(SweepPoints, ZipTakesOneValueOfEachAxis) {
  EXPECT_EQ(points("combine: zip\naxes: {cluster.nodes: [2, 4], seed: [7, 8]}"), "2 7 | 4 8");
}

// Columns in order of appearance; what a point does not say stays as it is in the base.
TEST(SweepPoints, AListIsTakenAsItIs) {
  EXPECT_EQ(points("combine: list\npoints: [{cluster.nodes: 2}, {seed: 3, cluster.nodes: 4}, {seed: 4}]"), "2 - | 4 3 | - 4");
}

// 0.5 to 1.0 by 0.25: three values. Without a step it is one of the last digit: 8, 9, 10. 2, 5, 8 stop below 10.
TEST(SweepPoints, RangesAreExactDecimals) {
  EXPECT_EQ(points("axes: {cluster.fabric.oversubscription: {from: 0.5, to: 1.0, step: 0.25}}"), "0.5 | 0.75 | 1");
  EXPECT_EQ(points("axes: {cluster.host_link.latency: {from: 0.8 us, to: 1.0 us}}"), "0.8 us | 0.9 us | 1 us");
  EXPECT_EQ(points("axes: {seed: {from: 2, to: 10, step: 3}}"), "2 | 5 | 8");
}

// 1, 2, 4, 8 and the next would be 16 > 15. 0.25 x 3^k: 0.25, 0.75, 2.25; a unit stays what it is.
TEST(SweepPoints, RangesMayGrowByAFactor) {
  EXPECT_EQ(points("axes: {seed: {from: 1, to: 15, factor: 2}}"), "1 | 2 | 4 | 8");
  EXPECT_EQ(points("axes: {seed: {from: 1, to: 16, factor: 2}}"), "1 | 2 | 4 | 8 | 16");
  EXPECT_EQ(points("axes: {cluster.fabric.oversubscription: {from: 0.25, to: 2.3, factor: 3}}"), "0.25 | 0.75 | 2.25");
  EXPECT_EQ(points("axes: {cluster.fabric_link.speed: {from: 100 Gbps, to: 400 Gbps, factor: 2}}"),
            "100 Gbps | 200 Gbps | 400 Gbps");
}

TEST(SweepPoints, AxesMayBeNested) {
  EXPECT_EQ(points("axes: {job: {seq_len: [1024, 2048], micro_batch: [1]}, seed: [1]}"), "1024 1 1 | 2048 1 1");
}

// Of 2 x 3 points the rule takes those with 2 nodes and seed 7 or 9.
TEST(SweepPoints, ExclusionsTakePointsWithAllTheirValues) {
  EXPECT_EQ(points("axes: {cluster.nodes: [2, 4], seed: [7, 8, 9]}\nexclude: [{cluster.nodes: 2, seed: [7, 9]}]"),
            "2 8 | 4 7 | 4 8 | 4 9");
  EXPECT_EQ(points("axes: {cluster.nodes: [2, 4], seed: {from: 0, to: 2}}\nexclude: [{seed: 1}, {cluster.nodes: 4}]"),
            "2 0 | 2 2");
}

TEST(SweepPoints, ValuesMayBeLists) {
  EXPECT_EQ(points("axes: {job.placement: [[0-31], [16-31, 0-15]]}"), "[0-31] | [16-31, 0-15]");
}

TEST(SweepPoints, SetChangesAnAxis) {
  EXPECT_EQ(points("axes: {cluster.nodes: [2, 4], seed: [1, 2]}", {"axes.cluster.nodes=[1]", "axes.seed={from: 0, to: 1}"}),
            "1 0 | 1 1");
}

// n samples of an axis with n values under latin_hypercube use each value once: parts and values are the same.
TEST(SweepPoints, ALatinHypercubeUsesEveryPartOfEveryAxisOnce) {
  const Sweep sweep = good_sweep(
      "combine: latin_hypercube\nsamples: 50\naxes: {seed: {from: 0, to: 49}, cluster.host_link.latency: {from: 1 ns, to: 50 "
      "ns}}");
  std::set<std::string> seeds;
  std::set<std::string> latencies;
  bool is_mixed = false;
  for (std::size_t i = 0; i < sweep.size(); ++i) {
    const std::vector<std::string> labels = sweep.labels(i);
    seeds.insert(labels[0]);
    latencies.insert(labels[1]);
    is_mixed = is_mixed || std::stoi(labels[0]) + 1 != std::stoi(labels[1]);
  }
  EXPECT_EQ(seeds.size(), 50u);
  EXPECT_EQ(latencies.size(), 50u);
  EXPECT_TRUE(is_mixed);
}

// 1,000 draws from ten values: each is expected 100 times with a standard deviation of 9.5; 60 to 140 is four of them.
TEST(SweepPoints, RandomDrawsAreUniformAndKeepThoseOfFewerSamples) {
  const std::string axes = "axes: {seed: {from: 0, to: 9}}\ncombine: random\n";
  const Sweep sweep = good_sweep(axes + "samples: 1000");
  std::vector<int> count(10, 0);
  for (std::size_t i = 0; i < sweep.size(); ++i) ++count[static_cast<std::size_t>(std::stoi(sweep.labels(i)[0]))];
  for (const int c : count) {
    EXPECT_GT(c, 60);
    EXPECT_LT(c, 140);
  }
  const Sweep first = good_sweep(axes + "samples: 20");
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first.labels(i), sweep.labels(i)) << i;
  EXPECT_NE(points_of(first), points_of(good_sweep(axes + "samples: 20\nsample_seed: 1")));
}

// An axis draws by its path, so another axis beside it changes nothing.
TEST(SweepPoints, AxesDrawIndependently) {
  const std::string text = "combine: latin_hypercube\nsamples: 8\naxes: {seed: {from: 0, to: 99}";
  const Sweep alone = good_sweep(text + "}");
  const Sweep beside = good_sweep(text + ", cluster.nodes: [2, 4]}");
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(alone.labels(i)[0], beside.labels(i)[0]);
}

}  // namespace
}  // namespace lockstep
