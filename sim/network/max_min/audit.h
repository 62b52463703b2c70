// SPDX-License-Identifier: Apache-2.0
// Proof that an allocation is right, recomputed from the shares and independent of the way it was found. For one link:
// the load on record is the sum over its cells; it is within the capacity; no entity on it is above the link level; and the group
// of the link, if it has members, is exactly at the link level. Since every attached entity belongs to exactly one group and
// that group's link lies on its path, all links together say that every entity's level is its lowest link level, which makes
// the allocation THE max-min one (link_level.h).
#pragma once

#include <cstdint>

#include "sim/network/max_min/solver_state.h"

namespace lockstep::max_min {

enum class AuditScope : std::uint8_t {
  kTouched,     // the links of a batch: O(cells on them)
  kVisited,     // also every link the solve looked at, which is every link whose load or level can have changed
  kEverything,  // all links and all clocks after every solve
};
#ifdef NDEBUG
inline constexpr AuditScope kDefaultAuditScope = AuditScope::kTouched;
#else
inline constexpr AuditScope kDefaultAuditScope = AuditScope::kVisited;
#endif

// Throws InternalError with the numbers when the link is overcommitted, miscounted or unfair. O(cells of the link).
void audit_link(const SolverState& s, LinkId l);

}  // namespace lockstep::max_min
