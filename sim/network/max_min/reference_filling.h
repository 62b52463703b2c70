// SPDX-License-Identifier: Apache-2.0
// Textbook progressive filling from nothing, entity by entity: the definition of the allocation that MaxMinSolver must reproduce
// integer for integer. For tests and for reading; O(rounds x shares).
//
//   while entities are open:
//     m = min over links with open entities of floor(residual / sum of open coefficients)
//     every open entity on a link at m is frozen at level m       (all those links in one round)
//     residuals and coefficients are reduced by what was frozen
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/routing/router.h"

namespace lockstep::max_min {

// levels[e] of entities with the given shares. PRE: every entity has a share; capacities in units, >= 0.
[[nodiscard]] std::vector<std::int64_t> reference_filling(std::span<const std::int64_t> capacities,
                                                          std::span<const std::vector<LinkShare>> entities);

}  // namespace lockstep::max_min
