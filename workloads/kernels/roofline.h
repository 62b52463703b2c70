// SPDX-License-Identifier: Apache-2.0
// Time of a kernel on one GPU: t = max(flops / (peak x efficiency), bytes / (HBM x efficiency)). Matrix products have one asymptote per
// GPU generation and data type, off which their shape takes something (gemm_shape.h). Attention and memory-bound kernels have an
// efficiency of their own.
//
// The host starts the kernels of an operation of a program (a part of a layer) one after the other, ahead of the GPU as far as it can:
//
//   time of the operation = sqrt(G^2 + H^2)      G: sum of t over its kernels      H: what the host needs to start them all
//
// With H far below G nothing shows, with H far above G nothing else does; between them neither is quite hidden behind the other, since
// kernels are long and short in turn. Support: on the 750 steps that vTrain published (2 to 8 A100), all else equal, the median error was
// 3.9 %, against 5.9 % where the larger of G and H counts and the host's lead is carried from operation to operation.
//
// Where every launch waits for the GPU (HostCosts::is_synchronous) nothing is hidden: G + H.
//
// What an optimizer on the host does (optimizer_kernels()) is part of an operation too, at the rates of HostPath.
//
// Constants and their sources live in the hardware files (configs/hardware). Not modelled: clocks and power beyond a sustained share; a
// lead of the host beyond the operation, and collectives that the host's delay hides; hosts that share cores, garbage collection.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workloads/kernels/gemm_shape.h"
#include "workloads/kernels/timings.h"
#include "workloads/program.h"

namespace lockstep {

struct GpuSpec;  // topology/hardware/gpu_spec.h

// Which kernels the training software has where there is a choice.
struct KernelChoice {
  bool fuses_pointwise = true;           // activation with bias, rotation, dropout with residual, RMSNorm: one kernel each
  bool fuses_accumulation = true;        // gradients of weights are summed over micro-batches by the product that makes them
  double loss_bytes = 24;                // per logit, forward and backward together, all passes over 32- and 16-bit values
  double fused_softmax_limit = 1 << 24;  // longest sequence whose unfused attention scales, masks and normalises in one kernel
};

// What the host pays to start kernels (topology/hardware/software_spec.h).
struct HostCosts {
  double launch_s = 0;          // one operation
  double expert_part_s = 0;     // besides, an expert layer forward
  double expert_launch_s = 0;   // ... and for each expert of the rank
  double step_s = 0;            // besides, an optimizer step
  bool is_synchronous = false;  // none of it is hidden behind the GPU
};

// A GPU's way to the memory of its server, and its share of that memory.
struct HostPath {
  double link_bytes_per_s = 0;    // either way
  double memory_bytes_per_s = 0;  // reading and writing together
};

// What a kernel model needs to know of a GPU and the software on it.
struct GpuPerformance {
  double peak_flops = 0;         // dense, of 16-bit matrix products, or of TF32 ones in 32-bit jobs, flop/s
  double linear_peak_flops = 0;  // the same of products with weights of layers, in the job's precision; 0: as peak_flops
  std::optional<double> linear_efficiency;  // asymptote of those; absent: gemm_efficiency
  double hbm_bytes_per_s = 0;               // data sheet
  double gemm_efficiency = 1;               // asymptote, of the peak
  GemmCosts gemm_costs;
  double hbm_efficiency = 1;
  double attention_efficiency = 1;      // fused attention forward, of the peak, per executed (causal) flop
  double attention_backward_ratio = 1;  // backward's efficiency over forward's
  double comm_slowdown = 0;             // compute takes 1 + this while a collective of the rank is in flight
  KernelChoice kernels;
  HostCosts host;
  HostPath host_path;
  MeasuredKernels measured;  // what replaces all of the above but host and comm_slowdown
};

// Of jobs in bf16, or in fp16 on a GPU without bf16, whatever their software; of others see performance.h.
[[nodiscard]] GpuPerformance performance_of(const GpuSpec& gpu);

// kLinear: a matrix product with weights of a layer, in the job's precision; kGemm: any other, in 16 bits. kHostCopy: between the memory of
// the GPU and that of the host; kHostMemory: on the host, bound by its memory.
enum class KernelClass : std::uint8_t {
  kMemory,
  kGemm,
  kLinear,
  kAttentionForward,
  kAttentionBackward,
  kHostCopy,
  kHostMemory,
};

// One kernel as executed.
struct KernelWork {
  const char* name = "";
  KernelClass kind = KernelClass::kMemory;
  double flops = 0;
  double bytes = 0;
  ProductShape shape = {};                // of matrix products
  double exposed_bytes = 0;               // of which a share (gemm_costs.epilogue) is moved before or after the arithmetic
  double operations = 1;                  // of the framework that the host starts for it
  double expert_parts = 0;                // besides, in units of HostCosts::expert_part_s
  double expert_launches = 0;             // ... of expert_launch_s
  bool is_host_only = false;              // it has no kernel
  double steps = 0;                       // ... and of step_s
  std::optional<double> measured_s = {};  // its share of an operation that was measured as a whole
};

// bytes of a GEMM C[m,n] (+)= A[m,k] B[k,n] with `in` bytes per input element and `out` bytes moved per output element.
struct GemmShape {
  double m = 0;
  double n = 0;
  double k = 0;
  double in = 2;
  double out = 2;
  double batch = 1;  // as many, of equal shape
};
[[nodiscard]] KernelWork gemm(const char* name, const GemmShape& shape);
[[nodiscard]] KernelWork linear(const char* name, const GemmShape& shape);
[[nodiscard]] KernelWork memory_kernel(const char* name, double bytes);

[[nodiscard]] double peak_flops(const GpuPerformance& gpu, const KernelWork& work);
// Of that peak.
[[nodiscard]] double efficiency(const GpuPerformance& gpu, const KernelWork& work);
// On the GPU: as measured where it was, else by the model.
[[nodiscard]] double kernel_seconds(const GpuPerformance& gpu, const KernelWork& work);
// Time that the host needs to start it.
[[nodiscard]] double host_seconds(const GpuPerformance& gpu, const KernelWork& work);
// Time of a kernel as a program carries it: one beyond the range of time never ends.
[[nodiscard]] Duration kernel_duration(double seconds);
// The kernels of one operation of a program run one after the other: flops, bytes and times add up. Kernel::host is what the host adds to
// the times on the GPU.
[[nodiscard]] Kernel fuse(std::string name, std::span<const KernelWork> parts, const GpuPerformance& gpu);

}  // namespace lockstep
