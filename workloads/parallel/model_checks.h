// SPDX-License-Identifier: Apache-2.0
// Whether a job can cut its model: sequences over context parallelism, experts over their groups, low-rank adapters on its layers.
// Parts of resolve_plan().
#pragma once

#include <cstdint>

#include "workloads/parallel/plan.h"

namespace lockstep {

void check_context(const JobSpec& job, const ReportFault& report);
void check_experts(const JobSpec& job, const ReportFault& report);
void check_adapters(const JobSpec& job, const ReportFault& report);
// Whether ep divides the ranks of a stage, with `dp` replicas.
void check_expert_groups(const JobSpec& job, std::int64_t dp, const ReportFault& report);

}  // namespace lockstep
