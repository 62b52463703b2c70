// SPDX-License-Identifier: Apache-2.0
// Switches and cables as somebody lists them. Equal-cost paths are the shortest ones, counted in cables whatever their speed;
// parallel cables are different paths. Of more than 16 between two switches 16 are used, those at even distances in the order
// of the list of cables, so that they spread over the first hops: a bound of this model, which keeps the common multiple of all
// path counts, the scale of sprayed shares, below a million.
//
// Memory and time to build: for every switch with nodes six bytes per switch and a breadth-first search, which is why there are
// at most kMostCustomSwitches (25 MB). Nothing is written after that: threads may share one.
//
// NOT modelled: routing by speed or by weights, up-down or other deadlock-free routing, paths that are not shortest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/rows.h"
#include "topology/fabric/switch_cable.h"

namespace lockstep {

inline constexpr int kMostCustomSwitches = 2'048;
inline constexpr std::int64_t kMostCustomPaths = 16;

struct CustomSwitch {
  std::string name;
  int tier = 0;  // for drawings
  // Nodes of switches with the same number share a rack, or a pod.
  std::uint32_t rack = 0;
  std::uint32_t pod = 0;
};

class CustomGraph {
 public:
  // `roots`: the switches that nodes are attached to.
  CustomGraph(std::vector<CustomSwitch> switches, std::vector<SwitchCable> cables, std::vector<CableSort> sorts,
              const std::vector<std::uint32_t>& roots);

  // What every layout of switches answers (switch_layout.h).
  [[nodiscard]] std::uint32_t switches() const { return static_cast<std::uint32_t>(switches_.size()); }
  [[nodiscard]] std::string name(std::uint32_t s) const { return switches_[s].name; }
  [[nodiscard]] std::uint32_t rack_of(std::uint32_t s) const { return switches_[s].rack; }
  [[nodiscard]] std::uint32_t pod_of(std::uint32_t s) const { return switches_[s].pod; }
  [[nodiscard]] int tier_of(std::uint32_t s) const { return switches_[s].tier; }
  [[nodiscard]] std::vector<SwitchCable> cables() const { return cables_; }
  [[nodiscard]] std::vector<CableSort> sorts() const { return sorts_; }
  [[nodiscard]] std::int64_t path_count(std::uint32_t a, std::uint32_t b) const;  // 0: not connected. PRE: both are roots.
  [[nodiscard]] std::int64_t max_path_count() const { return max_path_count_; }
  [[nodiscard]] std::int64_t spray_weight() const { return spray_weight_; }
  void append_path(std::uint32_t a, std::uint32_t b, std::int64_t index, std::vector<std::uint32_t>& out) const;

 private:
  struct Arc {
    std::uint32_t to = 0;
    std::uint32_t link = 0;
  };
  // What leads from a switch to one root.
  struct Way {
    std::vector<std::uint16_t> distance;  // by switch
    std::vector<std::uint32_t> paths;     // shortest ones, at most kManyPaths
  };
  static constexpr std::uint32_t kManyPaths = 1u << 30;
  static constexpr std::uint16_t kFar = 0xffff;
  static constexpr std::uint32_t kNoRoot = 0xffff'ffffu;

  [[nodiscard]] Way ways_to(std::uint32_t root) const;
  [[nodiscard]] const Way& way_to(std::uint32_t root) const;
  void count_paths();

  std::vector<CustomSwitch> switches_;
  std::vector<SwitchCable> cables_;
  std::vector<CableSort> sorts_;
  Rows<Arc> arcs_;  // by switch, in the order of cables
  std::vector<std::uint32_t> root_number_;
  std::vector<Way> ways_;  // by root
  std::int64_t max_path_count_ = 1;
  std::int64_t spray_weight_ = 1;
};

}  // namespace lockstep
