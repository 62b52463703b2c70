// SPDX-License-Identifier: Apache-2.0
// lockstep run of a document of kind trace, and the importing of one.
#pragma once

#include <optional>
#include <string>

#include "base/diagnostics.h"
#include "sim/cli/verb.h"

namespace lockstep::cli {

// An exit code, if the scenario of `run` is a trace; nothing, and nothing done, if it is anything else.
[[nodiscard]] std::optional<int> run_trace_document(const VerbContext& context);

// The document of a GOAL file, which is checked. `output`: where the document will be; empty: the standard output.
[[nodiscard]] std::string import_goal(const std::string& file, const std::string& output, Diagnostics& d);

}  // namespace lockstep::cli
