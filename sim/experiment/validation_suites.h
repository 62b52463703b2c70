// SPDX-License-Identifier: Apache-2.0
// The suites behind `lockstep validate`, one file each.
#pragma once

#include "sim/experiment/validation.h"

namespace lockstep {

[[nodiscard]] SuiteResult run_collectives_suite(std::istream& csv, const std::string& file, const ConfigLibrary& library,
                                                Diagnostics& diagnostics);
[[nodiscard]] SuiteResult run_field_suite(std::istream& csv, const std::string& file, const ConfigLibrary& library,
                                          Diagnostics& diagnostics);
[[nodiscard]] SuiteResult run_kernels_suite(std::istream& csv, const std::string& file, const ConfigLibrary& library,
                                            Diagnostics& diagnostics);
[[nodiscard]] SuiteResult run_training_suite(std::istream& csv, const std::string& file, const ConfigLibrary& library,
                                             Diagnostics& diagnostics);
[[nodiscard]] SuiteResult run_training_files(const std::vector<std::string>& files, bool is_whole, const ConfigLibrary& library,
                                             const SuiteOptions& options, Diagnostics& diagnostics);

}  // namespace lockstep
