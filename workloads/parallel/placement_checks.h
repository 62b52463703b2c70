// SPDX-License-Identifier: Apache-2.0
// Whether a cluster has the GPUs that a job and its placement ask for. Parts of resolve_plan().
#pragma once

#include <cstdint>

#include "workloads/parallel/plan.h"

namespace lockstep {

// Returns how many GPUs the job takes: all that its placement has free, if it does not say.
std::int64_t check_gpus(const JobSpec& job, const ClusterSize& cluster, const ReportFault& report);
// Whether the nodes and endpoints named exist, each once, and rails line up. PRE: the job takes `gpus`.
void check_placement(const JobSpec& job, const ClusterSize& cluster, std::int64_t gpus, const ReportFault& report);

}  // namespace lockstep
