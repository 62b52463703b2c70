// SPDX-License-Identifier: Apache-2.0
// The texts of --help, from the tables of the verbs.
#pragma once

#include <string>
#include <vector>

#include "sim/cli/verb.h"

namespace lockstep::cli {

[[nodiscard]] std::string main_help(const std::vector<Verb>& verbs);
[[nodiscard]] std::string verb_help(const Verb& verb);

}  // namespace lockstep::cli
