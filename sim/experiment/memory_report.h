// SPDX-License-Identifier: Apache-2.0
// What a run says about GPU memory: every pipeline stage by part, the first rank that does not fit and where it is, and what would make
// it fit. Ranks of a stage need the same; which rank is first is by number.
#pragma once

#include <functional>
#include <string>

#include "sim/report/run_result.h"
#include "topology/hardware/gpu_spec.h"
#include "topology/network.h"
#include "workloads/parallel/plan.h"
#include "workloads/program.h"

namespace lockstep {

// "node3.gpu1".
[[nodiscard]] std::string gpu_name(const Network& network, EndpointId endpoint);

[[nodiscard]] MemoryReport report_memory(const TrainingPlan& plan, std::int64_t capacity,
                                         const std::function<std::string(Rank)>& name_of);
// Sets r.memory and r.memory_advice. PRE: the plan is of a model.
void add_memory(const TrainingPlan& plan, const GpuSpec& gpu, const std::function<std::string(Rank)>& name_of, RunResult& r);

}  // namespace lockstep
