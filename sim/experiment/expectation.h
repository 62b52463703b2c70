// SPDX-License-Identifier: Apache-2.0
// The inequality of a sign test as tables write it: "above 1.5", "below 0.7", "0.9 to 1.1", the bounds included.
#pragma once

#include <limits>
#include <optional>
#include <string_view>

namespace lockstep {

inline constexpr const char* kExpectationForm = "above X, below X or X to Y is expected";

struct Expectation {
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  [[nodiscard]] bool holds(double value) const { return value >= least && value <= most; }
};

[[nodiscard]] std::optional<Expectation> parse_expectation(std::string_view text);

}  // namespace lockstep
