// SPDX-License-Identifier: Apache-2.0
// Simulated time: int64 picoseconds, range +-106 days. An Instant is a point, a Duration a distance; operators check overflow.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "base/wide.h"

namespace lockstep {

inline constexpr std::int64_t kPicosPerSecond = 1'000'000'000'000;

class Duration {
 public:
  constexpr Duration() = default;
  [[nodiscard]] static constexpr Duration picos(std::int64_t v) { return Duration(v); }
  [[nodiscard]] static constexpr Duration nanos(std::int64_t v) { return Duration(v * 1'000); }
  [[nodiscard]] static constexpr Duration micros(std::int64_t v) { return Duration(v * 1'000'000); }
  // Nearest picosecond (ties away from zero). Throws InternalError outside the range of int64.
  [[nodiscard]] static Duration from_seconds(double s);

  [[nodiscard]] constexpr std::int64_t picos() const { return ps_; }
  [[nodiscard]] constexpr double seconds() const { return static_cast<double>(ps_) / 1e12; }
  constexpr auto operator<=>(const Duration&) const = default;

  friend Duration operator+(Duration a, Duration b) { return Duration(checked_add(a.ps_, b.ps_)); }
  friend Duration operator-(Duration a, Duration b) { return Duration(checked_sub(a.ps_, b.ps_)); }
  friend Duration operator*(Duration a, std::int64_t k) { return Duration(checked_mul(a.ps_, k)); }
  Duration& operator+=(Duration b) { return *this = *this + b; }

 private:
  explicit constexpr Duration(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

class Instant {
 public:
  constexpr Instant() = default;  // the start of the simulation
  [[nodiscard]] static constexpr Instant picos(std::int64_t v) { return Instant(v); }
  // Later than every instant that can be scheduled.
  [[nodiscard]] static constexpr Instant never() { return Instant(std::numeric_limits<std::int64_t>::max()); }

  [[nodiscard]] constexpr std::int64_t picos() const { return ps_; }
  [[nodiscard]] constexpr double seconds() const { return static_cast<double>(ps_) / 1e12; }
  [[nodiscard]] constexpr bool is_never() const { return *this == never(); }
  constexpr auto operator<=>(const Instant&) const = default;

  friend Instant operator+(Instant a, Duration d) { return Instant(checked_add(a.ps_, d.picos())); }
  friend Duration operator-(Instant a, Instant b) { return Duration::picos(checked_sub(a.ps_, b.ps_)); }

 private:
  explicit constexpr Instant(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

}  // namespace lockstep
