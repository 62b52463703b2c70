// SPDX-License-Identifier: Apache-2.0
// One kind of GPU as data sheets and measurements describe it (kind: gpu). Rates are one direction, arithmetic is dense.
// Constants of behaviour (payload shares, efficiency) hold for a whole hardware generation and transport, never for one site.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/quantity.h"
#include "base/time.h"
#include "base/units.h"

namespace lockstep {

template <class T>
class FieldTable;

enum class GpuGeneration : std::uint8_t { kVolta, kTuring, kAmpere, kAda, kHopper, kBlackwell, kCdna3 };
inline constexpr int kGpuGenerationCount = 7;
[[nodiscard]] std::string_view to_text(GpuGeneration g);  // "volta", ...

// Dense peak arithmetic by data type; absent where the GPU has no such units. Consumer cards multiply FP16 and BF16 twice as
// fast with FP16 accumulation, which nobody trains with: these are the rates with FP32 accumulation.
struct PeakRates {
  std::optional<FlopRate> bf16;
  std::optional<FlopRate> fp16;
  std::optional<FlopRate> tf32;
  std::optional<FlopRate> fp8;
  std::optional<FlopRate> fp4;  // with block scales (NVFP4)

  // Of the matrix products of mixed-precision training: BF16, or FP16 on GPUs that have no BF16. PRE: validated, so one is
  // there.
  [[nodiscard]] FlopRate training() const { return bf16 ? *bf16 : fp16.value_or(FlopRate{}); }
};

// A GPU's ports to other GPUs, NVLink or AMD's xGMI, all taken together: `links` x the rate of one.
struct NvlinkSpec {
  int links = 0;
  Rate rate_per_link;     // data sheet
  Rate payload_per_link;  // what a copy or a ring reaches
  // Share of a ring's last, send-less step that is not hidden behind other work, 0..1 (workloads/collectives).
  Fraction ring_drain;

  [[nodiscard]] Rate nominal() const { return rate_per_link * links; }
  [[nodiscard]] Rate payload() const { return payload_per_link * links; }
};

struct PcieSpec {
  Rate rate;     // data sheet
  Rate payload;  // after headers and credits
};

// Fused attention by implementation, forward with heads of 128, of the dense 16-bit peak, per executed (causal) operation. A generation
// without a share of its own does not run on the GPU.
struct AttentionEfficiency {
  std::optional<Fraction> flash1;
  std::optional<Fraction> flash2;
  std::optional<Fraction> flash3;
  Fraction head_dim_64{1};  // heads of 64 reach this much of it, between and below in proportion
};

// What a matrix product pays for its shape (workloads/kernels/gemm_shape.h).
struct GemmShapeCosts {
  double ramp_k = 0;  // an inner product of length K reaches K / (K + this)
  int tile_m = 0;     // output is cut into tiles of tile_m x tile_n, one for a multiprocessor at a time; 0: not modelled
  int tile_n = 0;
  double waves = 0;        // 0..1, how much of a last, partly filled wave of tiles costs
  double epilogue = 0;     // share of the traffic of results in 32 bits (gradients of weights) that does not overlap
  Fraction misaligned{1};  // rows that do not begin at multiples of 16 bytes run this fast
};

// How much of the peak kernels reach (workloads/kernels), one set per generation.
struct GpuEfficiency {
  Fraction gemm{0};             // long matrix products, of the dense peak
  GemmShapeCosts gemm_shape;    // what shapes take off it
  std::optional<Fraction> fp8;  // the same of 8-bit products, of their peak; absent: gemm
  std::optional<Fraction> fp4;  // ... of 4-bit ones
  Fraction sustained{1};        // clock that power allows under load, of the one the peaks are stated at
  AttentionEfficiency attention;
  Fraction attention_backward_ratio{1};  // backward's share over forward's
  Fraction hbm{0};                       // memory-bound kernels, of the HBM rate
  Fraction comm_slowdown{0};             // compute takes 1 + this while a collective of its rank is in flight
};

struct GpuSpec {
  std::string name;
  GpuGeneration generation = GpuGeneration::kHopper;
  PeakRates peak;
  int multiprocessors = 0;  // SMs or CUs; 0: not known, and no product pays for a last, partly filled wave
  Bytes memory;
  Rate hbm;
  std::optional<NvlinkSpec> nvlink;  // absent: none, nor xGMI
  std::optional<NvlinkSpec> xgmi;
  PcieSpec pcie;
  double tdp_watts = 0;
  GpuEfficiency efficiency;
};

[[nodiscard]] const FieldTable<GpuSpec>& gpu_fields();

}  // namespace lockstep
