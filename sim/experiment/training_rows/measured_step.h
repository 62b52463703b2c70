// SPDX-License-Identifier: Apache-2.0
// Seconds per step as a row publishes them: samples per second of its log where it has them (without what a run adds around its steps),
// else iteration_time_s, else tokens_per_s_per_gpu, else tflops_per_gpu by the FLOPs that its software counted (see flops_of_row()).
#pragma once

#include <optional>

#include "sim/experiment/training_rows/rules.h"
#include "workloads/parallel/plan.h"

namespace lockstep {

// Whether a row has any of them.
[[nodiscard]] bool has_measured_step(const TrainingRow& row);

// PRE: has_measured_step(). Nothing where the number is none that a clock can tell.
[[nodiscard]] std::optional<double> measured_step(const TrainingRow& row, const TrainingPlan& plan, std::int64_t gpus,
                                                  const RowSoftware& software);

}  // namespace lockstep
