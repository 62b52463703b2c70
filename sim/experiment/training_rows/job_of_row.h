// SPDX-License-Identifier: Apache-2.0
// From a training row to a job that can run: cluster, JobSpec and the measured time of a step. What the cells say is taken; what they leave
// blank follows training_row_rules(), the same for every file, and the tables of rules.h.
#pragma once

#include <optional>
#include <string>

#include "sim/experiment/training_rows/cluster_of_row.h"
#include "sim/experiment/training_rows/rules.h"
#include "workloads/parallel/plan.h"

namespace lockstep {

// Which rows are eligible and what blank cells mean, in words.
[[nodiscard]] std::string training_row_rules();

struct RowJob {
  std::string refusal;       // why there is no job; then the rest counts for nothing
  bool is_eligible = false;  // the row says enough; what is missing is ours
  ClusterSpec cluster;
  TrainingPlan plan;
  double measured_s = 0;
  std::string what;  // "GPT 175B, 64 GPUs, tp 8 pp 8 x 3, full recompute"
  RowSoftware software;
};

[[nodiscard]] RowJob job_of_row(const TrainingRow& row, const TrainingRules& rules, const ConfigLibrary& library);

// "bloom-bigscience", "megatron-bridge-perf-summary MoE": experts, LoRA and ZeRO-3 of 2021 are sources of their own where a file has them beside others.
enum class RowPart : std::uint8_t { kAll, kExperts, kLora, kZero3 };
[[nodiscard]] RowPart part_of(const TrainingRow& row, const RowJob& job);

}  // namespace lockstep
