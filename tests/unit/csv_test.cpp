// SPDX-License-Identifier: Apache-2.0
#include "base/csv.h"

#include <gtest/gtest.h>

#include <sstream>

namespace lockstep {
namespace {

std::vector<std::vector<std::string>> rows(const std::string& text, Diagnostics& d) {
  std::istringstream in(text);
  CsvReader reader(in, "t.csv", d);
  std::vector<std::vector<std::string>> out;
  while (reader.next()) {
    out.emplace_back();
    for (std::size_t i = 0; i < reader.columns().size(); ++i) out.back().emplace_back(reader[i]);
  }
  return out;
}

using Rows = std::vector<std::vector<std::string>>;

TEST(Csv, ReadsWhatSpreadsheetsWrite) {
  Diagnostics d;
  EXPECT_EQ(rows("\xEF\xBB\xBF"
                 "a,b\r\n1,\"x, \"\"y\"\"\"\r\n\r\n2,\"two\nlines\"\r\n3,",
                 d),
            (Rows{{"1", "x, \"y\""}, {"2", "two\nlines"}, {"3", ""}}));
  EXPECT_TRUE(d.items().empty());
}

TEST(Csv, KeepsLineAndColumn) {
  std::istringstream in("a,b\n\n1,\"x\ny\"\n7,8\n");
  Diagnostics d;
  CsvReader reader(in, "t.csv", d);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.position(1).line, 3);
  EXPECT_EQ(reader.position(1).column, 3);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.line(), 5);
  EXPECT_EQ(reader.position(1).column, 3);
  EXPECT_FALSE(reader.next());
}

TEST(Csv, RefusesRaggedRowsAndOpenQuotes) {
  Diagnostics d;
  EXPECT_EQ(rows("a,b\n1\n2,3\n", d), (Rows{{"2", "3"}}));
  ASSERT_EQ(d.items().size(), 1u);
  EXPECT_EQ(d.items()[0].message, "the row has 1 fields where the header has 2");
  EXPECT_EQ(d.items()[0].position.line, 2);
  Diagnostics open;
  rows("a,b\n1,\"x\n", open);
  ASSERT_FALSE(open.items().empty());
  EXPECT_EQ(open.items()[0].message, "a quoted field is not closed");
}

TEST(Csv, RefusesAHeaderWithoutNames) {
  for (const char* text : {"", "\n\n", "a,,b\n", "a,b,a\n"}) {
    Diagnostics d;
    rows(text, d);
    EXPECT_TRUE(d.has_errors()) << text;
  }
}

// Longer than the reader's buffer: a field may straddle a refill.
TEST(Csv, FieldsMayStraddleTheBuffer) {
  std::string text = "a,b\n";
  for (int i = 0; i < 20000; ++i) text += std::to_string(i) + ",\"" + std::to_string(i) + "\"\n";
  Diagnostics d;
  const Rows all = rows(text, d);
  ASSERT_EQ(all.size(), 20000u);
  for (int i = 0; i < 20000; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], (std::vector<std::string>(2, std::to_string(i))));
}

}  // namespace
}  // namespace lockstep
