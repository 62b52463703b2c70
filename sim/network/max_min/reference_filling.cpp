// SPDX-License-Identifier: Apache-2.0
#include "sim/network/max_min/reference_filling.h"

#include <algorithm>

#include "sim/network/max_min/link_level.h"

namespace lockstep::max_min {

std::vector<std::int64_t> reference_filling(std::span<const std::int64_t> capacities,
                                            std::span<const std::vector<LinkShare>> entities) {
  std::vector<std::int64_t> residual(capacities.begin(), capacities.end());
  std::vector<std::int64_t> open(capacities.size(), 0);
  std::vector<std::int64_t> levels(entities.size(), kNoLevel);
  for (const std::vector<LinkShare>& shares : entities) {
    for (const LinkShare& s : shares) open[s.link.index()] = checked_add(open[s.link.index()], s.coefficient);
  }
  const auto level_of = [&](std::size_t l) { return open[l] == 0 ? kNoLevel : residual[l] / open[l]; };
  while (true) {
    std::int64_t lowest = kNoLevel;
    for (std::size_t l = 0; l < open.size(); ++l) lowest = std::min(lowest, level_of(l));
    if (lowest == kNoLevel) return levels;
    std::vector<std::size_t> frozen;
    for (std::size_t e = 0; e < entities.size(); ++e) {
      const bool at_lowest = std::any_of(entities[e].begin(), entities[e].end(),
                                         [&](const LinkShare& s) { return level_of(s.link.index()) == lowest; });
      if (levels[e] == kNoLevel && at_lowest) frozen.push_back(e);
    }
    for (const std::size_t e : frozen) {
      levels[e] = lowest;
      for (const LinkShare& s : entities[e]) {
        residual[s.link.index()] -= s.coefficient * lowest;
        open[s.link.index()] -= s.coefficient;
      }
    }
  }
}

}  // namespace lockstep::max_min
