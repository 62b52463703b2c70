// SPDX-License-Identifier: Apache-2.0
// Command-line words to Arguments, by the verb's own table. No abbreviations; an unknown or repeated option, a missing value and a
// wrong number of positional arguments throw UserError.
#pragma once

#include <string>
#include <vector>

#include "sim/cli/verb.h"

namespace lockstep::cli {

// `words` are what follows the verb.
[[nodiscard]] Arguments parse_arguments(const Verb& verb, const std::vector<std::string>& words);

}  // namespace lockstep::cli
