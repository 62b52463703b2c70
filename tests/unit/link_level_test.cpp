// SPDX-License-Identifier: Apache-2.0
#include "sim/network/max_min/link_level.h"

#include <gtest/gtest.h>

namespace lockstep::max_min {
namespace {

std::int64_t level(std::int64_t capacity, const std::vector<LevelShare>& shares) { return link_level(capacity, shares); }

// 10 {2, 3, 8}: floor(10 / 3) = 3 > 2; floor(8 / 2) = 4 > 3; floor(5 / 1) = 5 <= 8.
TEST(LinkLevel, PassesWhoeverIsBelow) { EXPECT_EQ(level(10, {{2, 1}, {3, 1}, {8, 1}}), 5); }

// The same in any order: the definition sorts, the computation must not depend on it.
TEST(LinkLevel, DoesNotDependOnTheOrder) { EXPECT_EQ(level(10, {{8, 1}, {2, 1}, {3, 1}}), 5); }

// 100 {2, 3, 8}: 33 > 2, 49 > 3, 95 > 8: all are passed.
TEST(LinkLevel, IsNoneWhenNobodyIsHeldBack) { EXPECT_EQ(level(100, {{2, 1}, {3, 1}, {8, 1}}), kNoLevel); }

// 3 {1, 2}: floor(3 / 2) = 1 does not exceed 1, so the level is 1 although the second entity is above it and the load just fits.
TEST(LinkLevel, HoldsEqualsToTheRoundedShare) { EXPECT_EQ(level(3, {{1, 1}, {2, 1}}), 1); }

// 12 {1 x 2, unknown x 5}: floor(12 / 7) = 1 does not exceed 1.  13 {0 x 2, unknown x 5}: 1 > 0; floor(13 / 5) = 2.
TEST(LinkLevel, CountsCoefficients) {
  EXPECT_EQ(level(12, {{1, 2}, {kNoLevel, 5}}), 1);
  EXPECT_EQ(level(13, {{0, 2}, {kNoLevel, 5}}), 2);
}

TEST(LinkLevel, OfADeadLinkIsZero) { EXPECT_EQ(level(0, {{0, 1}, {kNoLevel, 1}}), 0); }
TEST(LinkLevel, OfAnEmptyLinkIsNone) { EXPECT_EQ(level(5, {}), kNoLevel); }

}  // namespace
}  // namespace lockstep::max_min
