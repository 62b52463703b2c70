// SPDX-License-Identifier: Apache-2.0
// 128-bit integers and 64-bit arithmetic that refuses to overflow.
#pragma once

#include <cstdint>
#include <limits>

#include "base/check.h"

namespace lockstep {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

[[nodiscard]] inline std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  LOCKSTEP_CHECK(!__builtin_add_overflow(a, b, &r), "{} + {} leaves int64", a, b);
  return r;
}
[[nodiscard]] inline std::int64_t checked_sub(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  LOCKSTEP_CHECK(!__builtin_sub_overflow(a, b, &r), "{} - {} leaves int64", a, b);
  return r;
}
[[nodiscard]] inline std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  LOCKSTEP_CHECK(!__builtin_mul_overflow(a, b, &r), "{} * {} leaves int64", a, b);
  return r;
}
// PRE: 0 <= v. Throws when v leaves int64.
[[nodiscard]] inline std::int64_t narrow_int64(Int128 v) {
  LOCKSTEP_CHECK(v <= std::numeric_limits<std::int64_t>::max() && v >= std::numeric_limits<std::int64_t>::min(),
                 "128-bit value leaves int64");
  return static_cast<std::int64_t>(v);
}
// ceil(a / b). PRE: a >= 0, b > 0.
[[nodiscard]] constexpr Int128 ceil_div(Int128 a, Int128 b) { return a / b + (a % b != 0 ? 1 : 0); }
[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

}  // namespace lockstep
