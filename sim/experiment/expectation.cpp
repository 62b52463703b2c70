// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/expectation.h"

#include "base/quantity.h"

namespace lockstep {

std::optional<Expectation> parse_expectation(std::string_view text) {
  const auto number = [](std::string_view digits) -> std::optional<double> { return parse_double(digits).value; };
  const auto after = [&](std::string_view word) {
    return text.starts_with(word) ? number(text.substr(word.size())) : std::nullopt;
  };
  if (const auto least = after("above ")) return Expectation{.least = *least};
  if (const auto most = after("below ")) return Expectation{.most = *most};
  const std::size_t to = text.find(" to ");
  if (to == std::string_view::npos) return {};
  const auto least = number(text.substr(0, to));
  const auto most = number(text.substr(to + 4));
  return least && most && *least <= *most ? std::optional(Expectation{*least, *most}) : std::nullopt;
}

}  // namespace lockstep
