// SPDX-License-Identifier: Apache-2.0
// GPUs of one kind differ: silicon, cooling and power limits spread their speed by a per cent or so . Jobs run at the pace of the slowest, so the cost grows with how many wait for each other.
//
//   gpu_variation: 1 %                             relative standard deviation of kernel time, normally distributed
//   gpu_variation: {spread: 1 %, mode: sampled}
//
// expected: every GPU takes the expected time of the slowest of all N, spread x E[max of N normal draws]; the run stays symmetric.
// sampled: every GPU has a draw of its own by the seed and its number, so that a larger cluster keeps those of a smaller one.
// E[max] is Blom's approximation, the normal quantile of (N - 0.375) / (N + 0.25) (Blom 1958); within 2 % from N = 2 on.
// Not modelled: speeds that change during a run; draws are cut at 4 standard deviations.
#pragma once

#include <cstdint>
#include <vector>

#include "base/quantity.h"

namespace lockstep {

template <class T>
class FieldTable;

enum class VariationMode : std::uint8_t { kExpected, kSampled };

struct VariationSpec {
  Fraction spread;
  VariationMode mode = VariationMode::kExpected;
  bool operator==(const VariationSpec&) const = default;
};

[[nodiscard]] const FieldTable<VariationSpec>& variation_fields();

// Standard normal quantile, 0 < p < 1: Acklam's rational approximation (relative error below 1.2e-9), its logarithm a series, so that
// it is the same bits everywhere.
[[nodiscard]] double normal_quantile(double p);
// Expected largest of n standard normal draws. n >= 1.
[[nodiscard]] double expected_maximum(std::int64_t n);

// Adds the variation to what slows GPUs otherwise: per mille of kernel time, by GPU.
[[nodiscard]] std::vector<std::int64_t> with_variation(const VariationSpec& spec, std::vector<std::int64_t> slowdowns,
                                                       std::int64_t gpus, std::uint64_t seed);

}  // namespace lockstep
