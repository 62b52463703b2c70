// SPDX-License-Identifier: Apache-2.0
// Whether a job can run its pipeline schedule. Part of resolve_plan().
#pragma once

#include "workloads/parallel/plan.h"

namespace lockstep {

// PRE: sizes, micro-batches and layers of the stages are resolved; the layout is not read.
void check_schedule(const TrainingPlan& plan, const ReportFault& report);

}  // namespace lockstep
