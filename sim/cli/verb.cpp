// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/verb.h"

#include <fmt/core.h>

#include "base/check.h"
#include "base/diagnostics.h"
#include "base/quantity.h"

namespace lockstep::cli {

bool Arguments::has(std::string_view option) const {
  LOCKSTEP_CHECK(defaults_.find(option) != defaults_.end(), "the verb has no option --{}", option);
  return values_.find(option) != values_.end();
}

std::string Arguments::text(std::string_view option) const {
  return has(option) ? values_.find(option)->second.front() : defaults_.find(option)->second;
}

std::vector<std::string> Arguments::all(std::string_view option) const {
  return has(option) ? values_.find(option)->second : std::vector<std::string>{};
}

std::optional<std::int64_t> Arguments::integer(std::string_view option, std::int64_t lowest, std::int64_t highest) const {
  const std::string value = text(option);
  if (value.empty()) return std::nullopt;
  const Parsed<std::int64_t> parsed = parse_int(value);
  if (!parsed) throw UserError(fmt::format("--{}: {}", option, parsed.error), parsed.hint);
  if (*parsed.value < lowest || *parsed.value > highest) {
    throw UserError(fmt::format("--{}: '{}' is out of range", option, value), fmt::format("{} to {}", lowest, highest));
  }
  return parsed.value;
}

}  // namespace lockstep::cli
