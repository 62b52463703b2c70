// SPDX-License-Identifier: Apache-2.0
// How the type of a field reads and prints one scalar: Codec<V> names the type and its units, parses text and prints it.
// Containers (optional, vector, map from names) of such values are handled in field_table.h.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"

namespace lockstep {

inline constexpr std::string_view kByteUnits = "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB";
inline constexpr std::string_view kRateUnits = "Gbps, Mbps, Tbps, GB/s, MB/s, TB/s, GiB/s";
inline constexpr std::string_view kDurationUnits = "ps, ns, us, ms, s, min, h, d";
inline constexpr std::string_view kFlopRateUnits = "GFLOP/s, TFLOP/s, PFLOP/s, EFLOP/s";
inline constexpr std::string_view kPriceUnits = "USD/h";

template <class V>
struct Codec;  // type, unit, parse, print

template <>
struct Codec<std::string> {
  static constexpr std::string_view type = "text", unit = "";
  static Parsed<std::string> parse(std::string_view text) { return {std::string(text), {}, {}}; }
  static std::string print(const std::string& v);  // quoted where YAML needs it
};

template <>
struct Codec<bool> {
  static constexpr std::string_view type = "true or false", unit = "";
  static Parsed<bool> parse(std::string_view text) { return parse_bool(text); }
  static std::string print(bool v) { return v ? "true" : "false"; }
};

template <>
struct Codec<std::int64_t> {
  static constexpr std::string_view type = "integer", unit = "";
  static Parsed<std::int64_t> parse(std::string_view text) { return parse_int(text); }
  static std::string print(std::int64_t v) { return std::to_string(v); }
};

template <class I>
struct NarrowIntCodec {
  static constexpr std::string_view type = "integer", unit = "";
  static Parsed<I> parse(std::string_view text) {
    const Parsed<std::int64_t> wide = parse_int(text);
    if (!wide) return {std::nullopt, wide.error, wide.hint};
    constexpr auto kLow = static_cast<std::int64_t>(std::numeric_limits<I>::min());
    constexpr auto kHigh = static_cast<std::int64_t>(std::numeric_limits<I>::max());
    if (*wide.value < kLow || *wide.value > kHigh) {
      return {std::nullopt, "'" + std::string(text) + "' is out of range",
              "between " + std::to_string(kLow) + " and " + std::to_string(kHigh)};
    }
    return {static_cast<I>(*wide.value), {}, {}};
  }
  static std::string print(I v) { return std::to_string(v); }
};
template <>
struct Codec<std::int32_t> : NarrowIntCodec<std::int32_t> {};
template <>
struct Codec<std::uint32_t> : NarrowIntCodec<std::uint32_t> {};

template <>
struct Codec<double> {
  static constexpr std::string_view type = "number", unit = "";
  static Parsed<double> parse(std::string_view text) { return parse_double(text); }
  static std::string print(double v) { return double_to_text(v); }
};

template <>
struct Codec<Bytes> {
  static constexpr std::string_view type = "size", unit = kByteUnits;
  static Parsed<Bytes> parse(std::string_view text) { return parse_bytes(text); }
  static std::string print(Bytes v) { return to_text(v); }
};

template <>
struct Codec<Rate> {
  static constexpr std::string_view type = "rate", unit = kRateUnits;
  static Parsed<Rate> parse(std::string_view text) { return parse_rate(text); }
  static std::string print(Rate v) { return to_text(v); }
};

template <>
struct Codec<Duration> {
  static constexpr std::string_view type = "duration", unit = kDurationUnits;
  static Parsed<Duration> parse(std::string_view text) { return parse_duration(text); }
  static std::string print(Duration v) { return to_text(v); }
};

template <>
struct Codec<FlopRate> {
  static constexpr std::string_view type = "FLOP rate", unit = kFlopRateUnits;
  static Parsed<FlopRate> parse(std::string_view text) { return parse_flop_rate(text); }
  static std::string print(FlopRate v) { return to_text(v); }
};

template <>
struct Codec<UsdPerHour> {
  static constexpr std::string_view type = "price", unit = kPriceUnits;
  static Parsed<UsdPerHour> parse(std::string_view text) { return parse_usd_per_hour(text); }
  static std::string print(UsdPerHour v) { return to_text(v); }
};

template <>
struct Codec<Fraction> {
  static constexpr std::string_view type = "share", unit = "%, or a number from 0 to 1";
  static Parsed<Fraction> parse(std::string_view text) { return parse_fraction(text); }
  static std::string print(Fraction v) { return to_text(v); }
};

// The value inside a field: V itself, or what an optional, list or named map holds.
template <class V>
struct ElementOf {
  using type = V;
};
template <class V>
struct ElementOf<std::optional<V>> {
  using type = V;
};
template <class V>
struct ElementOf<std::vector<V>> {
  using type = V;
};
template <class V>
struct ElementOf<std::map<std::string, V>> {
  using type = V;
};
template <class V>
using element_of_t = typename ElementOf<V>::type;

}  // namespace lockstep
