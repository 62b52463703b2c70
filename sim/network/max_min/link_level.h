// SPDX-License-Identifier: Apache-2.0
// The level of one link when the own levels of its entities are given. Sort the own levels x on the link; the link level is
// the first
//
//   floor((capacity - load of the entities before it) / sum of the coefficients from it on)
//
// that does not exceed the next own level; there is none when all own levels are passed (the link holds nobody back). An allocation
// is the max-min one, integer for integer, exactly when every entity's level is the lowest link level on its path.
//
// Computed without sorting: start from the level with nobody below it and drop whoever turns out to be below, until nothing
// changes. The levels on the way only rise, so whoever is dropped is also passed in sorted order; two or three rounds in practice.
// All products stay within the capacity (an entity counts as load only below the level), so int64 suffices.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace lockstep::max_min {

// Above every level: a link that holds nobody back, or an entity whose level is not known yet.
inline constexpr std::int64_t kNoLevel = std::numeric_limits<std::int64_t>::max();

struct LevelShare {
  std::int64_t level = 0;
  std::int64_t coefficient = 0;
};

// for_each(f) calls f(own level, coefficient) for every entity or group of equals on the link.
// PRE: capacity >= 0, coefficients > 0 with a sum in int64.
template <class ForEach>
[[nodiscard]] std::int64_t link_level_of(std::int64_t capacity, const ForEach& for_each) {
  std::int64_t level = -1;
  while (true) {
    std::int64_t below = 0;
    std::int64_t rest = 0;
    for_each([&](std::int64_t own, std::int64_t coefficient) {
      if (own < level) {
        below += coefficient * own;
      } else {
        rest += coefficient;
      }
    });
    if (rest == 0) return kNoLevel;
    const std::int64_t next = (capacity - below) / rest;
    if (next == level) return level;
    level = next;
  }
}

[[nodiscard]] inline std::int64_t link_level(std::int64_t capacity, std::span<const LevelShare> shares) {
  return link_level_of(capacity, [shares](const auto& visit) {
    for (const LevelShare& s : shares) visit(s.level, s.coefficient);
  });
}

}  // namespace lockstep::max_min
