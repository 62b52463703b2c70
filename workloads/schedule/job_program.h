// SPDX-License-Identifier: Apache-2.0
// The program of a plan: of its model, or of its profile.
#pragma once

#include <memory>

#include "workloads/kernels/roofline.h"
#include "workloads/parallel/plan.h"
#include "workloads/program.h"

namespace lockstep {

[[nodiscard]] std::unique_ptr<Program> make_program(const TrainingPlan& plan, const GpuPerformance& gpu);

}  // namespace lockstep
