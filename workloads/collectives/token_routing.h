// SPDX-License-Identifier: Apache-2.0
// How tokens choose experts, as far as their copies can share a way (workloads/collectives/pairs.h).
#pragma once

#include <cstdint>

namespace lockstep {

// top_k 0: what is sent are no tokens, or each copy travels alone.
struct TokenRouting {
  std::int64_t experts = 0;
  std::int64_t top_k = 0;
  bool operator==(const TokenRouting&) const = default;
};

}  // namespace lockstep
