// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"

#include <fmt/core.h>

#include <charconv>
#include <vector>

#include "base/decimal.h"
#include "base/diagnostics.h"

namespace lockstep {
namespace {

// A unit is numerator/denominator of the base unit (byte, 2^-16 byte/s, picosecond).
struct Unit {
  std::string name;
  UInt128 numerator = 1;
  UInt128 denominator = 1;
};

struct Prefix {
  std::string_view name;
  std::uint64_t factor;
};
constexpr Prefix kPrefixes[] = {{"", 1},
                                {"k", 1'000},
                                {"M", 1'000'000},
                                {"G", 1'000'000'000},
                                {"T", 1'000'000'000'000},
                                {"P", 1'000'000'000'000'000},
                                {"Ki", 1ull << 10},
                                {"Mi", 1ull << 20},
                                {"Gi", 1ull << 30},
                                {"Ti", 1ull << 40},
                                {"Pi", 1ull << 50}};

struct Stem {
  std::string_view name;
  unsigned numerator;
  unsigned denominator;
};

std::vector<Unit> prefixed(std::initializer_list<Stem> stems) {
  std::vector<Unit> units;
  for (const Stem& stem : stems) {
    for (const Prefix& p : kPrefixes) {
      units.push_back(
          {std::string(p.name) + std::string(stem.name), static_cast<UInt128>(p.factor) * stem.numerator, stem.denominator});
    }
  }
  return units;
}

const std::vector<Unit>& byte_units() {
  static const std::vector<Unit> units = prefixed({{"B", 1, 1}, {"bit", 1, 8}, {"b", 1, 8}});
  return units;
}

const std::vector<Unit>& rate_units() {
  static const std::vector<Unit> units =
      prefixed({{"bps", 8192, 1}, {"B/s", 65536, 1}, {"bit/s", 8192, 1}, {"b/s", 8192, 1}, {"Bps", 65536, 1}});
  return units;
}

const std::vector<Unit>& duration_units() {
  static const std::vector<Unit> units = {{"ps", 1},
                                          {"ns", 1'000},
                                          {"us", 1'000'000},
                                          {"ms", 1'000'000'000},
                                          {"s", 1'000'000'000'000},
                                          {"min", 60'000'000'000'000},
                                          {"h", 3'600'000'000'000'000},
                                          {"d", 86'400'000'000'000'000},
                                          {"\xC2\xB5s", 1'000'000},
                                          {"\xCE\xBCs", 1'000'000}};
  return units;
}

// A family of units: what a value of it is called, an example, and what to list in a hint.
struct Family {
  std::string_view noun;
  std::string_view example_unit;
  std::string_view listed;
  const std::vector<Unit>& (*units)();
  std::string_view smallest;  // what the exact value counts
};
constexpr Family kSizes{"a size", "GiB", "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB", &byte_units, "byte"};
constexpr Family kRates{"a rate", "Gbps", "Gbps, Mbps, Tbps, GB/s, MB/s, TB/s", &rate_units, "2^-16 byte/s"};
constexpr Family kDurations{"a duration", "us", "ps, ns, us, ms, s, min, h, d", &duration_units, "picosecond"};

template <class V>
Parsed<V> failure(std::string error, std::string hint = {}) {
  return {std::nullopt, std::move(error), std::move(hint)};
}

const Unit* find_unit(const Family& family, std::string_view name) {
  for (const Unit& unit : family.units()) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

template <class V>
Parsed<V> unit_failure(std::string_view text, const NumberAndRest& split, const Family& family) {
  if (split.rest.empty()) {
    return failure<V>(fmt::format("'{}' has no unit", text), fmt::format("{} needs one, as in {} {}; units: {}", family.noun,
                                                                         split.number, family.example_unit, family.listed));
  }
  for (const Family* other : {&kSizes, &kRates, &kDurations}) {
    if (find_unit(*other, split.rest) != nullptr) {
      return failure<V>(fmt::format("'{}' is {}, but {} is expected", text, other->noun, family.noun),
                        fmt::format("units: {}", family.listed));
    }
  }
  std::vector<std::string> names;
  for (const Unit& unit : family.units()) names.push_back(unit.name);
  const std::string guess = closest(split.rest, names);
  return failure<V>(fmt::format("'{}' has the unknown unit '{}'", text, split.rest),
                    guess.empty() ? fmt::format("units: {}", family.listed)
                                  : fmt::format("did you mean {} {}? units: {}", split.number, guess, family.listed));
}

// The value of "NUMBER UNIT" in the family's smallest unit.
template <class V>
Parsed<V> parse_scaled(std::string_view text, const Family& family, bool may_round_down, V (*make)(std::int64_t)) {
  const NumberAndRest split = split_number(text);
  const NumberFault fault = number_fault(text, split);
  if (!fault.error.empty()) return failure<V>(fault.error, fault.hint);
  const Unit* unit = find_unit(family, split.rest);
  if (unit == nullptr) return unit_failure<V>(text, split, family);
  const std::optional<Decimal> decimal = decimal_of(split.number);
  if (!decimal) return failure<V>(fmt::format("'{}' has too many digits", text));
  if (decimal->is_negative) return failure<V>(fmt::format("'{}' is negative", text));
  const ScaledInteger scaled = scale(*decimal, unit->numerator, unit->denominator);
  switch (scaled.exactness) {
    case Exactness::kExact:
      return {make(scaled.value), {}, {}};
    case Exactness::kRoundedDown:
      if (may_round_down) return {make(scaled.value), {}, {}};
      return failure<V>(fmt::format("'{}' is not a whole number of {}s", text, family.smallest), "it would have to be rounded");
    case Exactness::kTooLarge:
      return failure<V>(fmt::format("'{}' is too large", text), "it does not fit in 64 bits");
    case Exactness::kTooManyDigits:
      break;
  }
  return failure<V>(fmt::format("'{}' has too many digits", text));
}

// decimal x 10^power as the nearest double.
std::optional<double> to_double(const Decimal& d, int power) {
  const std::string text = fmt::format("{}{}e{}", d.is_negative ? "-" : "", d.mantissa, d.exponent + power);
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return v;
}

struct PowerUnit {
  std::string_view name;
  int power;
};

// "NUMBER UNIT" where a unit is a power of ten; for values that are doubles.
template <class V, std::size_t kCount>
Parsed<V> parse_power(std::string_view text, const PowerUnit (&units)[kCount], std::string_view noun, std::string_view example,
                      V (*make)(double)) {
  const NumberAndRest split = split_number(text);
  const NumberFault fault = number_fault(text, split);
  if (!fault.error.empty()) return failure<V>(fault.error, fault.hint);
  for (const PowerUnit& unit : units) {
    if (unit.name != split.rest) continue;
    const std::optional<Decimal> decimal = decimal_of(split.number);
    if (!decimal) return failure<V>(fmt::format("'{}' has too many digits", text));
    if (decimal->is_negative) return failure<V>(fmt::format("'{}' is negative", text));
    const std::optional<double> value = to_double(*decimal, unit.power);
    if (!value) return failure<V>(fmt::format("'{}' is too large", text));
    return {make(*value), {}, {}};
  }
  const std::string error = split.rest.empty() ? fmt::format("'{}' has no unit", text)
                                               : fmt::format("'{}' has the unknown unit '{}'", text, split.rest);
  return failure<V>(error, fmt::format("{} needs a unit, as in {} {}", noun, split.number, example));
}

constexpr PowerUnit kFlopUnits[] = {{"TFLOP/s", 12}, {"FLOP/s", 0},   {"kFLOP/s", 3}, {"MFLOP/s", 6}, {"GFLOP/s", 9},
                                    {"PFLOP/s", 15}, {"EFLOP/s", 18}, {"TFLOPS", 12}, {"GFLOPS", 9},  {"PFLOPS", 15}};
constexpr PowerUnit kPriceUnitNames[] = {{"USD/h", 0}, {"USD/hour", 0}, {"$/h", 0}};

}  // namespace

Parsed<Bytes> parse_bytes(std::string_view text) {
  return parse_scaled<Bytes>(text, kSizes, false, [](std::int64_t v) { return Bytes(v); });
}

Parsed<Rate> parse_rate(std::string_view text) {
  return parse_scaled<Rate>(text, kRates, true, [](std::int64_t v) { return Rate::units(v); });
}

Parsed<Duration> parse_duration(std::string_view text) {
  return parse_scaled<Duration>(text, kDurations, false, [](std::int64_t v) { return Duration::picos(v); });
}

Parsed<FlopRate> parse_flop_rate(std::string_view text) {
  return parse_power<FlopRate>(text, kFlopUnits, "a FLOP rate", "TFLOP/s", [](double v) { return FlopRate{v}; });
}

Parsed<UsdPerHour> parse_usd_per_hour(std::string_view text) {
  return parse_power<UsdPerHour>(text, kPriceUnitNames, "a price", "USD/h", [](double v) { return UsdPerHour{v}; });
}

Parsed<Fraction> parse_fraction(std::string_view text) {
  const NumberAndRest split = split_number(text);
  if (split.rest != "%") {
    const Parsed<double> number = parse_double(text);
    if (!number) return failure<Fraction>(number.error, "write a share as 5% or 0.05");
    return {Fraction{*number.value}, {}, {}};
  }
  const NumberFault fault = number_fault(text, split);
  if (!fault.error.empty()) return failure<Fraction>(fault.error, fault.hint);
  const std::optional<Decimal> decimal = decimal_of(split.number);
  const std::optional<double> value = decimal ? to_double(*decimal, -2) : std::nullopt;
  if (!value) return failure<Fraction>(fmt::format("'{}' is out of range", text));
  return {Fraction{*value}, {}, {}};
}

Parsed<std::int64_t> parse_int(std::string_view text) {
  using Result = std::int64_t;
  const NumberAndRest split = split_number(text);
  const NumberFault fault = number_fault(text, split);
  if (!fault.error.empty()) return failure<Result>(fault.error, fault.hint);
  if (!split.rest.empty()) return failure<Result>(fmt::format("'{}' is not an integer", text), "a plain integer is expected");
  if (split.number.find_first_of(".eE") != std::string_view::npos) {
    return failure<Result>(fmt::format("'{}' is not an integer", text), "write the digits, without point or exponent");
  }
  Result v = 0;
  const auto [end, error] = std::from_chars(split.number.data(), split.number.data() + split.number.size(), v);
  if (error == std::errc() && end == split.number.data() + split.number.size()) return {v, {}, {}};
  return failure<Result>(fmt::format("'{}' is too large", text), "it does not fit in 64 bits");
}

Parsed<double> parse_double(std::string_view text) {
  const NumberAndRest split = split_number(text);
  const NumberFault fault = number_fault(text, split);
  if (!fault.error.empty()) return failure<double>(fault.error, fault.hint);
  if (!split.rest.empty()) return failure<double>(fmt::format("'{}' is not a number", text), "a plain number is expected");
  double v = 0;
  const auto [end, error] = std::from_chars(split.number.data(), split.number.data() + split.number.size(), v);
  if (error == std::errc() && end == split.number.data() + split.number.size()) return {v, {}, {}};
  return failure<double>(fmt::format("'{}' is outside the range of numbers", text), "magnitudes from 1e-307 to 1e308");
}

Parsed<bool> parse_bool(std::string_view text) {
  if (text == "true") return {true, {}, {}};
  if (text == "false") return {false, {}, {}};
  return failure<bool>(fmt::format("'{}' is neither true nor false", text), "write true or false");
}

}  // namespace lockstep
