// SPDX-License-Identifier: Apache-2.0
// What releases of training software bring (kind: software): which attention kernels, which pointwise kernels are fused, and what the
// host pays to start the kernels of a layer. A job names framework and release (job.software), and the newest entry that is not after it
// holds; entries are named by year and month. One meaning for everybody: no constant depends on a model, a site or a measurement. How
// host times and those on the GPU make up an operation's: workloads/kernels/roofline.h.
//
//   megatron:
//     2021-03: {launch: 45 us, attention: unfused, fused_softmax_limit: 2048}
//     2022-12: {launch: 45 us, attention: flash1, fused_softmax_limit: 4096}
#pragma once

#include <map>
#include <string>

#include "base/quantity.h"

namespace lockstep {

template <class T>
class FieldTable;

// kUnfused writes scores to memory; the others are generations of fused kernels: FlashAttention, FlashAttention-2, and the ones that
// use the asynchronous units of Hopper and later (FlashAttention-3, cuDNN).
enum class AttentionGeneration : std::uint8_t { kUnfused, kFlash1, kFlash2, kFlash3 };

struct SoftwareRelease {
  Duration launch;             // host time of one operation, from Python to the start of its kernel
  Duration expert_part;        // host time an expert layer takes besides, forward: counts of tokens come to the host and back
  Duration expert_launch;      // ... and for each expert that a rank holds: kernels that convert and multiply are its own
  Duration step;               // host time of an optimizer step besides its operations
  Fraction compiled{0.5};      // of host time that is left where graphs are compiled
  Fraction cuda_graphs{0.02};  // ... and where recorded graphs are replayed
  bool synchronous = false;    // every launch waits for the GPU: host time comes on top
  AttentionGeneration attention = AttentionGeneration::kFlash3;  // newest it has
  bool fuses_pointwise = true;     // activation with its bias, rotation, dropout with the residual, RMSNorm: one kernel each
  bool fuses_accumulation = true;  // a product that makes the gradient of weights adds it to what other micro-batches left
  double loss_bytes = 24;  // memory traffic of the loss per logit: all passes over 16- and 32-bit values, forward and backward
  int fused_softmax_limit =
      16384;  // tokens of a sequence up to which unfused attention scales, masks and normalises in one kernel; 0: never
};

struct SoftwareHistory {
  std::string name;
  std::map<std::string, SoftwareRelease> megatron;  // by "2021-03"
  std::map<std::string, SoftwareRelease> pytorch;
  std::map<std::string, SoftwareRelease> deepspeed;
};

[[nodiscard]] const FieldTable<SoftwareHistory>& software_fields();

}  // namespace lockstep
