// SPDX-License-Identifier: Apache-2.0
#include "workloads/kernels/performance.h"

#include <fmt/format.h>

#include "base/check.h"
#include "topology/hardware/gpu_spec.h"

namespace lockstep {
namespace {

// Of matrix products in one data type.
struct Products {
  double peak = 0;
  double efficiency = 0;
};

std::optional<Products> products(const GpuSpec& gpu, DataType type) {
  const GpuEfficiency& e = gpu.efficiency;
  const auto of = [](const std::optional<FlopRate>& peak, const Fraction& share) -> std::optional<Products> {
    if (!peak) return std::nullopt;
    return Products{peak->per_second, share.value};
  };
  switch (type) {
    case DataType::kBf16:
    case DataType::kFp16:
      return Products{gpu.peak.training().per_second, e.gemm.value};
    case DataType::kFp32:
      return of(gpu.peak.tf32, e.gemm);
    case DataType::kFp8:
    case DataType::kMxfp8:
      return of(gpu.peak.fp8, e.fp8.value_or(e.gemm));
    case DataType::kNvfp4:
      return of(gpu.peak.fp4, e.fp4.value_or(e.gemm));
  }
  LOCKSTEP_CHECK(false, "unknown data type {}", static_cast<int>(type));
}

}  // namespace

GpuPerformance performance_of(const GpuSpec& gpu) { return performance_of(gpu, JobSpec{}); }

GpuPerformance performance_of(const GpuSpec& gpu, const JobSpec& job) {
  const GpuEfficiency& e = gpu.efficiency;
  const std::optional<Products> linear = products(gpu, job.precision);
  const std::optional<Products> other = products(gpu, job.precision == DataType::kFp32 ? DataType::kFp32 : DataType::kBf16);
  LOCKSTEP_CHECK(linear && other, "{} has no units for the precision of the job", gpu.name);
  return {.peak_flops = other->peak * e.sustained.value,
          .linear_peak_flops = linear->peak * e.sustained.value,
          .linear_efficiency = linear->efficiency,
          .hbm_bytes_per_s = gpu.hbm.bytes_per_second(),
          .gemm_efficiency = e.gemm.value,
          .gemm_ramp_k = e.gemm_ramp_k,
          .hbm_efficiency = e.hbm.value,
          .attention_efficiency = e.attention.value,
          .attention_backward_ratio = e.attention_backward_ratio.value,
          .comm_slowdown = e.comm_slowdown.value};
}

double linear_peak(const GpuSpec& gpu, const JobSpec& job) {
  const std::optional<Products> linear = products(gpu, job.precision);
  LOCKSTEP_CHECK(linear.has_value(), "{} has no units for the precision of the job", gpu.name);
  return linear->peak;
}

bool check_kernels(const JobSpec& job, const GpuSpec& gpu, const ReportFault& report) {
  if (products(gpu, job.precision)) return true;
  report("precision", fmt::format("{} has no units for it", gpu.name.empty() ? "the GPU" : gpu.name),
         fmt::format("{}, or another GPU", gpu.peak.fp8 ? "bf16 or fp8" : "bf16 or fp16"));
  return false;
}

}  // namespace lockstep
