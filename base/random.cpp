// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <Random123/philox.h>

#include "base/check.h"
#include "base/wide.h"

namespace lockstep {

std::uint64_t random_u64(std::uint64_t seed, RandomStream stream, std::uint64_t entity, std::uint32_t draw) {
  using Philox = r123::Philox4x32;
  const Philox::ctr_type counter{
      {static_cast<std::uint32_t>(entity), static_cast<std::uint32_t>(entity >> 32), draw, static_cast<std::uint32_t>(stream)}};
  const Philox::key_type key{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  const Philox::ctr_type r = Philox{}(counter, key);
  return (static_cast<std::uint64_t>(r[1]) << 32) | r[0];
}

std::uint64_t random_below(std::uint64_t n, std::uint64_t seed, RandomStream stream, std::uint64_t entity, std::uint32_t draw) {
  LOCKSTEP_CHECK(n > 0, "random_below needs a non-empty range");
  return static_cast<std::uint64_t>((static_cast<UInt128>(random_u64(seed, stream, entity, draw)) * n) >> 64);
}

}  // namespace lockstep
