// SPDX-License-Identifier: Apache-2.0
// A model known by measurement and not by its geometry: how many bytes of gradients a step exchanges and how long one GPU computes on a
// sample. Enough for data parallelism, and all that benchmarks of image models publish.
//
// Gradients become ready part by part, the last part of the model first, and every part takes an equal share of the time of a pass. Parts
// are equal, or listed in forward order (the last layers of a VGG hold most bytes). Time grows with the samples of a micro-batch in
// proportion: time_per_sample is that at the micro-batch in use. Not modelled: how it depends on the micro-batch, FLOPs, memory, tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/quantity.h"
#include "base/time.h"
#include "base/units.h"

namespace lockstep {

template <class T>
class FieldTable;

// Of forward and backward together. Backward runs two matrix products for each one of forward (gradients of inputs and of weights).
inline constexpr double kForwardShare = 1.0 / 3;
// Fine enough that no part is more than a fiftieth of a pass.
inline constexpr std::int64_t kEqualParts = 50;

struct ProfileSpec {
  std::optional<Bytes> gradient_bytes;  // as exchanged; absent: the sum of layer_bytes
  Duration time_per_sample;             // forward and backward on one GPU, nothing exchanged
  std::optional<Fraction> forward_share;
  std::optional<std::int64_t> layers;  // equal parts; or
  std::vector<Bytes> layer_bytes;      // gradients of each part, in forward order
  Duration fixed_time;                 // per step, whatever the batch: optimizer, input

  [[nodiscard]] std::int64_t parts() const;
  // Gradients of part 0, 1, ... in forward order; they sum to gradient_bytes.
  [[nodiscard]] std::vector<std::int64_t> part_bytes() const;
  // One pass of one sample through one part.
  [[nodiscard]] double forward_seconds() const;
  [[nodiscard]] double backward_seconds() const;
};

[[nodiscard]] const FieldTable<ProfileSpec>& profile_fields();

}  // namespace lockstep
