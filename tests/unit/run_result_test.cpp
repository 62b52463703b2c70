// SPDX-License-Identifier: Apache-2.0
#include "sim/report/run_result.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

RunResult step_of_a_second(TimeClass waits_for, double seconds) {
  RunResult r;
  r.step_time_s = 1;
  r.breakdown_s[static_cast<std::size_t>(TimeClass::kCompute)] = 1 - seconds;
  r.breakdown_s[static_cast<std::size_t>(waits_for)] = seconds;
  r.links = {{.name = "node0.pcie>node0.nic0", .tier = "pcie", .utilization = 0.9}};
  return r;
}

TEST(Bottleneck, IsTheBubbleOnlyWithAPipeline) {
  RunResult r = step_of_a_second(TimeClass::kBubble, 0.25);
  EXPECT_EQ(
      bottleneck_sentence(r),
      "the slowest ranks: GPUs wait for them 25 % of the step; evenly loaded links, as routing: spray makes them, would help");
  r.stages = 4;
  EXPECT_EQ(bottleneck_sentence(r),
            "the pipeline bubble: GPUs wait for it 25 % of the step; more micro-batches per step or fewer stages would help");
}

// A NIC behind a slow host path gains nothing from a faster line.
TEST(Bottleneck, AsksForNoFasterNetworkWherePcieIsFull) {
  RunResult r = step_of_a_second(TimeClass::kDp, 0.25);
  EXPECT_EQ(
      bottleneck_sentence(r),
      "data-parallel communication: GPUs wait for it 25 % of the step, the busiest link is node0.pcie>node0.nic0 (pcie, "
      "90 % used); more NICs per node, GPUDirect where it is missing, a larger micro-batch or more accumulation would help");
  r.links.front().tier = "host";
  EXPECT_NE(bottleneck_sentence(r).find("more network bandwidth per GPU"), std::string::npos);
}

TEST(Bottleneck, IsComputeWhenNoWaitTakesATwentieth) {
  EXPECT_EQ(bottleneck_sentence(step_of_a_second(TimeClass::kDp, 0.04)),
            "compute: GPUs compute 96 % of the step; no other part takes more than 4 %");
}

}  // namespace
}  // namespace lockstep
