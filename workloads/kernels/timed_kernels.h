// SPDX-License-Identifier: Apache-2.0
// The kernels of a plan with the times of a job's table (timings.h) where it has them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/kernels/transformer_kernels.h"

namespace lockstep {

// As part_kernels(); where the operation was measured as a whole, its kernels share that time as the model's do, so that slices of the
// operation add up to it.
[[nodiscard]] std::vector<KernelWork> timed_part_kernels(const TrainingPlan& plan, ModelPart part, Direction direction,
                                                         const GpuPerformance& gpu);

// What a plan takes from the table. Kernels of the parts that it runs are counted once each, however often they run.
struct TimingUse {
  std::int64_t products = 0;
  std::int64_t parts = 0;
  std::vector<bool> rows;  // by row of the table: it is one of a kernel of the plan, if only within a part that was measured
};
// PRE: the plan has a model, and gpu.measured a table.
[[nodiscard]] TimingUse timing_use(const TrainingPlan& plan, const GpuPerformance& gpu);
// The matrix products of a rank, each shape and precision once, with their times on `gpu`: a table as `kernel_timings` takes it, to be filled
// with measured times. `note` is the first kernel of that shape.
[[nodiscard]] std::string product_times(const TrainingPlan& plan, const GpuPerformance& gpu);

// Warns of a row that is no kernel of `whom`: misspelt, or of another plan. `path`: of the key.
void warn_of_idle_timing(const KernelTimings& table, std::size_t row, const char* whom, const std::string& path,
                         Diagnostics& d);

}  // namespace lockstep
