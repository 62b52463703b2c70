// SPDX-License-Identifier: Apache-2.0
// From words to an exit code: finds the verb, parses its arguments, runs it, and turns what it throws into messages and codes.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "sim/cli/verb.h"

namespace lockstep::cli {

struct Terminal {
  std::ostream& out;
  std::ostream& err;
  bool is_out_color = false;
  bool is_err_color = false;
};

// `words` without the program's name. Writes to the terminal's streams only; throws nothing.
[[nodiscard]] int run_command_line(const std::vector<Verb>& verbs, const std::vector<std::string>& words,
                                   const ConfigLibrary& library, Terminal terminal);

// Where shipped configurations are: $LOCKSTEP_CONFIGS, the source tree this was built from, the installation.
[[nodiscard]] ConfigLibrary default_library();

// Errors and warnings, one a line.
void print_diagnostics(std::ostream& err, const Diagnostics& d, bool is_color);

}  // namespace lockstep::cli
