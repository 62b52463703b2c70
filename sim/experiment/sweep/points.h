// SPDX-License-Identifier: Apache-2.0
// The points of a sweep in their order: for each axis the index of a value. Points are numbered from 0 after exclusions.
//
// A draw depends on (sample_seed, path of the axis, number of the sample), so an axis more or less leaves the others as they are.
//   random           value floor(u n / 2^64) of n, u uniform
//   latin_hypercube  sample i of m takes part p(i) of m, p a random permutation: value floor((p(i) + u) n / m)
// Memory: 8 bytes a point and axis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/experiment/sweep/sweep_spec.h"

namespace lockstep {

class SweepPoints {
 public:
  static constexpr std::uint64_t kAbsent = ~std::uint64_t{0};  // of a list: the point does not say

  explicit SweepPoints(std::size_t axes) : axes_(axes) {}
  void add(std::span<const std::uint64_t> choices) { choices_.insert(choices_.end(), choices.begin(), choices.end()); }
  [[nodiscard]] std::size_t size() const { return choices_.size() / axes_; }
  // By axis.
  [[nodiscard]] std::span<const std::uint64_t> at(std::size_t point) const {
    return std::span(choices_).subspan(point * axes_, axes_);
  }

 private:
  std::size_t axes_;
  std::vector<std::uint64_t> choices_;
};

inline constexpr std::uint64_t kMostPoints = 1'000'000;

// The axes of `combine: list`: every path of the points with its values, in order of appearance.
[[nodiscard]] std::vector<Axis> list_axes(const SweepSpec& spec);
// PRE: spec passed its validation and, of a list, has its axes. Errors, such as more than kMostPoints or an exclusion that fits no axis, go to
// the context; then there are no points.
[[nodiscard]] SweepPoints enumerate_points(const SweepSpec& spec, ReadContext& context);

}  // namespace lockstep
