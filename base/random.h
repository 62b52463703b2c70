// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: a value is a function of (seed, stream, entity, draw) and of nothing else, so results do
// not depend on the order in which entities are visited. Philox4x32-10 (Salmon et al., SC11) from Random123.
#pragma once

#include <cstdint>

namespace lockstep {

// What a stream of draws is for. Values are part of results: append, never renumber.
enum class RandomStream : std::uint32_t {
  kEcmp = 1,
  kTieShuffle = 2,
  kPlacement = 3,
  kStraggler = 4,
  kSweep = 5,
  kVariation = 6
};

[[nodiscard]] std::uint64_t random_u64(std::uint64_t seed, RandomStream stream, std::uint64_t entity, std::uint32_t draw = 0);

// Uniform in [0, n) without modulo bias beyond 2^-64. PRE: n > 0.
[[nodiscard]] std::uint64_t random_below(std::uint64_t n, std::uint64_t seed, RandomStream stream, std::uint64_t entity,
                                         std::uint32_t draw = 0);

}  // namespace lockstep
