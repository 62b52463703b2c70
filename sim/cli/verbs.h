// SPDX-License-Identifier: Apache-2.0
// Every verb; each is defined in its own file.
#pragma once

#include "sim/cli/verb.h"

namespace lockstep::cli {

[[nodiscard]] Verb run_verb();
[[nodiscard]] Verb collective_verb();
[[nodiscard]] Verb traffic_verb();
[[nodiscard]] Verb explain_verb();
[[nodiscard]] Verb sweep_verb();
[[nodiscard]] Verb validate_verb();
[[nodiscard]] Verb calibrate_verb();
[[nodiscard]] Verb check_verb();
[[nodiscard]] Verb list_verb();
[[nodiscard]] Verb schema_verb();
[[nodiscard]] Verb topo_verb();
[[nodiscard]] Verb compare_verb();
[[nodiscard]] Verb import_verb();
[[nodiscard]] Verb tune_verb();

// In the order of --help.
[[nodiscard]] std::vector<Verb> all_verbs();

}  // namespace lockstep::cli
