// SPDX-License-Identifier: Apache-2.0
// Why one plan is slower than another: the difference of their steps, split as the time of a rank is.
//
// Of each plan, with the breakdown of its run (a mean over ranks that sums to the step) and its model and hardware flops,
//   recompute = compute (1 - mfu / hfu)     what backward runs again
//   kernels   = compute mfu / hfu           the model's own flops, at the speed that the shapes of this plan allow
//   tp, pp, dp, cp, ep, bubble, other       as they are
// so that the differences of all parts sum to the difference of the steps. Not told apart: recomputation at another speed than the rest.
#pragma once

#include <string>
#include <vector>

#include "sim/experiment/tune/tuned_plan.h"

namespace lockstep {

struct TimePart {
  const char* key = "";
  double seconds = 0;
};
// In fixed order; they sum to the step.
[[nodiscard]] std::vector<TimePart> time_parts(const PlanNumbers& n);
// Parts of `plan` less those of `winner`: the largest first.
[[nodiscard]] std::vector<TimePart> differences(const PlanNumbers& plan, const PlanNumbers& winner);
// "bubble +3.1 %, tp +1.5 %": up to three parts that cost, in hundredths of the winner's step.
[[nodiscard]] std::string reason_text(const PlanNumbers& plan, const PlanNumbers& winner);
// "pipeline bubble", of a part's key.
[[nodiscard]] const char* part_words(std::string_view key);

// Plans that lose for the same part most of all.
struct LosingGroup {
  const char* key = "";
  std::size_t plans = 0;
  const TunedPlan* fastest = nullptr;
};
// Of the evaluated plans from number `first` on, most plans first.
[[nodiscard]] std::vector<LosingGroup> losing_groups(const TuneResult& result, std::size_t first);

}  // namespace lockstep
