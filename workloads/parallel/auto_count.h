// SPDX-License-Identifier: Apache-2.0
// A positive count, or `auto`: whatever fills the cluster.
#pragma once

#include "base/value_codec.h"

namespace lockstep {

class AutoCount {
 public:
  constexpr AutoCount() = default;                            // auto
  constexpr AutoCount(std::int64_t count) : count_(count) {}  // NOLINT(google-explicit-constructor): job.dp = 8
  [[nodiscard]] constexpr bool is_auto() const { return count_ == 0; }
  [[nodiscard]] constexpr std::int64_t count() const { return count_; }  // PRE: not auto
  constexpr auto operator<=>(const AutoCount&) const = default;

 private:
  std::int64_t count_ = 0;
};

template <>
struct Codec<AutoCount> {
  static constexpr bool kIsText = true;  // quotes are welcome
  static constexpr std::string_view type = "integer, or auto", unit = "";
  static Parsed<AutoCount> parse(std::string_view text) {
    if (text == "auto") return {AutoCount(), {}, {}};
    const Parsed<std::int64_t> n = parse_int(text);
    if (!n) return {std::nullopt, n.error, "a number, or auto"};
    if (*n.value < 1) return {std::nullopt, "'" + std::string(text) + "' is out of range", "at least 1, or auto"};
    return {AutoCount(*n.value), {}, {}};
  }
  static std::string print(AutoCount v) { return v.is_auto() ? "auto" : std::to_string(v.count()); }
};

}  // namespace lockstep
