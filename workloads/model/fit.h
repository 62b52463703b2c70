// SPDX-License-Identifier: Apache-2.0
// What to change when a plan does not fit into GPU memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/parallel/plan.h"

namespace lockstep {

// Changes of one or two keys of the job, on the same GPUs, after which every rank fits into `capacity` bytes, as
// "recompute: full" or "strategy: fsdp, micro_batch: 1". Single changes first; pairs only if no single one is enough. Empty if
// nothing of this kind is.
[[nodiscard]] std::vector<std::string> ways_to_fit(const TrainingPlan& plan, std::int64_t capacity);

// Fewest layers of each stage to recompute in full (job.recompute_layers) after which every rank fits; nothing where none, or only all of a
// stage, or not even those are enough.
[[nodiscard]] std::optional<std::int64_t> layers_to_recompute(const TrainingPlan& plan, std::int64_t capacity);

}  // namespace lockstep
