// SPDX-License-Identifier: Apache-2.0
#include "workloads/kernels/roofline.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace lockstep {

KernelWork gemm(const char* name, const GemmShape& s) {
  return {.name = name,
          .kind = KernelClass::kGemm,
          .flops = s.batch * 2 * s.m * s.n * s.k,
          .bytes = s.batch * ((s.m * s.k + s.k * s.n) * s.in + s.m * s.n * s.out),
          .shape = {.m = s.m, .n = s.n, .k = s.k, .batch = s.batch, .bytes = s.in < 1 ? 0.5 : std::floor(s.in)}};
}

KernelWork linear(const char* name, const GemmShape& s) {
  KernelWork work = gemm(name, s);
  work.kind = KernelClass::kLinear;
  return work;
}

KernelWork memory_kernel(const char* name, double bytes) { return {.name = name, .bytes = bytes}; }

double peak_flops(const GpuPerformance& gpu, const KernelWork& work) {
  return work.kind == KernelClass::kLinear && gpu.linear_peak_flops > 0 ? gpu.linear_peak_flops : gpu.peak_flops;
}

double efficiency(const GpuPerformance& gpu, const KernelWork& work) {
  switch (work.kind) {
    case KernelClass::kMemory:
    case KernelClass::kHostCopy:
    case KernelClass::kHostMemory:
      return 1;
    case KernelClass::kGemm:
      return gpu.gemm_efficiency * shape_efficiency(gpu.gemm_costs, work.shape);
    case KernelClass::kLinear:
      return gpu.linear_efficiency.value_or(gpu.gemm_efficiency) * shape_efficiency(gpu.gemm_costs, work.shape);
    case KernelClass::kAttentionForward:
      return gpu.attention_efficiency;
    case KernelClass::kAttentionBackward:
      return gpu.attention_efficiency * gpu.attention_backward_ratio;
  }
  return 1;
}

namespace {

double host_path_seconds(double bytes, double bytes_per_s) {
  LOCKSTEP_CHECK(bytes_per_s > 0, "{} bytes on a host without memory", bytes);
  return bytes / bytes_per_s;
}

}  // namespace

double kernel_seconds(const GpuPerformance& gpu, const KernelWork& work) {
  LOCKSTEP_CHECK(gpu.peak_flops > 0 && gpu.hbm_bytes_per_s > 0, "a GPU without speed");
  if (work.measured_s) return *work.measured_s;
  if (const auto row = gpu.measured.product(work)) return gpu.measured.table->rows[*row].seconds;
  if (work.kind == KernelClass::kHostCopy) return host_path_seconds(work.bytes, gpu.host_path.link_bytes_per_s);
  if (work.kind == KernelClass::kHostMemory) return host_path_seconds(work.bytes, gpu.host_path.memory_bytes_per_s);
  const double bytes_per_s = gpu.hbm_bytes_per_s * gpu.hbm_efficiency;
  const double memory = work.bytes / bytes_per_s;
  if (work.flops <= 0) return memory;
  const double exposed = gpu.gemm_costs.epilogue * work.exposed_bytes / bytes_per_s;
  return std::max(work.flops / (peak_flops(gpu, work) * efficiency(gpu, work)) + exposed, memory);
}

double host_seconds(const GpuPerformance& gpu, const KernelWork& work) {
  return work.operations * gpu.host.launch_s + work.expert_parts * gpu.host.expert_part_s +
         work.expert_launches * gpu.host.expert_launch_s + work.steps * gpu.host.step_s;
}

// WHY not an error: a slow enough GPU is a legal question, and a run that meets such a kernel says that it never ends.
Duration kernel_duration(double seconds) {
  constexpr double kLongestSeconds = 9.19e6;  // just within the range of time
  return seconds < kLongestSeconds ? Duration::from_seconds(seconds) : Instant::never() - Instant();
}

Kernel fuse(std::string name, std::span<const KernelWork> parts, const GpuPerformance& gpu) {
  Kernel k{.name = std::move(name), .flops = 0, .bytes = 0, .time = {}};
  double seconds = 0;
  double host = 0;
  for (const KernelWork& w : parts) {
    k.flops += w.flops;
    if (w.kind != KernelClass::kHostMemory) k.bytes += w.bytes;
    seconds += kernel_seconds(gpu, w);
    host += host_seconds(gpu, w);
  }
  k.time = kernel_duration(gpu.host.is_synchronous ? seconds + host : std::sqrt(seconds * seconds + host * host));
  k.host = k.time - kernel_duration(seconds);
  return k;
}

}  // namespace lockstep
