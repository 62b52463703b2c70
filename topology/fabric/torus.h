// SPDX-License-Identifier: Apache-2.0
// A torus (k-ary n-cube; Dally and Towles, Principles and Practices of Interconnection Networks, chapter 5): switches on a grid
// of any number of dimensions, each cabled to its two neighbours in every dimension, round the edges as well. In a dimension of
// two there is one cable between the two, in a dimension of one none. Switch (x, y, z) of (a, b, c) is number (x b + y) c + z.
//
// Dimension-order routing: the first dimension first, in each the shorter way round. Just half way round both ways are equally
// short and make two paths; ties in t dimensions make 2^t.
//
// NOT modelled: parallel cables between neighbours, adaptive and non-minimal routing, cables that a reconfigurable torus
// switches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/fabric/switch_cable.h"

namespace lockstep {

class Torus {
 public:
  Torus(const std::vector<int>& dimensions, const Wire& wire);

  [[nodiscard]] const std::vector<std::uint32_t>& dimensions() const { return sizes_; }

  // What every layout of switches answers (switch_layout.h).
  [[nodiscard]] std::uint32_t switches() const { return switches_; }
  [[nodiscard]] std::string name(std::uint32_t s) const;  // "switch(1,2,0)"
  [[nodiscard]] std::uint32_t rack_of(std::uint32_t s) const { return s; }
  [[nodiscard]] std::uint32_t pod_of(std::uint32_t) const { return 0; }
  [[nodiscard]] int tier_of(std::uint32_t) const { return 0; }
  [[nodiscard]] std::vector<SwitchCable> cables() const;
  [[nodiscard]] std::vector<CableSort> sorts() const { return {{wire_, LinkTier::kSwitch}}; }
  [[nodiscard]] std::int64_t path_count(std::uint32_t a, std::uint32_t b) const;
  [[nodiscard]] std::int64_t max_path_count() const;
  [[nodiscard]] std::int64_t spray_weight() const { return max_path_count(); }
  void append_path(std::uint32_t a, std::uint32_t b, std::int64_t index, std::vector<std::uint32_t>& out) const;

 private:
  [[nodiscard]] std::uint32_t coordinate(std::uint32_t s, std::size_t d) const { return s / strides_[d] % sizes_[d]; }
  // The next switch in the direction of growing coordinates.
  [[nodiscard]] std::uint32_t next(std::uint32_t s, std::size_t d) const;
  [[nodiscard]] std::uint32_t previous(std::uint32_t s, std::size_t d) const;
  // The cable from s to next(s).
  [[nodiscard]] std::uint32_t cable(std::uint32_t s, std::size_t d) const;
  [[nodiscard]] bool is_tie(std::uint32_t a, std::uint32_t b, std::size_t d) const;

  std::vector<std::uint32_t> sizes_;
  std::vector<std::uint32_t> strides_;
  std::vector<std::uint32_t> first_cable_;  // by dimension
  std::uint32_t switches_ = 1;
  Wire wire_;
};

}  // namespace lockstep
