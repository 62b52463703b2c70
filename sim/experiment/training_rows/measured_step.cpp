// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/training_rows/measured_step.h"

#include <algorithm>
#include <iterator>

#include "sim/experiment/measured_tables.h"
#include "workloads/model/flops.h"

namespace lockstep {
namespace {

// FLOPs of a step as the source's TFLOP/s count them. What is printed has no other time beside it in three cases: the NeMo documents count
// the whole square of attention (12 s/h per layer; with half of it the table would need 0.7 of the peak in attention), papers of 2021 to 2023
// with full recompute count that too (96 B s l h^2 of Narayanan et al. 2021), and others count the model once with half of the square.
double flops_of_row(const TrainingRow& row, const TrainingPlan& plan, const RowSoftware& software) {
  const StepFlops flops = step_flops(plan);
  if (plan.job.recompute == Recompute::kFull && software.released < "2023-06") return flops.hardware;
  if (!contains(row.text("source"), "NeMo docs")) return flops.model;
  const TransformerSpec& m = plan.job.model;
  const auto tokens = static_cast<double>(plan.global_batch) * static_cast<double>(plan.job.seq_len);
  // Scores and their product with v, forward and backward: 12 s h per token and layer; half of it is in flops.model.
  const double half =
      6.0 * static_cast<double>(plan.job.seq_len) * static_cast<double>(m.heads * m.head_dim) * static_cast<double>(m.layers);
  return flops.model + tokens * half;
}

}  // namespace

bool has_measured_step(const TrainingRow& row) {
  return std::any_of(std::begin(kMeasuredColumns), std::end(kMeasuredColumns),
                     [&row](std::string_view column) { return row.number(column).has_value(); });
}

std::optional<double> measured_step(const TrainingRow& row, const TrainingPlan& plan, std::int64_t gpus,
                                    const RowSoftware& software) {
  const auto batch = static_cast<double>(plan.global_batch);
  const auto seq = static_cast<double>(plan.job.seq_len);
  const auto n = static_cast<double>(gpus);
  const std::optional<double> time = row.number("iteration_time_s");
  const std::optional<double> tokens = row.number("tokens_per_s_per_gpu");
  double seconds = 0;
  if (time) {
    seconds = *time;
    // A logged rate counts samples if it is near the time; some logs write tokens.
    const std::optional<double> logged = row.noted("throughput(samples/s)");
    if (logged && *logged > 0 && batch / *logged > seconds / 2 && batch / *logged < seconds * 2) seconds = batch / *logged;
  } else if (tokens && *tokens > 0) {
    seconds = batch * seq / (n * *tokens);
  } else if (const std::optional<double> tflops = row.number("tflops_per_gpu"); tflops && *tflops > 0) {
    seconds = flops_of_row(row, plan, software) / (n * *tflops * 1e12);
  }
  return is_measurable(seconds) ? std::optional(seconds) : std::nullopt;
}

}  // namespace lockstep
