// SPDX-License-Identifier: Apache-2.0
// What nccl-tests prints, with the quirks that real logs have.
#include "sim/experiment/calibration/nccl_output.h"

#include <gtest/gtest.h>

#include <sstream>

namespace lockstep {
namespace {

struct Read {
  std::vector<NcclTable> tables;
  std::vector<std::string> messages;
};

Read read(const std::string& text, const std::string& file = "run.log") {
  Diagnostics d;
  Read r;
  r.tables = read_nccl_log(text, file, d);
  for (const Diagnostic& item : d.items()) r.messages.push_back(to_text(item));
  return r;
}

const std::string kHeader =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";
const std::string kRow =
    "     1048576        262144     float     sum      -1    61.50   17.05   29.84      0    60.90   17.22   30.13      0\n";

TEST(NcclOutput, RanksHostsAndRowsAreRead) {
  const Read r = read(
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 validation: 1 graph: 0\n#\n"
      "# Using devices\n"
      "#  Rank  0 Group  0 Pid  41233 on     node-a device  0 [0x07] NVIDIA A100-SXM4-80GB\n"
      "#  Rank  1 Group  0 Pid  41234 on     node-a device  1 [0x0f] NVIDIA A100-SXM4-80GB\n"
      "#  Rank  2 Group  0 Pid  51233 on     node-b device  0 [0000:07:00] NVIDIA A100-SXM4-80GB\n"
      "#  Rank  3 Group  0 Pid  51234 on     node-b device  1 [0000:0f:00] NVIDIA A100-SXM4-80GB\n#\n" +
          kHeader + kRow + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 29.9851\n",
      "/data/all_gather.log");
  EXPECT_EQ(r.messages, std::vector<std::string>{});
  ASSERT_EQ(r.tables.size(), 1u);
  const NcclTable& t = r.tables[0];
  EXPECT_EQ(t.name, "all_gather.log");
  EXPECT_EQ(t.kind, CollectiveKind::kAllReduce);  // the log's busbw is above its algbw; but see the next test
  EXPECT_EQ(t.gpus, 4);
  EXPECT_EQ(t.nodes, 2);
  EXPECT_EQ(t.gpu_name, "NVIDIA A100-SXM4-80GB");
  ASSERT_EQ(t.rows.size(), 1u);
  EXPECT_EQ(t.rows[0].bytes, 1 << 20);
  EXPECT_DOUBLE_EQ(t.rows[0].seconds, 61.5e-6);
}

TEST(NcclOutput, TheProgramsNameSaysTheCollective) {
  const std::string equal =
      "        1024           256     float    none      -1    20.00    0.05    0.05      0    20.00    0.05    0.05      0\n";
  EXPECT_EQ(read("+ ./build/reduce_scatter_perf -b 8 -e 8G -g 8\n" + kHeader + equal).tables[0].kind,
            CollectiveKind::kReduceScatter);
  EXPECT_EQ(read("# Collective test starting: alltoall_perf\n" + kHeader + equal).tables[0].kind, CollectiveKind::kAllToAll);
  EXPECT_EQ(read(kHeader + equal, "logs/nccl_AllGather_8.txt").tables[0].kind, CollectiveKind::kAllGather);
  EXPECT_FALSE(read(kHeader + equal, "run7.txt").tables[0].kind);
}

// 2 (n - 1) / n = 29.84 / 17.05 = 1.75: eight GPUs.
TEST(NcclOutput, WithoutRanksTheFactorOfAllReduceSaysHowManyGpus) { EXPECT_EQ(read(kHeader + kRow).tables[0].gpus, 8); }

// 0.12 / 0.07 is 1.71, which would be seven GPUs, but the figures are rounded to 0.01: 0.125 / 0.065 is 1.92 and 0.115 / 0.075 is 1.53.
TEST(NcclOutput, RoundedFiguresDoNotSayHowManyGpus) {
  const NcclTable t = read("# all_reduce_perf\n" + kHeader +
                           "        1024           256     float     sum      -1    14.60    0.07    0.12      0    14.60    "
                           "0.07    0.12      0\n")
                          .tables[0];
  EXPECT_EQ(t.gpus, 0);
  EXPECT_TRUE(read(kHeader + kRow).tables[0].are_gpus_guessed);
  EXPECT_TRUE(read(kHeader + kRow).tables[0].is_kind_guessed);
  EXPECT_FALSE(t.is_kind_guessed);
}

// The second run does not say what it is, and 0.05 of 0.05 could be anything.
TEST(NcclOutput, AProgramsNameIsThatOfItsOwnTable) {
  const std::string equal =
      "        1024           256     float    none      -1    20.00    0.05    0.05      0    20.00    0.05    0.05      0\n";
  const Read two = read("$ all_reduce_perf -g 8\n# nThread 1\n" + kHeader + kRow + "# nThread 1\n" + kHeader + equal);
  EXPECT_EQ(two.tables[0].kind, CollectiveKind::kAllReduce);
  EXPECT_FALSE(two.tables[1].kind);
  const Read named =
      read("$ all_reduce_perf -g 8\n" + kHeader + kRow + "$ all_gather_perf -g 8\n# nThread 1\n" + kHeader + equal);
  EXPECT_EQ(named.tables[0].kind, CollectiveKind::kAllReduce);
  EXPECT_EQ(named.tables[1].kind, CollectiveKind::kAllGather);
  EXPECT_EQ(read(kHeader + equal + "# Collective test concluded: alltoall_perf\n").tables[0].kind, CollectiveKind::kAllToAll);
}

TEST(NcclOutput, WrongResultsAreToldOnceATable) {
  const std::string wrong =
      "     1048576        262144     float     sum      -1    61.50   17.05   29.84      3    60.90   17.22   30.13      0\n";
  const Read r = read(kHeader + kRow + wrong + wrong);
  ASSERT_EQ(r.messages.size(), 1u);
  EXPECT_NE(r.messages[0].find("run.log:4:"), std::string::npos);
  EXPECT_NE(r.messages[0].find("the check found 3 wrong results"), std::string::npos);
}

// No root, `error` instead of #wrong, a blank redop, N/A for a check that was off.
TEST(NcclOutput, OldVersionsHaveFewerColumns) {
  const std::string header =
      "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n";
  const Read r =
      read("# alltoall_perf\n" + header +
           "        8192           256   float            31.20    0.26    0.23  0e+00    30.10    0.27    0.24  N/A\n");
  EXPECT_EQ(r.messages, std::vector<std::string>{});
  ASSERT_EQ(r.tables.size(), 1u);
  EXPECT_DOUBLE_EQ(r.tables[0].rows[0].seconds, 31.2e-6);
}

// Lines of mpirun and srun carry the rank, NCCL talks in between, and Windows ends lines with CR LF.
TEST(NcclOutput, PrefixesNoiseAndWindowsLineEndsAreSkipped) {
  std::string text;
  std::istringstream lines("#  Rank  0 Pid  7 on host device  0 [0x07] Tesla V100-SXM2-16GB\n" + kHeader + kRow);
  for (std::string line; std::getline(lines, line);) {
    text += "[1,0]<stdout>:" + line + "\r\n";
    text += "[1,1]<stdout>:host:123:456 [1] NCCL INFO Channel 00/24 : 0 1 2 3 4 5 6 7\r\n";
  }
  const Read r = read(text);
  EXPECT_EQ(r.messages, std::vector<std::string>{});
  ASSERT_EQ(r.tables.size(), 1u);
  EXPECT_EQ(r.tables[0].gpu_name, "Tesla V100-SXM2-16GB");
  EXPECT_EQ(r.tables[0].rows.size(), 1u);
  EXPECT_EQ(read("0: " + kHeader.substr(0, kHeader.find('\n')) + "\n0:" + kRow).tables[0].rows.size(), 1u);
}

TEST(NcclOutput, SeveralTablesOfAFileAreNumbered) {
  const std::string run = "# nThread 1 nGpus 8 minBytes 8\n#  Rank  0 Pid 1 on a device 0 [0x07] NVIDIA H100 80GB HBM3\n";
  const Read r = read(run + kHeader + kRow + run + kHeader + kRow + kRow);
  ASSERT_EQ(r.tables.size(), 2u);
  EXPECT_EQ(r.tables[0].name, "run.log table 1");
  EXPECT_EQ(r.tables[1].name, "run.log table 2");
  EXPECT_EQ(r.tables[1].rows.size(), 2u);
  EXPECT_EQ(r.tables[1].gpus, 1);
}

TEST(NcclOutput, WhatCannotBeReadIsToldWithItsLine) {
  EXPECT_EQ(
      read("hello\n").messages[0],
      "run.log: error: has no table of nccl-tests (a line '# size count type ... time algbw busbw ...' with rows below it "
      "is expected)");
  const Read cut = read(kHeader + kRow + "     2097152        524288     float     sum\n");
  ASSERT_EQ(cut.messages.size(), 1u);
  EXPECT_EQ(cut.messages[0],
            "run.log:4:6: warning: looks like a row of the table, but has 4 of 13 columns (the row is not read)");
  const Read odd =
      read(kHeader + kRow +
           "     2097152        524288     float     sum      -1      nan    17.05   29.84      0    60.90   17.22 "
           "  30.13      0\n");
  ASSERT_EQ(odd.messages.size(), 1u);
  const Read huge = read(kHeader + kRow +
                         " 99999999999999999999999        524288     float     sum      -1      5    17.05   29.84      0    "
                         "60.90   17.22   30.13      0\n");
  ASSERT_EQ(huge.messages.size(), 1u);
  EXPECT_EQ(huge.messages[0],
            "run.log:4:2: warning: '99999999999999999999999' is not a number of bytes up to 16 TiB (the row is not read)");
  EXPECT_EQ(odd.messages[0], "run.log:4:59: warning: 'nan' is not a time in microseconds (the row is not read)");
}

TEST(NcclOutput, CsvTablesTakeTheTimeFromWhatThereIs) {
  Diagnostics d;
  std::istringstream csv(
      "table_id,collective,n_gpus,n_nodes,size_bytes,time_us,algbw_GBps,busbw_GBps\n"
      "a,all_reduce,8,1,1000000,50,,\n"
      "a,all_reduce,8,1,2000000,,40,\n"
      "b,alltoall,4,2,3000000,,,30\n"
      "b,alltoall,4,2,4000000,,,\n"
      "b,gather,4,2,4000000,5,,\n");
  const std::vector<NcclTable> tables = read_nccl_csv(csv, "t.csv", d);
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_DOUBLE_EQ(tables[0].rows[0].seconds, 50e-6);
  EXPECT_DOUBLE_EQ(tables[0].rows[1].seconds, 50e-6);  // 2 MB at 40 GB/s
  EXPECT_DOUBLE_EQ(tables[1].rows[0].seconds, 75e-6);  // 3 MB x 3/4 at 30 GB/s
  EXPECT_EQ(tables[1].nodes, 2);
  ASSERT_EQ(d.items().size(), 2u);
  EXPECT_EQ(to_text(d.items()[0]), "t.csv:5:16: warning: has no time (the row is not read)");
  EXPECT_EQ(to_text(d.items()[1]), "t.csv:6:3: warning: no collective is called 'gather' (the row is not read)");
}

}  // namespace
}  // namespace lockstep
