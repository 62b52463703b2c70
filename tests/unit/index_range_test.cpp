// SPDX-License-Identifier: Apache-2.0
#include "base/index_range.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

using Indices = std::vector<std::int64_t>;

Indices indices(std::string_view text) {
  const Parsed<IndexRange> range = Codec<IndexRange>::parse(text);
  if (!range) return {};
  return all_indices(std::vector{*range.value});
}

TEST(IndexRange, HoldsBothEnds) {
  EXPECT_EQ(indices("12"), (Indices{12}));
  EXPECT_EQ(indices("0-3"), (Indices{0, 1, 2, 3}));
  EXPECT_EQ(indices("7-7"), (Indices{7}));
}

TEST(IndexRange, StepsUpToItsEnd) {
  EXPECT_EQ(indices("0-6:2"), (Indices{0, 2, 4, 6}));
  EXPECT_EQ(indices("1-6:3"), (Indices{1, 4}));
  EXPECT_EQ(IndexRange(1, 6, 3).count(), 2);
  EXPECT_EQ(IndexRange(1, 6, 3).highest(), 4);
}

TEST(IndexRange, ListsKeepTheirOrder) {
  const std::vector<IndexRange> list = {IndexRange(4, 6, 1), 0, IndexRange(1, 3, 2)};
  EXPECT_EQ(index_count(list), 6);
  EXPECT_EQ(all_indices(list), (Indices{4, 5, 6, 0, 1, 3}));
}

TEST(IndexRange, PrintsWhatItReads) {
  for (const char* text : {"0", "0-7", "0-62:2", "2147483648"}) {
    const Parsed<IndexRange> range = Codec<IndexRange>::parse(text);
    ASSERT_TRUE(range) << text;
    EXPECT_EQ(Codec<IndexRange>::print(*range.value), text);
  }
}

TEST(IndexRange, FaultsAreNamed) {
  const auto error = [](std::string_view text) { return Codec<IndexRange>::parse(text).error; };
  EXPECT_EQ(error("7-0"), "'7-0' runs backwards");
  EXPECT_EQ(error("0-7:0"), "'0-7:0' has a step below 1");
  EXPECT_EQ(error("-1"), "'-1' counts from below 0");
  EXPECT_EQ(error("0-2147483649"), "'0-2147483649' goes beyond 2147483648");
  for (const char* text : {"", "-", "1-", "1-2:", "a", "1-b", "1:2", "1-2-3", "1-2:3:4", "010-12"}) {
    EXPECT_FALSE(Codec<IndexRange>::parse(text)) << text;
  }
}

}  // namespace
}  // namespace lockstep
