// SPDX-License-Identifier: Apache-2.0
#include "workloads/kernels/performance.h"

#include <fmt/format.h>

#include <iterator>

#include "base/check.h"
#include "topology/hardware/server_spec.h"
#include "workloads/kernels/host_path.h"

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

const std::map<std::string, SoftwareRelease>& releases(const SoftwareHistory& software, Framework framework) {
  switch (framework) {
    case Framework::kMegatron:
      return software.megatron;
    case Framework::kPytorch:
      return software.pytorch;
    case Framework::kDeepspeed:
      return software.deepspeed;
  }
  LOCKSTEP_CHECK(false, "unknown framework {}", static_cast<int>(framework));
}

std::optional<Fraction> share_of(const AttentionEfficiency& a, AttentionGeneration generation) {
  switch (generation) {
    case AttentionGeneration::kUnfused:
      return std::nullopt;
    case AttentionGeneration::kFlash1:
      return a.flash1;
    case AttentionGeneration::kFlash2:
      return a.flash2;
    case AttentionGeneration::kFlash3:
      return a.flash3;
  }
  return std::nullopt;
}

// Of fused attention with heads of 128; absent where release and GPU have none that was asked for.
std::optional<Fraction> attention_share(const GpuSpec& gpu, const SoftwareRelease& release, AttentionKernel asked) {
  const AttentionEfficiency& a = gpu.efficiency.attention;
  const auto named = [&](AttentionGeneration g) { return release.attention >= g ? share_of(a, g) : std::nullopt; };
  switch (asked) {
    case AttentionKernel::kUnfused:
      return Fraction{1};  // not used
    case AttentionKernel::kFlash1:
      return named(AttentionGeneration::kFlash1);
    case AttentionKernel::kFlash2:
      return named(AttentionGeneration::kFlash2);
    case AttentionKernel::kFlash3:
      return named(AttentionGeneration::kFlash3);
    case AttentionKernel::kFlash:
      break;
  }
  for (const auto g : {AttentionGeneration::kFlash3, AttentionGeneration::kFlash2, AttentionGeneration::kFlash1}) {
    if (const std::optional<Fraction> share = named(g)) return share;
  }
  return std::nullopt;
}

double head_factor(const AttentionEfficiency& a, const TransformerSpec& model) {
  const std::int64_t width = model.mla ? model.mla->nope_dim + model.mla->rope_dim : model.head_dim;
  const double d = static_cast<double>(width);
  if (d <= 0 || d >= 128) return 1;
  if (d <= 64) return a.head_dim_64.value * d / 64;
  return a.head_dim_64.value + (1 - a.head_dim_64.value) * (d - 64) / 64;
}

HostCosts host_costs(const SoftwareRelease& release, Execution execution) {
  double left = 1;
  if (execution == Execution::kCompiled) left = release.compiled.value;
  if (execution == Execution::kCudaGraphs) left = release.cuda_graphs.value;
  return {.launch_s = left * release.launch.seconds(),
          .expert_part_s = left * release.expert_part.seconds(),
          .expert_launch_s = left * release.expert_launch.seconds(),
          .step_s = release.step.seconds(),
          .is_synchronous = release.synchronous && execution != Execution::kCudaGraphs};
}

// Of products that keep out of low precision.
DataType other_precision(DataType linear) {
  const bool is_low = linear == DataType::kFp8 || linear == DataType::kMxfp8 || linear == DataType::kNvfp4;
  return is_low ? DataType::kBf16 : linear;
}

GemmCosts gemm_costs(const GpuSpec& gpu) {
  const GemmShapeCosts& c = gpu.efficiency.gemm_shape;
  return {.ramp_k = c.ramp_k,
          .tile_m = static_cast<double>(c.tile_m),
          .tile_n = static_cast<double>(c.tile_n),
          .waves = c.waves,
          .epilogue = c.epilogue,
          .misaligned = c.misaligned.value,
          .multiprocessors = static_cast<double>(gpu.multiprocessors)};
}

}  // namespace

SoftwareRelease release_of(const SoftwareHistory& software, const JobSpec& job) {
  const std::map<std::string, SoftwareRelease>& all = releases(software, job.software.framework);
  if (all.empty()) return {};
  if (job.software.released.empty()) return all.rbegin()->second;
  const auto after = all.upper_bound(job.software.released);
  return after == all.begin() ? after->second : std::prev(after)->second;
}

GpuPerformance performance_of(const GpuSpec& gpu) { return performance_of(gpu, {}, {}); }

GpuPerformance performance_of(const GpuSpec& gpu, const SoftwareHistory& software, const JobSpec& job) {
  return performance_of(ServerSpec{.gpu = gpu}, software, job);
}

GpuPerformance performance_of(const ServerSpec& server, const SoftwareHistory& software, const JobSpec& job) {
  const GpuSpec& gpu = server.gpu;
  const GpuEfficiency& e = gpu.efficiency;
  const SoftwareRelease release = release_of(software, job);
  const std::optional<Products> linear = products(gpu, job.precision);
  const std::optional<Products> other = products(gpu, job.precision == DataType::kFp32 ? DataType::kFp32 : DataType::kBf16);
  LOCKSTEP_CHECK(linear && other, "{} has no units for the precision of the job", gpu.name);
  return {.peak_flops = other->peak * e.sustained.value,
          .linear_peak_flops = linear->peak * e.sustained.value,
          .linear_efficiency = linear->efficiency,
          .hbm_bytes_per_s = gpu.hbm.bytes_per_second(),
          .gemm_efficiency = e.gemm.value,
          .gemm_costs = gemm_costs(gpu),
          .hbm_efficiency = e.hbm.value,
          .attention_efficiency =
              attention_share(gpu, release, job.attention).value_or(Fraction{1}).value * head_factor(e.attention, job.model),
          .attention_backward_ratio = e.attention_backward_ratio.value,
          .comm_slowdown = e.comm_slowdown.value,
          .kernels = {.fuses_pointwise = release.fuses_pointwise || job.execution == Execution::kCompiled,
                      .fuses_accumulation = release.fuses_accumulation,
                      .loss_bytes = release.loss_bytes,
                      .fused_softmax_limit = static_cast<double>(release.fused_softmax_limit)},
          .host = host_costs(release, job.execution),
          .host_path = host_path_of(server),
          .measured = {.table = job.kernel_timings, .linear = job.precision, .other = other_precision(job.precision)}};
}

double linear_peak(const GpuSpec& gpu, const JobSpec& job) {
  const std::optional<Products> linear = products(gpu, job.precision);
  LOCKSTEP_CHECK(linear.has_value(), "{} has no units for the precision of the job", gpu.name);
  return linear->peak;
}

bool check_kernels(const JobSpec& job, const GpuSpec& gpu, const SoftwareHistory& software, const ReportFault& report) {
  if (job.profile) return true;
  const std::string name = gpu.name.empty() ? "the GPU" : gpu.name;
  bool is_good = true;
  if (!products(gpu, job.precision)) {
    is_good = false;
    report("precision", fmt::format("{} has no units for it", name),
           fmt::format("{}, or another GPU", gpu.peak.fp8 ? "bf16 or fp8" : "bf16 or fp16"));
  }
  if (!attention_share(gpu, release_of(software, job), job.attention)) {
    is_good = false;
    report("attention",
           fmt::format("{}, or its software of {}, has no such kernel", name,
                       job.software.released.empty() ? "today" : job.software.released),
           "attention: unfused, or newer software");
  }
  return is_good;
}

}  // namespace lockstep
