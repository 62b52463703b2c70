// SPDX-License-Identifier: Apache-2.0
#include "topology/stragglers.h"

#include <algorithm>
#include <cmath>

#include "base/field_table.h"
#include "base/random.h"

namespace lockstep {
namespace {

constexpr double kPerMille = 1'000;
constexpr std::int64_t kShareScale = 1'000'000;  // shares count in millionths

// Of a whole number of steps, and not so small that none is left.
bool is_whole(double x) { return std::abs(x - std::round(x)) < 1e-6 && (x == 0 || std::round(x) > 0); }

}  // namespace

const FieldTable<StragglerSpec>& straggler_fields() {
  static const FieldTable<StragglerSpec> table = [] {
    FieldTable<StragglerSpec> t;
    t.field("share", &StragglerSpec::share).range({0}, {1}).doc("chance of each GPU to be slow, drawn by the seed");
    t.field("gpus", &StragglerSpec::gpus).doc("slow GPUs by number, whatever is drawn, like [12, 96-99]");
    t.field("slowdown", &StragglerSpec::slowdown)
        .required()
        .range({0}, {3})
        .doc("how much longer kernels take on a slow GPU; steps of 0.1 %");
    t.validate([](const StragglerSpec& s, Section& at) {
      if (s.share.value == 0 && s.gpus.empty()) {
        at.error("share", "no GPU is slow", "give share, like 1 %, or gpus, like [12, 99]");
      }
      if (!is_whole(s.share.value * static_cast<double>(kShareScale))) {
        at.error("share", "is finer than a millionth", "like 1 %, or 0.01 %");
      }
      if (!is_whole(s.slowdown.value * kPerMille)) at.error("slowdown", "is finer than 0.1 %", "like 10 %, or 2.5 %");
    });
    return t;
  }();
  return table;
}

std::vector<std::int64_t> draw_slowdowns(const StragglerSpec& spec, std::int64_t gpus, std::uint64_t seed) {
  const std::int64_t slowdown = std::llround(spec.slowdown.value * kPerMille);
  const auto share = static_cast<std::uint64_t>(std::llround(spec.share.value * static_cast<double>(kShareScale)));
  std::vector<std::int64_t> out(static_cast<std::size_t>(gpus), 0);
  for (std::uint64_t g = 0; g < out.size(); ++g) {
    if (random_below(kShareScale, seed, RandomStream::kStraggler, g) < share) out[g] = slowdown;
  }
  for (const std::int64_t g : all_indices(spec.gpus)) out[static_cast<std::size_t>(g)] = slowdown;
  if (std::all_of(out.begin(), out.end(), [](std::int64_t s) { return s == 0; })) out.clear();
  return out;
}

}  // namespace lockstep
