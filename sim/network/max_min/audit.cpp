// SPDX-License-Identifier: Apache-2.0
#include "sim/network/max_min/audit.h"

#include <algorithm>

namespace lockstep::max_min {

void audit_link(const SolverState& s, LinkId l) {
  const LinkState& link = s.link(l);
  const auto for_each_cell = [&s, l](const auto& visit) {
    for (CellId c = s.link(l).row; !c.is_none(); c = s.table.cell(c).row_next) {
      visit(s.link(s.table.cell(c).group).level, s.table.cell(c).coefficient);
    }
  };
  Int128 load = 0;
  std::int64_t coefficients = 0;
  std::int64_t top = -1;
  for_each_cell([&](std::int64_t own, std::int64_t coefficient) {
    load += static_cast<Int128>(coefficient) * own;
    coefficients += coefficient;
    top = std::max(top, own);
  });
  LOCKSTEP_CHECK(load <= link.capacity, "link {} carries {} units of {}", l.value(), narrow_int64(load), link.capacity);
  LOCKSTEP_CHECK(load == link.load, "link {} carries {} units, {} on record", l.value(), narrow_int64(load), link.load);
  LOCKSTEP_CHECK(coefficients == link.coefficients, "link {} has coefficients {}, {} on record", l.value(), coefficients,
                 link.coefficients);
  const std::int64_t level = link_level_of(link.capacity, for_each_cell);
  LOCKSTEP_CHECK(top <= level, "link {} has level {} but an entity at {}", l.value(), level, top);
  LOCKSTEP_CHECK(link.column.empty() || link.level == level, "link {} has level {} but holds its group at {}", l.value(), level,
                 link.level);
}

}  // namespace lockstep::max_min
