// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/traffic_table.h"

#include <gtest/gtest.h>

#include <sstream>

namespace lockstep {
namespace {

struct Read {
  TrafficTable table;
  std::vector<std::string> messages;
};

Read read(const std::string& text, std::size_t endpoints = 8) {
  std::istringstream in(text);
  Diagnostics d;
  Read r{read_traffic(in, "f.csv", endpoints, d), {}};
  for (const Diagnostic& item : d.items()) r.messages.push_back(to_text(item));
  return r;
}

using Messages = std::vector<std::string>;

TEST(TrafficTable, FindsColumnsByNameInAnyOrderThroughQuotesBomAndCrlf) {
  const Read r = read(
      "\xEF\xBB\xBF"
      "bytes,after,dst,\"src\"\r\n\r\n10,,1,0\r\n\"20\",0,2,1\r\n30,0;1,3,\"2\"");
  EXPECT_EQ(r.messages, Messages{});
  ASSERT_EQ(r.table.size(), 3u);
  EXPECT_EQ(r.table.src[2], EndpointId(2));
  EXPECT_EQ(r.table.dst[2], EndpointId(3));
  EXPECT_EQ(r.table.bytes[1], 20);
  EXPECT_EQ(r.table.path[0], TrafficTable::kRouted);
  EXPECT_EQ(std::vector<std::uint32_t>(r.table.after(2).begin(), r.table.after(2).end()), (std::vector<std::uint32_t>{0, 1}));
}

// 12 decimals are exact; 1.5 s = 1,500,000,000,000 ps; exponents are numbers too.
TEST(TrafficTable, ReadsTimesAsWholePicoseconds) {
  const Read r = read("src,dst,bytes,start_s,path\n0,1,1,0.000000000001,3\n0,1,1,1.5,-1\n0,1,1,2e-6,\n0,1,1,,0\n");
  EXPECT_EQ(r.messages, Messages{});
  EXPECT_EQ(r.table.not_before[0], Duration::picos(1));
  EXPECT_EQ(r.table.not_before[1], Duration::picos(1'500'000'000'000));
  EXPECT_EQ(r.table.not_before[2], Duration::micros(2));
  EXPECT_EQ(r.table.not_before[3], Duration::picos(0));
  EXPECT_EQ(r.table.path, (std::vector<std::int64_t>{3, -1, -1, 0}));
}

TEST(TrafficTable, NeedsItsColumnsAndKnowsNoOthers) {
  EXPECT_EQ(
      read("src,dst,size\n0,1,5\n").messages,
      (Messages{
          "f.csv:1:1: error: there is no column 'bytes' (the first line must name the columns: "
          "src,dst,bytes[,start_s][,path][,after])",
          "f.csv:1:1: error: there is no meaning for a column 'size' (known are src, dst, bytes, start_s, path and after)"}));
  EXPECT_EQ(read("src,dst,bytes,starts\n0,1,5,0\n").messages,
            (Messages{"f.csv:1:1: error: there is no meaning for a column 'starts' (did you mean 'start_s'?)"}));
  EXPECT_FALSE(read("").messages.empty());
}

TEST(TrafficTable, NamesTheCellThatIsWrong) {
  const Read r = read(
      "src,dst,bytes,start_s,path\n"
      "0,8,5,0,0\n"
      "-1,1,5,0,0\n"
      "0,1,-5,0,0\n"
      "0,1,9223372036854775808,0,0\n"
      "0,1,nan,0,0\n"
      "0,1,,0,0\n"
      "0,1,1,-2,0\n"
      "0,1,1,inf,0\n"
      "0,1,1,1e-13,0\n"
      "0,1,1,99999999,0\n"
      "0,1,1,9223372.036854775807,0\n"
      "0,1,1,0,-2\n"
      "3,3,1,0,0\n"
      "0,1\n");
  ASSERT_EQ(r.messages.size(), 14u);
  EXPECT_EQ(r.messages[0], "f.csv:2:3: error: dst: there is no endpoint 8 (the cluster has 8, numbered from 0)");
  EXPECT_EQ(r.messages[1], "f.csv:3:1: error: src: there is no endpoint -1 (the cluster has 8, numbered from 0)");
  EXPECT_EQ(r.messages[2], "f.csv:4:5: error: bytes: -5 bytes: a size cannot be negative");
  EXPECT_EQ(r.messages[3], "f.csv:5:5: error: bytes: '9223372036854775808' is beyond 9223372036854775807");
  EXPECT_EQ(r.messages[4].substr(0, 26), "f.csv:6:5: error: bytes: '");
  EXPECT_EQ(r.messages[5], "f.csv:7:5: error: bytes: the value is missing");
  EXPECT_EQ(r.messages[6], "f.csv:8:7: error: start_s: '-2': a flow cannot start before 0");
  EXPECT_EQ(r.messages[7].substr(0, 25), "f.csv:9:7: error: start_s");
  EXPECT_EQ(r.messages[8], "f.csv:10:7: error: start_s: '1e-13' is finer than a picosecond (at most 12 decimals)");
  EXPECT_EQ(r.messages[9], "f.csv:11:7: error: start_s: '99999999' is beyond the range of time (about 106 days)");
  EXPECT_EQ(r.messages[10], "f.csv:12:7: error: start_s: '9223372.036854775807' is beyond the range of time (about 106 days)");
  EXPECT_EQ(r.messages[11],
            "f.csv:13:9: error: path: there is no path -2 (paths count from 0; empty or -1 leaves it to routing)");
  EXPECT_EQ(r.messages[12], "f.csv:14:3: error: dst: a flow from endpoint 3 to itself (a flow needs two different endpoints)");
  EXPECT_EQ(r.messages[13].substr(0, 16), "f.csv:15:1: erro");
}

// Row 1 waits for row 2 further down, which waits for row 0: no circle.
TEST(TrafficTable, AcceptsForwardReferences) {
  EXPECT_EQ(read("src,dst,bytes,after\n0,1,1,\n0,1,1,2\n0,1,1,0\n").messages, Messages{});
}

TEST(TrafficTable, NamesTheRowsOfACircle) {
  EXPECT_EQ(read("src,dst,bytes,after\n0,1,1,\n0,1,1,3\n0,1,1,1\n0,1,1,0;2\n").messages,
            (Messages{"f.csv:3:7: error: after: 3 rows wait for each other: row 1 after 3 after 2 after 1 (none of them could "
                      "ever start)"}));
  EXPECT_EQ(read("src,dst,bytes,after\n0,1,1,0\n").messages,
            (Messages{"f.csv:2:7: error: after: 1 rows wait for each other: row 0 after 0 (none of them could ever start)"}));
}

// The row that only waits for the circle is not part of it.
TEST(TrafficTable, LeavesBystandersOutOfTheCircle) {
  EXPECT_EQ(
      read("src,dst,bytes,after\n0,1,1,2\n0,1,1,2\n0,1,1,1\n").messages,
      (Messages{"f.csv:3:7: error: after: 2 rows wait for each other: row 1 after 2 after 1 (none of them could ever start)"}));
}

TEST(TrafficTable, NamesRowsThatDoNotExist) {
  EXPECT_EQ(read("src,dst,bytes,after\n0,1,1,\n0,1,1,0;7\n0,1,1,x\n").messages.size(), 2u);
  EXPECT_EQ(read("src,dst,bytes,after\n0,1,1,\n0,1,1,0;7\n").messages,
            (Messages{"f.csv:3:7: error: after: there is no row 7 (there are 2 rows, counted from 0 without the header)"}));
}

TEST(TrafficTable, StopsAfterAHundredErrors) {
  std::string text = "src,dst,bytes\n";
  for (int i = 0; i < 5000; ++i) text += "9,1,1\n";
  const Read r = read(text);
  EXPECT_EQ(r.messages.size(), 101u);
  EXPECT_EQ(r.messages.back(), "f.csv: error: too many errors, the rest was not read");
}

}  // namespace
}  // namespace lockstep
