// SPDX-License-Identifier: Apache-2.0
// Printing of quantities: the shortest text, in a scaled unit, that parses back to the same value.
#include <fmt/core.h>

#include <span>

#include "base/quantity.h"

namespace lockstep {
namespace {

struct Scale {
  std::string_view name;
  std::int64_t factor;  // in the smallest unit
  int decimals = 3;     // at most this many
};

// t / 10^decimals without trailing zeros.
std::string fixed_text(UInt128 t, int decimals) {
  std::string digits = fmt::format("{}", t);
  if (decimals == 0) return digits;
  const auto places = static_cast<std::size_t>(decimals);
  if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
  digits.insert(digits.size() - places, ".");
  while (digits.back() == '0') digits.pop_back();
  if (digits.back() == '.') digits.pop_back();
  return digits;
}

// v in the unit that gives the shortest exact text; the first one wins among equals. The last scale must be the smallest unit.
std::string exact_text(std::int64_t v, std::span<const Scale> scales) {
  const bool is_negative = v < 0;
  const UInt128 magnitude = is_negative ? static_cast<UInt128>(-static_cast<Int128>(v)) : static_cast<UInt128>(v);
  std::string best = fmt::format("{} {}", magnitude, scales.back().name);
  std::size_t best_size = magnitude == 0 ? 0 : best.size() + 1;
  for (const Scale& s : scales) {
    const auto factor = static_cast<UInt128>(s.factor);
    UInt128 power = 1;
    for (int i = 0; i < s.decimals; ++i) power *= 10;
    if (magnitude < factor || (magnitude * power) % factor != 0) continue;
    std::string text = fmt::format("{} {}", fixed_text(magnitude * power / factor, s.decimals), s.name);
    if (text.size() < best_size) {
      best_size = text.size();
      best = std::move(text);
    }
  }
  return is_negative ? "-" + best : best;
}

constexpr Scale kByteScales[] = {{"TB", 1'000'000'000'000},
                                 {"TiB", 1ll << 40},
                                 {"GB", 1'000'000'000},
                                 {"GiB", 1ll << 30},
                                 {"MB", 1'000'000},
                                 {"MiB", 1ll << 20},
                                 {"kB", 1'000},
                                 {"KiB", 1ll << 10},
                                 {"B", 1}};
constexpr Scale kDurationScales[] = {{"d", 86'400'000'000'000'000, 0},
                                     {"h", 3'600'000'000'000'000, 0},
                                     {"min", 60'000'000'000'000, 0},
                                     {"s", 1'000'000'000'000},
                                     {"ms", 1'000'000'000},
                                     {"us", 1'000'000},
                                     {"ns", 1'000},
                                     {"ps", 1}};
constexpr Scale kBitRateScales[] = {
    {"Tbps", 8192'000'000'000'000}, {"Gbps", 8192'000'000'000}, {"Mbps", 8192'000'000}, {"kbps", 8192'000}, {"bps", 8192}};
constexpr Scale kByteRateScales[] = {
    {"TB/s", 65536'000'000'000'000}, {"GB/s", 65536'000'000'000}, {"MB/s", 65536'000'000}, {"kB/s", 65536'000}, {"B/s", 65536}};

// The fewest decimals of v / factor, rounded up, from which rounding down gives v again (as parse_rate does).
std::string rate_in(std::int64_t v, const Scale& s) {
  constexpr int kMostDecimals = 19;  // 10^19 > factor: the next value is a whole decimal step away
  const auto value = static_cast<UInt128>(v);
  const auto factor = static_cast<UInt128>(s.factor);
  UInt128 power = 1;
  for (int decimals = 0; decimals <= kMostDecimals; ++decimals, power *= 10) {
    const UInt128 up = (value * power + factor - 1) / factor;
    if (up * factor / power == value) return fmt::format("{} {}", fixed_text(up, decimals), s.name);
  }
  LOCKSTEP_CHECK(false, "no decimal for {} units of {}", v, s.name);
  return {};
}

}  // namespace

std::string to_text(Bytes v) { return exact_text(v.count(), kByteScales); }
std::string to_text(Duration v) { return exact_text(v.picos(), kDurationScales); }

std::string to_text(Rate v, RateStyle style) {
  const std::span<const Scale> scales =
      style == RateStyle::kBits ? std::span<const Scale>(kBitRateScales) : std::span<const Scale>(kByteRateScales);
  std::string best = rate_in(v.units(), scales.back());
  if (v.units() == 0) return best;
  std::size_t best_size = best.size() + 1;
  for (const Scale& s : scales) {
    if (v.units() < s.factor) continue;
    std::string text = rate_in(v.units(), s);
    if (text.size() < best_size) {
      best_size = text.size();
      best = std::move(text);
    }
  }
  return best;
}

std::string double_to_text(double v) { return fmt::format("{}", v); }

std::string to_text(FlopRate v) {
  constexpr struct {
    const char* name;
    double factor;
  } kScales[] = {{"EFLOP/s", 1e18}, {"PFLOP/s", 1e15}, {"TFLOP/s", 1e12}, {"GFLOP/s", 1e9}};
  for (const auto& s : kScales) {
    if (v.per_second < s.factor) continue;
    const std::string text = fmt::format("{:.12g} {}", v.per_second / s.factor, s.name);
    if (parse_flop_rate(text).value == v) return text;
  }
  return double_to_text(v.per_second) + " FLOP/s";
}

std::string to_text(UsdPerHour v) { return double_to_text(v.usd) + " USD/h"; }

std::string to_text(Fraction v) {
  const std::string percent = fmt::format("{:.12g}%", v.value * 100);
  return parse_fraction(percent).value == v ? percent : double_to_text(v.value);
}

}  // namespace lockstep
