// SPDX-License-Identifier: Apache-2.0
// Renderings of a validation suite: every error, also the ugly ones, then the statistics per source and over all rows.
#pragma once

#include <string>

#include "sim/experiment/validation.h"

namespace lockstep {

[[nodiscard]] std::string to_table(const SuiteResult& r);
[[nodiscard]] std::string to_markdown(const SuiteResult& r);
[[nodiscard]] std::string to_csv(const SuiteResult& r);
[[nodiscard]] std::string to_json(const SuiteResult& r);

}  // namespace lockstep
