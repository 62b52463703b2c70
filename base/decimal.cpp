// SPDX-License-Identifier: Apache-2.0
#include "base/decimal.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace lockstep {
namespace {

constexpr UInt128 kMax128 = ~static_cast<UInt128>(0);
constexpr int kMaxExponent = 1000;  // beyond any value of interest; keeps the sums below in range

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_end(std::string_view text, std::size_t i) {
  while (i < text.size() && is_digit(text[i])) ++i;
  return i;
}

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// False when the product leaves 128 bits.
bool multiply(UInt128& value, UInt128 factor) {
  if (factor != 0 && value > kMax128 / factor) return false;
  value *= factor;
  return true;
}

bool multiply_by_power_of_ten(UInt128& value, int power) {
  for (int i = 0; i < power; ++i) {
    if (!multiply(value, 10)) return false;
  }
  return true;
}

}  // namespace

NumberAndRest split_number(std::string_view text) {
  text = trim(text);
  std::size_t i = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const std::size_t first_digit = i;
  i = digits_end(text, i);
  if (i == first_digit) return {{}, text};
  if (i + 1 < text.size() && text[i] == '.' && is_digit(text[i + 1])) i = digits_end(text, i + 1);
  if (i + 1 < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    const std::size_t sign = text[i + 1] == '+' || text[i + 1] == '-' ? 1 : 0;
    const std::size_t end = digits_end(text, i + 1 + sign);
    if (end > i + 1 + sign) i = end;
  }
  return {text.substr(0, i), trim(text.substr(i))};
}

std::optional<Decimal> decimal_of(std::string_view number) {
  Decimal d;
  std::size_t i = 0;
  if (number[0] == '-' || number[0] == '+') d.is_negative = number[i++] == '-';
  bool is_fraction = false;
  for (; i < number.size() && number[i] != 'e' && number[i] != 'E'; ++i) {
    if (number[i] == '.') {
      is_fraction = true;
      continue;
    }
    const auto digit = static_cast<UInt128>(number[i] - '0');
    if (!multiply(d.mantissa, 10) || d.mantissa > kMax128 - digit) return std::nullopt;
    d.mantissa += digit;
    if (is_fraction) --d.exponent;
  }
  if (i < number.size()) {
    const bool is_small = number[++i] == '-';
    if (number[i] == '-' || number[i] == '+') ++i;
    int exponent = 0;
    for (; i < number.size(); ++i) exponent = std::min(kMaxExponent, exponent * 10 + (number[i] - '0'));
    d.exponent += is_small ? -exponent : exponent;
  }
  while (d.mantissa != 0 && d.mantissa % 10 == 0) {
    d.mantissa /= 10;
    ++d.exponent;
  }
  if (d.mantissa == 0) d.exponent = 0;
  return d;
}

NumberFault number_fault(std::string_view text, const NumberAndRest& split) {
  text = trim(text);
  std::string_view digits = split.number;
  if (digits.empty()) {
    for (const std::string_view word : {".nan", "nan", ".inf", "inf", "infinity"}) {
      const std::string_view unsigned_text = text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
      const bool is_word = unsigned_text.size() == word.size() &&
                           std::equal(word.begin(), word.end(), unsigned_text.begin(),
                                      [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); });
      if (is_word) return {fmt::format("'{}' is not a finite number", text), {}};
    }
    if (text.size() > 1 && text[0] == '.' && is_digit(text[1])) {
      return {fmt::format("'{}' is not a number", text), fmt::format("write 0{}", text)};
    }
    return {fmt::format("'{}' is not a number", text), {}};
  }
  if (digits[0] == '+') return {fmt::format("'{}' has a plus sign", text), fmt::format("write {}", text.substr(1))};
  if (digits[0] == '-') digits.remove_prefix(1);
  const std::string_view rest = split.rest;
  if (digits == "0" && !rest.empty() &&
      (rest[0] == 'x' || rest[0] == 'o' || (rest[0] == 'b' && rest.size() > 1 && is_digit(rest[1])))) {
    return {fmt::format("'{}' is not a decimal number", text), "numbers are decimal"};
  }
  if (digits.size() > 1 && digits[0] == '0' && is_digit(digits[1])) {
    const std::size_t begin = std::min(digits.find_first_not_of('0'), digits_end(digits, 0) - 1);
    return {fmt::format("'{}' has a leading zero", text), fmt::format("numbers are decimal: write {}", digits.substr(begin))};
  }
  if (!rest.empty() && (rest[0] == '_' || rest[0] == ',' || rest[0] == '\'')) {
    return {fmt::format("'{}' has separators between digits", text), "write the digits alone"};
  }
  return {};
}

ScaledInteger scale(const Decimal& decimal, UInt128 numerator, UInt128 denominator) {
  if (decimal.mantissa == 0) return {};
  constexpr int kLargestPower = 38;  // 10^38 < 2^128
  if (decimal.exponent > kLargestPower) return {0, Exactness::kTooLarge};
  if (decimal.exponent < -2 * kLargestPower) return {0, Exactness::kRoundedDown};
  UInt128 top = decimal.mantissa;
  if (!multiply(top, numerator)) return {0, decimal.exponent < 0 ? Exactness::kTooManyDigits : Exactness::kTooLarge};
  if (decimal.exponent > 0 && !multiply_by_power_of_ten(top, decimal.exponent)) return {0, Exactness::kTooLarge};
  if (decimal.exponent < 0 && !multiply_by_power_of_ten(denominator, -decimal.exponent)) {
    return {0, Exactness::kRoundedDown};  // the denominator is over 2^128: the value is below 1
  }
  const UInt128 quotient = top / denominator;
  if (quotient > static_cast<UInt128>(std::numeric_limits<std::int64_t>::max())) return {0, Exactness::kTooLarge};
  return {static_cast<std::int64_t>(quotient), top % denominator == 0 ? Exactness::kExact : Exactness::kRoundedDown};
}

}  // namespace lockstep
