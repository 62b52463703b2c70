// SPDX-License-Identifier: Apache-2.0
// Strong types for sizes and rates. A Rate is an int64 multiple of 2^-16 byte/s (up to 1.1 Pbit/s): fine enough that a
// thousandth of a byte per second is visible, coarse enough that sums of 2^16 links of 1 Tbit/s do not overflow.
#pragma once

#include <compare>
#include <cstdint>

#include "base/wide.h"

namespace lockstep {

class Bytes {
 public:
  constexpr Bytes() = default;
  explicit constexpr Bytes(std::int64_t v) : v_(v) {}
  [[nodiscard]] constexpr std::int64_t count() const { return v_; }
  [[nodiscard]] constexpr double as_double() const { return static_cast<double>(v_); }
  constexpr auto operator<=>(const Bytes&) const = default;
  friend Bytes operator+(Bytes a, Bytes b) { return Bytes(checked_add(a.v_, b.v_)); }
  friend Bytes operator-(Bytes a, Bytes b) { return Bytes(checked_sub(a.v_, b.v_)); }
  friend Bytes operator*(Bytes a, std::int64_t k) { return Bytes(checked_mul(a.v_, k)); }
  Bytes& operator+=(Bytes b) { return *this = *this + b; }

 private:
  std::int64_t v_ = 0;
};

class Rate {
 public:
  static constexpr std::int64_t kUnitsPerBytePerSecond = 65536;
  constexpr Rate() = default;
  [[nodiscard]] static constexpr Rate units(std::int64_t u) { return Rate(u); }
  // Rounds down to the unit. PRE: 0 <= v < 1.4e14.
  [[nodiscard]] static Rate bytes_per_second(double v);
  [[nodiscard]] static constexpr Rate bits_per_second(std::int64_t v) { return Rate(v * (kUnitsPerBytePerSecond / 8)); }
  [[nodiscard]] static constexpr Rate gbps(std::int64_t v) { return bits_per_second(v * 1'000'000'000); }

  [[nodiscard]] constexpr std::int64_t units() const { return units_; }
  [[nodiscard]] constexpr double bytes_per_second() const {
    return static_cast<double>(units_) / static_cast<double>(kUnitsPerBytePerSecond);
  }
  [[nodiscard]] constexpr double gbps() const { return bytes_per_second() * 8e-9; }
  // The rate times a dimensionless factor, rounded down to the unit.
  [[nodiscard]] Rate scaled(double factor) const { return Rate::bytes_per_second(bytes_per_second() * factor); }
  constexpr auto operator<=>(const Rate&) const = default;
  friend Rate operator+(Rate a, Rate b) { return Rate(checked_add(a.units_, b.units_)); }
  friend Rate operator-(Rate a, Rate b) { return Rate(checked_sub(a.units_, b.units_)); }
  friend Rate operator*(Rate a, std::int64_t k) { return Rate(checked_mul(a.units_, k)); }

 private:
  explicit constexpr Rate(std::int64_t u) : units_(u) {}
  std::int64_t units_ = 0;
};

}  // namespace lockstep
