// SPDX-License-Identifier: Apache-2.0
// The sizes of a row's plan: what stands in cells or notes, and what follows from it. Nothing is guessed that the rules do not name.
#pragma once

#include <optional>
#include <string>

#include "sim/experiment/training_rows/row.h"

namespace lockstep {

struct PlanCells {
  std::string missing;  // why there is no plan; empty: there is one
  std::int64_t gpus = 0;
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t cp = 1;
  std::int64_t ep = 1;
  std::int64_t dp = 1;
  std::int64_t virtual_stages = 1;
  std::int64_t seq_len = 0;
  std::int64_t micro_batch = 1;
  std::int64_t global_batch = 0;
  std::int64_t fsdp_group = 0;    // ranks that shard weights together; 0: they do not
  bool shards_weights = false;    // ZeRO-3, FSDP
  bool shards_gradients = false;  // ZeRO-2
};

[[nodiscard]] PlanCells plan_cells(const TrainingRow& row);

}  // namespace lockstep
