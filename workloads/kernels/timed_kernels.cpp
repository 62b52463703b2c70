// SPDX-License-Identifier: Apache-2.0
#include "workloads/kernels/timed_kernels.h"

#include <fmt/core.h>

#include <set>

#include "base/check.h"
#include "base/diagnostics.h"

namespace lockstep {
namespace {

double gpu_seconds(const std::vector<KernelWork>& works, const GpuPerformance& gpu) {
  double sum = 0;
  for (const KernelWork& work : works) sum += kernel_seconds(gpu, work);
  return sum;
}

std::optional<std::size_t> row_of(const TrainingPlan& plan, ModelPart part, Direction direction, const GpuPerformance& gpu) {
  return gpu.measured.part(part, direction, plan.micro_batch_tokens(), plan.tp());
}

bool runs(const TransformerSpec& model, ModelPart part) {
  const bool is_of_experts = part == ModelPart::kMoe || part == ModelPart::kExperts || part == ModelPart::kCombine;
  if (!is_of_experts && part != ModelPart::kMlp) return true;
  for (std::int64_t layer = 0; layer < model.layers + model.mtp_layers; ++layer) {
    if (model.is_expert_layer(layer) == is_of_experts) return true;
  }
  return false;
}

constexpr Direction kDirections[] = {Direction::kForward, Direction::kBackward, Direction::kWeightGradient};

}  // namespace

std::vector<KernelWork> timed_part_kernels(const TrainingPlan& plan, ModelPart part, Direction direction,
                                           const GpuPerformance& gpu) {
  std::vector<KernelWork> works = part_kernels(plan, part, direction, gpu.kernels);
  const std::optional<std::size_t> row = row_of(plan, part, direction, gpu);
  if (!row) return works;
  const double modelled = gpu_seconds(works, gpu);
  if (modelled <= 0) return works;
  const double scale = gpu.measured.table->rows[*row].seconds / modelled;
  for (KernelWork& work : works) work.measured_s = scale * kernel_seconds(gpu, work);
  return works;
}

TimingUse timing_use(const TrainingPlan& plan, const GpuPerformance& gpu) {
  LOCKSTEP_CHECK(gpu.measured.table != nullptr, "a job without a table of times");
  TimingUse use;
  use.rows.assign(gpu.measured.table->rows.size(), false);
  for (const ModelPart part : kModelParts) {
    if (!runs(plan.job.model, part)) continue;
    for (const Direction direction : kDirections) {
      const std::vector<KernelWork> works = part_kernels(plan, part, direction, gpu.kernels);
      const std::optional<std::size_t> whole = gpu_seconds(works, gpu) > 0 ? row_of(plan, part, direction, gpu) : std::nullopt;
      if (whole) {
        use.rows[*whole] = true;
        ++use.parts;
      }
      for (const KernelWork& work : works) {
        const std::optional<std::size_t> row = gpu.measured.product(work);
        if (!row) continue;
        use.rows[*row] = true;
        if (!whole) ++use.products;
      }
    }
  }
  return use;
}

std::string product_times(const TrainingPlan& plan, const GpuPerformance& gpu) {
  std::string out = "kernel,m,n,k,batch,precision,time,note\n";
  std::set<std::pair<KernelTimings::Shape, DataType>> known;
  for (const ModelPart part : kModelParts) {
    if (!runs(plan.job.model, part)) continue;
    for (const Direction direction : kDirections) {
      for (const KernelWork& work : part_kernels(plan, part, direction, gpu.kernels)) {
        const std::optional<KernelTimings::Shape> shape = shape_of_product(work);
        const DataType precision = gpu.measured.precision(work);
        if (!shape || !known.emplace(*shape, precision).second) continue;
        const auto [m, n, k, batch] = *shape;
        out += fmt::format("gemm,{},{},{},{},{},{:.6g} ms,{}\n", m, n, k, batch, precision_word(precision),
                           1e3 * kernel_seconds(gpu, work), work.name);
      }
    }
  }
  return out;
}

void warn_of_idle_timing(const KernelTimings& table, std::size_t row, const char* whom, const std::string& path,
                         Diagnostics& d) {
  const KernelTimings::Row& r = table.rows[row];
  d.warning({table.file, r.line, 1}, path,
            fmt::format("line {}, {}, is no kernel of {} and has no effect", r.line, r.what, whom),
            "sizes are those of one GPU and micro-batch");
}

}  // namespace lockstep
