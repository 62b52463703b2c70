// SPDX-License-Identifier: Apache-2.0
// GPUs that compute more slowly than their data sheet: hot, power-capped or faulty. Each kernel of a slow GPU takes (1 + slowdown) times
// as long; its links are as fast as any.
//
//   stragglers: {share: 1 %, slowdown: 10 %}        each GPU with this chance, drawn by the seed
//   stragglers: {gpus: [12, 96-99], slowdown: 10 %} these
//
// A draw depends on the seed and the number of the GPU only, so a larger cluster keeps the slow GPUs of a smaller one.
// Not modelled: slow-downs that differ, come and go, or concern NICs and links.
#pragma once

#include <cstdint>
#include <vector>

#include "base/index_range.h"
#include "base/quantity.h"

namespace lockstep {

template <class T>
class FieldTable;

struct StragglerSpec {
  Fraction share;                // of all GPUs, on average
  std::vector<IndexRange> gpus;  // besides
  Fraction slowdown;             // of kernels; whole per mille
};

[[nodiscard]] const FieldTable<StragglerSpec>& straggler_fields();

// By GPU, per mille of kernel time; empty when no GPU is slow. PRE: the numbers in spec.gpus are below `gpus`.
[[nodiscard]] std::vector<std::int64_t> draw_slowdowns(const StragglerSpec& spec, std::int64_t gpus, std::uint64_t seed);

}  // namespace lockstep
