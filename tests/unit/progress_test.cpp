// SPDX-License-Identifier: Apache-2.0
// What a progress line says. That it appears on a terminal and not in a log: tests/cli/sweep_test.cpp.
#include "sim/cli/progress.h"

#include <gtest/gtest.h>

namespace lockstep::cli {
namespace {

// 40 of 100 done in 2 s, none of them found: 20 per second, 60 left in 3 s.
TEST(Progress, OfASweepSaysRateAndTimeLeft) {
  EXPECT_EQ(sweep_progress_text({.points = 100, .done = 40}, 2), "40 of 100 points, 20.0 per second, 3 s left");
}

// 40 done in 2 s, 30 of which were in the store: 5 per second, so the other 60 take 12 s, not 3.
TEST(Progress, DoesNotCountWhatWasStored) {
  EXPECT_EQ(sweep_progress_text({.points = 100, .done = 40, .found = 30, .failed = 2}, 2),
            "40 of 100 points, 2 failed, 5.0 per second, 12 s left");
}

// No rate yet, no guess.
TEST(Progress, SaysNoTimeLeftBeforeAnythingRan) {
  EXPECT_EQ(sweep_progress_text({.points = 9, .done = 4, .found = 4}, 2), "4 of 9 points");
}

// One point in 10 s: 7 more take 70 s, 1000 more 10,000 s = 2 h 46 min 40 s.
TEST(Progress, TellsLongTimesInMinutesAndHours) {
  EXPECT_EQ(sweep_progress_text({.points = 8, .done = 1}, 10), "1 of 8 points, 0.1 per second, 1 min 10 s left");
  EXPECT_EQ(sweep_progress_text({.points = 1001, .done = 1}, 10), "1 of 1001 points, 0.1 per second, 2 h 46 min left");
}

// 3 million events in 2 s.
TEST(Progress, OfARunSaysEventsAndTheirRate) {
  const Instant now = Instant::picos(125'000'000'000);
  EXPECT_EQ(run_progress_text(now, 3'000'000, 2), "simulated 0.125 s, 3.0 million events, 1.5 million per second");
}

}  // namespace
}  // namespace lockstep::cli
