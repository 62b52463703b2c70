// SPDX-License-Identifier: Apache-2.0
// Conditions of a shell script: [ ... ], [[ ... ]] and test. What depends on files, commands or regular expressions cannot be decided.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

enum class ShellStatus : std::uint8_t { kTrue, kFalse, kUndecided };

// The expanded words between the brackets. = != == with patterns, -eq and its kin, -z, -n, ! ( ) && || -a -o.
[[nodiscard]] ShellStatus shell_test(const std::vector<std::string>& words);

[[nodiscard]] inline ShellStatus negated(ShellStatus s) {
  if (s == ShellStatus::kUndecided) return s;
  return s == ShellStatus::kTrue ? ShellStatus::kFalse : ShellStatus::kTrue;
}

}  // namespace lockstep
