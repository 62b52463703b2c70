// SPDX-License-Identifier: Apache-2.0
#include "sim/report/tune_reasons.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {
namespace {

constexpr std::size_t kMostParts = 3;
constexpr double kWorthTelling = 0.0005;  // of the winner's step: 0.1 % as printed

struct Words {
  const char* key;
  const char* words;
};
constexpr Words kWords[] = {{"kernels", "slower kernels (smaller matrix products, a larger optimizer)"},
                            {"recompute", "computing activations again"},
                            {"bubble", "pipeline bubble and uneven stages"},
                            {"tp", "exposed tensor-parallel communication"},
                            {"pp", "transfers between pipeline stages"},
                            {"dp", "exposed data-parallel communication"},
                            {"cp", "exposed context-parallel communication"},
                            {"ep", "exchange of tokens between experts"},
                            {"host", "the host that starts kernels"},
                            {"other", "other waiting"}};

double of(const PlanNumbers& n, TimeClass c) { return n.breakdown_s[static_cast<std::size_t>(c)]; }

}  // namespace

const char* part_words(std::string_view key) {
  for (const Words& w : kWords) {
    if (key == w.key) return w.words;
  }
  return "";
}

std::vector<TimePart> time_parts(const PlanNumbers& n) {
  const double useful = n.hfu > 0 ? n.mfu / n.hfu : 1;
  const double compute = of(n, TimeClass::kCompute);
  std::vector<TimePart> out = {{"kernels", compute * useful}, {"recompute", compute * (1 - useful)}};
  for (std::size_t c = 0; c < kTimeClassCount; ++c) {
    const auto time_class = static_cast<TimeClass>(c);
    if (time_class != TimeClass::kCompute) out.push_back({to_text(time_class), of(n, time_class)});
  }
  return out;
}

std::vector<TimePart> differences(const PlanNumbers& plan, const PlanNumbers& winner) {
  std::vector<TimePart> out = time_parts(plan);
  const std::vector<TimePart> less = time_parts(winner);
  for (std::size_t i = 0; i < out.size(); ++i) out[i].seconds -= less[i].seconds;
  std::stable_sort(out.begin(), out.end(), [](const TimePart& a, const TimePart& b) { return a.seconds > b.seconds; });
  return out;
}

std::string reason_text(const PlanNumbers& plan, const PlanNumbers& winner) {
  std::string out;
  std::size_t told = 0;
  for (const TimePart& part : differences(plan, winner)) {
    const double share = part.seconds / winner.step_time_s;
    if (share < kWorthTelling || told == kMostParts) break;
    out += fmt::format("{}{} +{:.1f} %", told == 0 ? "" : ", ", part.key, 100 * share);
    ++told;
  }
  return out;
}

std::vector<LosingGroup> losing_groups(const TuneResult& result, std::size_t first) {
  std::vector<LosingGroup> out;
  for (std::size_t i = first; i < result.plans.size() && result.plans[i].numbers; ++i) {
    const TunedPlan& plan = result.plans[i];
    const char* key = differences(*plan.numbers, *result.plans.front().numbers).front().key;
    const auto known =
        std::find_if(out.begin(), out.end(), [&](const LosingGroup& g) { return std::string_view(g.key) == key; });
    if (known != out.end()) {
      ++known->plans;
    } else {
      out.push_back({key, 1, &plan});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const LosingGroup& a, const LosingGroup& b) { return a.plans > b.plans; });
  return out;
}

}  // namespace lockstep
