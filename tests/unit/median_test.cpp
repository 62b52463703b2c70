// SPDX-License-Identifier: Apache-2.0
#include "base/median.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoThere) {
  EXPECT_EQ(median({7, 1, 3}), 3);
  EXPECT_EQ(median({8, 1, 2, 4}), 3);
  EXPECT_EQ(median({5, 2}), 3.5);
  EXPECT_EQ(median({5}), 5);
  EXPECT_EQ(median({}), 0);
}

}  // namespace
}  // namespace lockstep
