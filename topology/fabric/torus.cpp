// SPDX-License-Identifier: Apache-2.0
#include "topology/fabric/torus.h"

#include <algorithm>

#include "base/check.h"

namespace lockstep {

Torus::Torus(const std::vector<int>& dimensions, const Wire& wire) : strides_(dimensions.size(), 1), wire_(wire) {
  LOCKSTEP_CHECK(!dimensions.empty(), "a torus without dimensions");
  for (const int d : dimensions) {
    LOCKSTEP_CHECK(d > 0, "a torus {} switches wide", d);
    sizes_.push_back(static_cast<std::uint32_t>(d));
    switches_ *= sizes_.back();
  }
  for (std::size_t d = sizes_.size(); d-- > 1;) strides_[d - 1] = strides_[d] * sizes_[d];
  std::uint32_t cables = 0;
  for (const std::uint32_t size : sizes_) {
    first_cable_.push_back(cables);
    cables += size > 2 ? switches_ : size == 2 ? switches_ / 2 : 0;
  }
}

std::string Torus::name(std::uint32_t s) const {
  std::string text = "switch(";
  for (std::size_t d = 0; d < sizes_.size(); ++d) text += (d > 0 ? "," : "") + std::to_string(coordinate(s, d));
  return text + ")";
}

std::uint32_t Torus::next(std::uint32_t s, std::size_t d) const {
  return coordinate(s, d) + 1 < sizes_[d] ? s + strides_[d] : s - (sizes_[d] - 1) * strides_[d];
}

std::uint32_t Torus::previous(std::uint32_t s, std::size_t d) const {
  return coordinate(s, d) > 0 ? s - strides_[d] : s + (sizes_[d] - 1) * strides_[d];
}

std::uint32_t Torus::cable(std::uint32_t s, std::size_t d) const {
  // In a dimension of two only the lower half has one.
  const std::uint32_t number = sizes_[d] > 2 ? s : s / (2 * strides_[d]) * strides_[d] + s % strides_[d];
  return first_cable_[d] + number;
}

std::vector<SwitchCable> Torus::cables() const {
  std::vector<SwitchCable> out;
  for (std::size_t d = 0; d < sizes_.size(); ++d) {
    if (sizes_[d] == 1) continue;
    for (std::uint32_t s = 0; s < switches_; ++s) {
      if (sizes_[d] > 2 || coordinate(s, d) == 0) out.push_back({s, next(s, d), 0});
    }
  }
  return out;
}

bool Torus::is_tie(std::uint32_t a, std::uint32_t b, std::size_t d) const {
  const std::uint32_t ahead = (coordinate(b, d) + sizes_[d] - coordinate(a, d)) % sizes_[d];
  return sizes_[d] > 2 && 2 * ahead == sizes_[d];
}

std::int64_t Torus::path_count(std::uint32_t a, std::uint32_t b) const {
  std::int64_t paths = 1;
  for (std::size_t d = 0; d < sizes_.size(); ++d) paths *= is_tie(a, b, d) ? 2 : 1;
  return paths;
}

std::int64_t Torus::max_path_count() const {
  const auto even = std::count_if(sizes_.begin(), sizes_.end(), [](std::uint32_t n) { return n > 2 && n % 2 == 0; });
  return std::int64_t{1} << even;
}

void Torus::append_path(std::uint32_t a, std::uint32_t b, std::int64_t index, std::vector<std::uint32_t>& out) const {
  for (std::size_t d = 0; d < sizes_.size(); ++d) {
    const std::uint32_t ahead = (coordinate(b, d) + sizes_[d] - coordinate(a, d)) % sizes_[d];
    bool is_forward = 2 * ahead <= sizes_[d];
    if (is_tie(a, b, d)) {
      is_forward = index % 2 == 0;
      index /= 2;
    }
    for (std::uint32_t steps = is_forward ? ahead : sizes_[d] - ahead; steps > 0; --steps) {
      const std::uint32_t after = is_forward ? next(a, d) : previous(a, d);
      // WHY the coordinate: in a dimension of two the upper one has no cable of its own.
      const bool is_own = sizes_[d] > 2 ? is_forward : coordinate(a, d) == 0;
      out.push_back(2 * cable(is_own ? a : after, d) + (is_own ? 0 : 1));
      a = after;
    }
  }
}

}  // namespace lockstep
