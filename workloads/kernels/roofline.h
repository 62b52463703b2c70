// SPDX-License-Identifier: Apache-2.0
// Time of a kernel on one GPU: t = max(flops / (peak x efficiency), bytes / (HBM x efficiency)). Matrix products follow one
// curve per GPU generation, efficiency(K) = asymptote x K / (K + K0), K being the length of the inner product: short inner
// products pay for filling the tensor-core pipeline. Attention and memory-bound kernels have an efficiency of their own.
//
// Constants and their sources live in the hardware files (configs/hardware). Not modelled: tile and wave quantisation (public
// training rows do not show it), clocks and power, launch gaps of the host.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workloads/program.h"

namespace lockstep {

struct GpuSpec;  // topology/hardware/gpu_spec.h

// What a kernel model needs to know of a GPU.
struct GpuPerformance {
  double peak_flops = 0;         // dense, of 16-bit matrix products, or of TF32 ones in 32-bit jobs, flop/s
  double linear_peak_flops = 0;  // the same of products with weights of layers, in the job's precision; 0: as peak_flops
  std::optional<double> linear_efficiency;  // asymptote of those; absent: gemm_efficiency
  double hbm_bytes_per_s = 0;  // data sheet
  double gemm_efficiency = 1;  // asymptote, of the peak
  double gemm_ramp_k = 0;      // K0
  double hbm_efficiency = 1;
  double attention_efficiency = 1;      // fused attention forward, of the peak, per executed (causal) flop
  double attention_backward_ratio = 1;  // backward's efficiency over forward's
  double comm_slowdown = 0;             // compute takes 1 + this while a collective of the rank is in flight
};

// Of jobs in bf16, or in fp16 on a GPU without bf16; of others see performance.h.
[[nodiscard]] GpuPerformance performance_of(const GpuSpec& gpu);

// kLinear: a matrix product with weights of a layer, in the job's precision; kGemm: any other, in 16 bits.
enum class KernelClass : std::uint8_t { kMemory, kGemm, kLinear, kAttentionForward, kAttentionBackward };

// Where in its part of a layer a kernel runs: the product of the part's input (qkv, up), the product of its output (attention output,
// down), or elsewhere.
enum class PartSlice : std::uint8_t { kAll, kEntry, kMiddle, kExit };
inline constexpr PartSlice kPartSlices[] = {PartSlice::kEntry, PartSlice::kMiddle, PartSlice::kExit};

// One kernel as executed. inner is K of matrix products.
struct KernelWork {
  const char* name = "";
  KernelClass kind = KernelClass::kMemory;
  double flops = 0;
  double bytes = 0;
  double inner = 0;
  PartSlice slice = PartSlice::kMiddle;
};

// bytes of a GEMM C[m,n] (+)= A[m,k] B[k,n] with `in` bytes per input element and `out` bytes moved per output element.
struct GemmShape {
  double m = 0;
  double n = 0;
  double k = 0;
  double in = 2;
  double out = 2;
};
[[nodiscard]] KernelWork gemm(const char* name, const GemmShape& shape);
[[nodiscard]] KernelWork linear(const char* name, const GemmShape& shape);
[[nodiscard]] KernelWork memory_kernel(const char* name, double bytes);

[[nodiscard]] double peak_flops(const GpuPerformance& gpu, const KernelWork& work);
// Of that peak.
[[nodiscard]] double efficiency(const GpuPerformance& gpu, const KernelWork& work);
[[nodiscard]] double kernel_seconds(const GpuPerformance& gpu, const KernelWork& work);
// Time of a kernel as a program carries it: one beyond the range of time never ends.
[[nodiscard]] Duration kernel_duration(double seconds);
// The kernels of one operation of a program run one after the other: flops, bytes and times add up.
[[nodiscard]] Kernel fuse(std::string name, std::span<const KernelWork> parts, const GpuPerformance& gpu);

}  // namespace lockstep
