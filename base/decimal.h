// SPDX-License-Identifier: Apache-2.0
// Decimal numbers as exact values: mantissa x 10^exponent with a 128-bit mantissa. What quantity.cpp is built on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/wide.h"

namespace lockstep {

struct Decimal {
  UInt128 mantissa = 0;
  int exponent = 0;
  bool is_negative = false;
};

// Splits "1.5e3 GiB" into the longest number in front and the rest without blanks around it. `number` may be empty.
struct NumberAndRest {
  std::string_view number;
  std::string_view rest;
};
[[nodiscard]] NumberAndRest split_number(std::string_view text);

// The value of a number as split_number finds them. Nothing when it has more digits than 128 bits hold.
[[nodiscard]] std::optional<Decimal> decimal_of(std::string_view number);

// Why `text` is no number a person would write twice the same way: leading zero, hexadecimal, separators, nan, not a number at all.
// Both empty: it is fine.
struct NumberFault {
  std::string error;
  std::string hint;
};
[[nodiscard]] NumberFault number_fault(std::string_view text, const NumberAndRest& split);

enum class Exactness { kExact, kRoundedDown, kTooLarge, kTooManyDigits };
struct ScaledInteger {
  std::int64_t value = 0;
  Exactness exactness = Exactness::kExact;
};
// floor(|decimal| x numerator / denominator) in 128 bits, and whether that is the exact value.
[[nodiscard]] ScaledInteger scale(const Decimal& decimal, UInt128 numerator, UInt128 denominator);

}  // namespace lockstep
