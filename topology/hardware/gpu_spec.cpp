// SPDX-License-Identifier: Apache-2.0
#include "topology/hardware/gpu_spec.h"

#include "base/field_table.h"
#include "topology/hardware/limits.h"

namespace lockstep {

std::string_view to_text(GpuGeneration g) {
  switch (g) {
    case GpuGeneration::kVolta:
      return "volta";
    case GpuGeneration::kTuring:
      return "turing";
    case GpuGeneration::kAmpere:
      return "ampere";
    case GpuGeneration::kAda:
      return "ada";
    case GpuGeneration::kHopper:
      return "hopper";
    case GpuGeneration::kBlackwell:
      return "blackwell";
    case GpuGeneration::kCdna3:
      return "cdna3";
  }
  LOCKSTEP_CHECK(false, "unknown GPU generation {}", static_cast<int>(g));
}

namespace {

constexpr FlopRate kLowestFlops{1e9};
constexpr FlopRate kHighestFlops{1e18};

const FieldTable<PeakRates>& peak_fields() {
  static const FieldTable<PeakRates> table = [] {
    FieldTable<PeakRates> t;
    t.field("bf16", &PeakRates::bf16)
        .range(kLowestFlops, kHighestFlops)
        .doc("dense BF16 tensor-core peak, accumulating in FP32; where it is absent, training runs at the FP16 peak");
    t.field("fp16", &PeakRates::fp16)
        .range(kLowestFlops, kHighestFlops)
        .doc("dense FP16 tensor-core peak, accumulating in FP32");
    t.field("tf32", &PeakRates::tf32).range(kLowestFlops, kHighestFlops).doc("dense TF32 tensor-core peak");
    t.field("fp8", &PeakRates::fp8).range(kLowestFlops, kHighestFlops).doc("dense FP8 tensor-core peak");
    t.field("fp4", &PeakRates::fp4).range(kLowestFlops, kHighestFlops).doc("dense FP4 tensor-core peak, with block scales");
    t.validate([](const PeakRates& p, Section& at) {
      if (!p.bf16 && !p.fp16) at.error("bf16", "is missing, and so is fp16", "give one of them: training runs at it");
    });
    return t;
  }();
  return table;
}

const FieldTable<NvlinkSpec>& nvlink_fields() {
  static const FieldTable<NvlinkSpec> table = [] {
    FieldTable<NvlinkSpec> t;
    t.field("links", &NvlinkSpec::links).required().range(1, 64).doc("links of one GPU");
    t.field("rate_per_link", &NvlinkSpec::rate_per_link)
        .required()
        .range(kLowestRate, kHighestRate)
        .in_bytes()
        .doc("data-sheet rate of one link, one direction");
    t.field("payload_per_link", &NvlinkSpec::payload_per_link)
        .required()
        .range(kLowestRate, kHighestRate)
        .in_bytes()
        .doc("payload rate of one link, one direction");
    t.field("ring_drain", &NvlinkSpec::ring_drain)
        .range({0}, {1})
        .doc("share of the last step of a ring, which sends nothing, that is not hidden");
    t.validate([](const NvlinkSpec& s, Section& at) {
      if (s.payload_per_link > s.rate_per_link) {
        at.error("payload_per_link", "is above the rate of the link", "give the payload share of rate_per_link");
      }
    });
    return t;
  }();
  return table;
}

const FieldTable<PcieSpec>& pcie_fields() {
  static const FieldTable<PcieSpec> table = [] {
    FieldTable<PcieSpec> t;
    t.field("rate", &PcieSpec::rate)
        .required()
        .range(kLowestRate, kHighestRate)
        .in_bytes()
        .doc("data-sheet rate of the slot, one direction");
    t.field("payload", &PcieSpec::payload)
        .required()
        .range(kLowestRate, kHighestRate)
        .in_bytes()
        .doc("payload rate of the slot, one direction");
    t.validate([](const PcieSpec& s, Section& at) {
      if (s.payload > s.rate) at.error("payload", "is above the rate of the slot", "give the payload share of rate");
    });
    return t;
  }();
  return table;
}

const FieldTable<AttentionEfficiency>& attention_fields() {
  static const FieldTable<AttentionEfficiency> table = [] {
    FieldTable<AttentionEfficiency> t;
    const auto generation = [&t](const char* name, std::optional<Fraction> AttentionEfficiency::*member, const char* doc) {
      t.field(name, member).range({0.01}, {1}).doc(doc);
    };
    generation("flash1", &AttentionEfficiency::flash1,
               "share of the dense 16-bit peak of FlashAttention; absent: does not run");
    generation("flash2", &AttentionEfficiency::flash2, "the same of FlashAttention-2");
    generation("flash3", &AttentionEfficiency::flash3, "the same of FlashAttention-3 and cuDNN");
    t.field("head_dim_64", &AttentionEfficiency::head_dim_64)
        .range({0.1}, {1})
        .doc("heads of 64 reach this much of what heads of 128 do; between the two in proportion");
    t.validate([](const AttentionEfficiency& a, Section& at) {
      if (!a.flash1 && !a.flash2 && !a.flash3)
        at.error("flash1", "is missing, and so are flash2 and flash3", "give one of them");
    });
    return t;
  }();
  return table;
}

const FieldTable<GemmShapeCosts>& gemm_shape_fields() {
  static const FieldTable<GemmShapeCosts> table = [] {
    FieldTable<GemmShapeCosts> t;
    t.field("ramp_k", &GemmShapeCosts::ramp_k).range(0, 4096).doc("an inner product of length K reaches K / (K + this)");
    t.field("tile_m", &GemmShapeCosts::tile_m).range(0, 1024).doc("rows of a tile of output; 0: tiles are not modelled");
    t.field("tile_n", &GemmShapeCosts::tile_n).range(0, 1024).doc("columns of a tile of output");
    t.field("waves", &GemmShapeCosts::waves)
        .range(0, 1)
        .doc("how much of a last, partly filled wave of tiles a product pays: 1 all of it, 0 nothing");
    t.field("epilogue", &GemmShapeCosts::epilogue)
        .range(0, 1)
        .doc("share of the traffic of results kept in 32 bits, read and written, that does not overlap with arithmetic");
    t.field("misaligned", &GemmShapeCosts::misaligned)
        .range({0.01}, {1})
        .doc("speed of products whose rows do not begin at multiples of 16 bytes");
    return t;
  }();
  return table;
}

const FieldTable<GpuEfficiency>& efficiency_fields() {
  static const FieldTable<GpuEfficiency> table = [] {
    FieldTable<GpuEfficiency> t;
    t.field("gemm", &GpuEfficiency::gemm)
        .required()
        .range({0.01}, {1})
        .doc("share of the dense peak that long matrix products reach");
    t.section("gemm_shape", &GpuEfficiency::gemm_shape, gemm_shape_fields()).doc("what shapes of matrix products take off it");
    t.field("fp8", &GpuEfficiency::fp8)
        .range({0.01}, {1})
        .doc("share of the FP8 peak that long 8-bit matrix products reach; absent: that of gemm");
    t.field("fp4", &GpuEfficiency::fp4)
        .range({0.01}, {1})
        .doc("share of the FP4 peak that long 4-bit matrix products reach; absent: that of gemm");
    t.field("sustained", &GpuEfficiency::sustained)
        .range({0.1}, {1})
        .doc(
            "clock that the board's power allows under load, as a share of the one its peaks are stated at; slows all matrix "
            "products");
    t.section("attention", &GpuEfficiency::attention, attention_fields())
        .required()
        .doc("fused attention by implementation, forward, per executed operation");
    t.field("attention_backward_ratio", &GpuEfficiency::attention_backward_ratio)
        .required()
        .range({0.1}, {1})
        .doc("that share in the backward pass over that in the forward pass");
    t.field("hbm", &GpuEfficiency::hbm)
        .required()
        .range({0.01}, {1})
        .doc("share of the HBM rate that memory-bound kernels reach");
    t.field("comm_slowdown", &GpuEfficiency::comm_slowdown)
        .required()
        .range({0}, {1})
        .doc("compute takes 1 + this while a collective of its rank is in flight");
    return t;
  }();
  return table;
}

}  // namespace

const FieldTable<GpuSpec>& gpu_fields() {
  static const FieldTable<GpuSpec> table = [] {
    FieldTable<GpuSpec> t("gpu");
    t.field("name", &GpuSpec::name).doc("how reports call it; the file name when absent");
    t.choice("generation", &GpuSpec::generation,
             {{"volta", GpuGeneration::kVolta, "V100"},
              {"turing", GpuGeneration::kTuring, "Titan RTX, T4"},
              {"ampere", GpuGeneration::kAmpere, "A100, A10, RTX 3090"},
              {"ada", GpuGeneration::kAda, "L40S, RTX 4090"},
              {"hopper", GpuGeneration::kHopper, "H100, H200"},
              {"blackwell", GpuGeneration::kBlackwell, "B200, GB200, RTX 5090"},
              {"cdna3", GpuGeneration::kCdna3, "MI300X"}})
        .required()
        .doc("picks the constants that hold for a generation");
    t.section("peak", &GpuSpec::peak, peak_fields()).required().doc("dense peak arithmetic by data type");
    t.field("multiprocessors", &GpuSpec::multiprocessors)
        .range(0, 1024)
        .doc("SMs or CUs; absent: unknown, and no product pays for a last, partly filled wave of tiles");
    t.field("memory", &GpuSpec::memory).required().at_least(Bytes(1 << 20)).doc("device memory");
    t.field("hbm", &GpuSpec::hbm).required().range(kLowestRate, kHighestRate).in_bytes().doc("memory bandwidth");
    t.section("nvlink", &GpuSpec::nvlink, nvlink_fields()).doc("NVLink ports; absent where there are none");
    t.section("xgmi", &GpuSpec::xgmi, nvlink_fields()).doc("ports to other GPUs of an AMD GPU");
    t.section("pcie", &GpuSpec::pcie, pcie_fields()).required().doc("the slot towards host and NICs");
    t.field("tdp_watts", &GpuSpec::tdp_watts).required().range(1, 10'000).unit("watt").doc("board power");
    t.section("efficiency", &GpuSpec::efficiency, efficiency_fields()).required().doc("shares of peak that kernels reach");
    t.validate([](const GpuSpec& g, Section& at) {
      if (g.nvlink && g.xgmi) at.error("xgmi", "does not go with nvlink", "a GPU has one of them");
    });
    return t;
  }();
  return table;
}

}  // namespace lockstep
