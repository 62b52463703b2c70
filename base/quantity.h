// SPDX-License-Identifier: Apache-2.0
// Text to numbers with mandatory units, and back. Arithmetic is decimal and exact in 128 bits: "0.1 ns" is 100 ps, and a size or a
// duration that is no whole byte or picosecond is an error, not a rounding. Rates round down to their unit (2^-16 byte/s). Units are
// case-sensitive: b is bit, B is byte; k M G T P E are powers of 1000, Ki Mi Gi Ti Pi powers of 1024.
// What is printed parses back to the same value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "base/units.h"

namespace lockstep {

// Dense or sparse arithmetic throughput in FLOP/s.
struct FlopRate {
  double per_second = 0;
  auto operator<=>(const FlopRate&) const = default;
};
struct UsdPerHour {
  double usd = 0;
  auto operator<=>(const UsdPerHour&) const = default;
};
// A share of a whole: "5%" or 0.05 read the same. Range is the field's business.
struct Fraction {
  double value = 0;
  auto operator<=>(const Fraction&) const = default;
};

template <class V>
struct Parsed {
  std::optional<V> value;
  std::string error;  // "'400' has no unit"; set when there is no value
  std::string hint;   // "write 400 Gbps or 50 GB/s"; may be empty
  [[nodiscard]] explicit operator bool() const { return value.has_value(); }
};

[[nodiscard]] Parsed<Bytes> parse_bytes(std::string_view text);              // "80 GiB", "25 MB", "1048576 B", "8 Gbit"
[[nodiscard]] Parsed<Rate> parse_rate(std::string_view text);                // "400 Gbps", "400 Gbit/s", "50 GB/s"
[[nodiscard]] Parsed<Duration> parse_duration(std::string_view text);        // "600 ns", "1.5 us", "2 h"
[[nodiscard]] Parsed<FlopRate> parse_flop_rate(std::string_view text);       // "989 TFLOP/s"
[[nodiscard]] Parsed<UsdPerHour> parse_usd_per_hour(std::string_view text);  // "2.95 USD/h"
[[nodiscard]] Parsed<Fraction> parse_fraction(std::string_view text);        // "5%", "0.05"
[[nodiscard]] Parsed<std::int64_t> parse_int(std::string_view text);         // decimal; refuses 010, 0x10, 1_000, 1e3
[[nodiscard]] Parsed<double> parse_double(std::string_view text);            // decimal; refuses nan, inf, 010, 1e400
[[nodiscard]] Parsed<bool> parse_bool(std::string_view text);                // true or false, nothing else

enum class RateStyle : std::uint8_t { kBits, kBytes };
[[nodiscard]] std::string to_text(Bytes v);
[[nodiscard]] std::string to_text(Rate v, RateStyle style = RateStyle::kBits);
[[nodiscard]] std::string to_text(Duration v);
[[nodiscard]] std::string to_text(FlopRate v);
[[nodiscard]] std::string to_text(UsdPerHour v);
[[nodiscard]] std::string to_text(Fraction v);
[[nodiscard]] std::string double_to_text(double v);  // shortest text that reads back to the same double

}  // namespace lockstep
