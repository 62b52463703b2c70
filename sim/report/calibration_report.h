// SPDX-License-Identifier: Apache-2.0
// Renderings of a calibration: what was fitted and how well the tables determine it, the error of every table before and after, and the
// tuning file that a cluster can name.
#pragma once

#include <string>
#include <vector>

#include "sim/experiment/calibration/calibration.h"

namespace lockstep {

[[nodiscard]] std::string to_table(const Calibration& c);
[[nodiscard]] std::string to_json(const Calibration& c);

// A whole file of kind tuning. `files`: what was read; `name`: how reports call it.
[[nodiscard]] std::string to_tuning_file(const Calibration& c, const std::string& name, const std::vector<std::string>& files);

// Of tables that no fit has seen.
[[nodiscard]] std::string leave_one_out_table(const std::vector<TableError>& errors);
[[nodiscard]] std::string leave_one_out_json(const std::vector<TableError>& errors);
[[nodiscard]] std::string leave_one_out_markdown(const std::vector<TableError>& errors);

}  // namespace lockstep
