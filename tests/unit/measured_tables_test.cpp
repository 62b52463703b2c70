// SPDX-License-Identifier: Apache-2.0
// Tables of nccl-tests from CSV, and the statistics of a suite about sizes.
#include "sim/experiment/measured_tables.h"

#include <gtest/gtest.h>

#include <sstream>

#include "sim/report/size_statistics_report.h"
#include "tests/support/shipped.h"

namespace lockstep {
namespace {

constexpr const char* kHeader =
    "table_id,source,collective,gpu_type,n_gpus,n_nodes,gpus_per_node,intra_fabric,inter_fabric,size_bytes,time_us,busbw_"
    "GBps\n";

struct Read {
  std::vector<MeasuredTable> tables;
  std::vector<SkippedRow> skipped;
  std::string errors;
};

Read read(const std::string& text) {
  std::istringstream csv(text);
  Diagnostics d;
  Read r;
  r.tables = read_measured_tables(csv, "t.csv", test::shipped(), r.skipped, d);
  r.errors = test::messages(d);
  return r;
}

TEST(MeasuredTables, LinesOfATableAreGatheredWhereverTheyStand) {
  const Read r = read(std::string(kHeader) +
                      "a,who/what README,all_reduce,H100,8,1,8,NVLink4,none,1024,20,0.1\n"
                      "b,who/what README,alltoall,A100,16,2,8,NVLink3,8x200G HDR IB,4096,50,\n"
                      "a,who/what README,all_reduce,H100,8,1,8,NVLink4,none,2048,21,0.2\n");
  EXPECT_EQ(r.errors, "");
  ASSERT_EQ(r.tables.size(), 2u);
  EXPECT_EQ(r.tables[0].name, "a");
  EXPECT_EQ(r.tables[0].source, "who/what");
  EXPECT_EQ(r.tables[0].cluster.name, "1 x dgx-h100");
  ASSERT_EQ(r.tables[0].rows.size(), 2u);
  EXPECT_EQ(r.tables[0].rows[1].bytes, 2048);
  EXPECT_EQ(r.tables[0].rows[1].line, 4);
  EXPECT_DOUBLE_EQ(r.tables[0].rows[1].seconds, 21e-6);
  EXPECT_EQ(r.tables[1].kind, CollectiveKind::kAllToAll);
  EXPECT_EQ(r.tables[1].cluster.name, "2 x dgx-a100, ib-8x200");
  EXPECT_EQ(r.tables[1].members.size(), 16u);
}

// busbw = 2 (n-1)/n bytes / time: 8 GPUs, 1e9 bytes at 175 GB/s take 1.75e9 / 175e9 s = 10 ms.
TEST(MeasuredTables, WhereOnlyBusBandwidthIsPublishedItGivesTheTime) {
  const Read r = read(std::string(kHeader) + "a,s,AllReduce,H100,8,1,8,NVLink4,none,1000000000,,175\n");
  ASSERT_EQ(r.tables.size(), 1u);
  EXPECT_DOUBLE_EQ(r.tables[0].rows[0].seconds, 0.01);
}

TEST(MeasuredTables, WhatCannotBeRunIsListedWithItsReason) {
  const Read r = read(std::string(kHeader) +
                      "a,s,all_reduce,H100,8,1,8,NVLink4,none,0,20,0\n"
                      "a,s,all_reduce,H100,8,1,8,NVLink4,none,big,20,1\n"
                      "a,s,all_reduce,H100,8,1,8,NVLink4,none,1024,,0.00\n"
                      "a,s,all_reduce,H100,8,1,8,NVLink4,none,1024,-5,\n"
                      "b,s,gather,H100,8,1,8,NVLink4,none,1024,20,0.1\n"
                      "c,s,all_reduce,TPU,8,1,8,ICI,none,1024,20,0.1\n"
                      "d,s,all_reduce,H100,many,1,8,NVLink4,none,1024,20,0.1\n"
                      "e,s,all_reduce,H100,16,2,8,NVLink4,8x999999G IB,1024,20,0.1\n");
  EXPECT_EQ(r.errors, "");
  std::vector<std::string> reasons;
  for (const SkippedRow& s : r.skipped) reasons.push_back(s.source + std::to_string(s.row) + " " + s.reason);
  ASSERT_EQ(reasons.size(), 8u);
  EXPECT_EQ(reasons[0], "a2 the size is not published");
  EXPECT_EQ(reasons[1], "a3 the size is not published");
  EXPECT_EQ(reasons[2], "a4 neither time nor bus bandwidth is published");
  EXPECT_EQ(reasons[3], "a5 neither time nor bus bandwidth is published");
  EXPECT_EQ(reasons[4], "b6 'gather' is no collective");
  EXPECT_EQ(reasons[5], "c7 no server is described for the GPU 'TPU'");
  EXPECT_EQ(reasons[6], "d8 the numbers of GPUs and nodes cannot be read");
  EXPECT_TRUE(reasons[7].starts_with("e9 ")) << reasons[7];
}

// A rate that is written and cannot be is not replaced by that of the machine.
TEST(MeasuredTables, ARateThatNoNicHasRefusesTheTable) {
  const Read r = read(std::string(kHeader) +
                      "a,s,all_reduce,H100,16,2,8,NVLink4,IB 8x0Gb/s,1024,20,0.1\n"
                      "b,s,all_reduce,H100,16,2,8,NVLink4,IB 8x9999999999Gb/s,1024,20,0.1\n");
  ASSERT_EQ(r.skipped.size(), 2u);
  EXPECT_EQ(r.skipped[0].reason, "no NIC has the rate in 'IB 8x0Gb/s'");
  EXPECT_EQ(r.skipped[1].reason, "no NIC has the rate in 'IB 8x9999999999Gb/s'");
}

TEST(MeasuredTables, AMissingColumnIsAnError) {
  EXPECT_NE(read("table_id,source\n").errors.find("t.csv:1:1: error: the column 'collective' is missing"), std::string::npos);
}

SuiteResult sized(std::vector<std::pair<std::int64_t, double>> size_and_predicted) {
  SuiteResult r{.suite = "s"};
  for (const auto& [size, predicted] : size_and_predicted) {
    r.predictions.push_back({.source = "t", .measured = 1, .predicted = predicted, .publisher = "p", .size_bytes = size});
  }
  return r;
}

// From 1 MiB up errors of -10, +20 and +60 %: median 20 %, bias 70/3 %. Below ratios of 0.5, 2 and 2.01: two of three are within a factor of two.
TEST(SizeStatistics, LargeSizesHaveErrorsAndSmallOnesFactors) {
  constexpr std::int64_t kMiB = 1 << 20;
  const SuiteResult r = sized({{kMiB, 0.9}, {kMiB, 1.2}, {2 * kMiB, 1.6}, {8, 0.5}, {kMiB - 1, 2}, {1000, 2.01}});
  const SizeGroups groups = size_groups(r);
  EXPECT_EQ(groups.all.large.rows, 3u);
  EXPECT_NEAR(groups.all.large.median_abs_error, 0.2, 1e-12);
  EXPECT_NEAR(groups.all.large.p90_abs_error, 0.6, 1e-12);
  EXPECT_NEAR(groups.all.large.bias, 0.7 / 3, 1e-12);
  EXPECT_EQ(groups.all.small_rows, 3u);
  EXPECT_DOUBLE_EQ(groups.all.within_two_share(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(groups.all.small_median_ratio, 2);
  ASSERT_EQ(groups.decades.size(), 3u);
  EXPECT_EQ(groups.decades[0].name, "1 to 10 B");
  EXPECT_EQ(groups.decades[1].name, "1 to 10 kB");
  EXPECT_EQ(groups.decades[2].name, "1 to 10 MB");
  EXPECT_EQ(groups.tables.size(), 1u);
  EXPECT_EQ(groups.publishers.size(), 1u);
}

TEST(SizeStatistics, ALimitIsAMostOrALeast) {
  EXPECT_TRUE((Limit{.asked = 0.12, .found = 0.12}).holds());
  EXPECT_FALSE((Limit{.asked = 0.12, .found = 0.13}).holds());
  EXPECT_TRUE((Limit{.asked = 0.75, .found = 0.75, .is_least = true}).holds());
  EXPECT_FALSE((Limit{.asked = 0.75, .found = 0.74, .is_least = true}).holds());
}

}  // namespace
}  // namespace lockstep
