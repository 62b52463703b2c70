// SPDX-License-Identifier: Apache-2.0
// A dragonfly (Kim, Dally, Scott, Abts, ISCA 2008): groups of routers, every router of a group cabled to every other one of it
// (local cables), and `global_cables` between each pair of groups.
//
// Router r of group i is switch i x routers + r. The global cables of a group are numbered by how far round the other group is,
// which treats all groups alike (the "relative" arrangement of Hastings et al., Comparing global link arrangements for
// dragonfly networks, CLUSTER 2015), and dealt to its routers in turns:
//     cable c from group i to group j leaves router (((j - i) mod groups - 1) x global_cables + c) mod routers of group i
//
// Minimal routing: inside a group over the one cable that joins the two routers. Between groups one path per global cable: to
// the router that holds it, across, and on to the destination, two local hops at most. Paths of one pair may differ in length.
//
// NOT modelled: non-minimal (Valiant) and adaptive choice between the two, parallel local cables, nodes on several routers (a
// custom graph can have them).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/fabric/switch_cable.h"

namespace lockstep {

class Dragonfly {
 public:
  struct Size {
    int groups = 1;
    int routers_per_group = 1;
    int global_cables = 1;  // between each pair of groups
  };
  Dragonfly(const Size& size, const Wire& local, const Wire& global);

  [[nodiscard]] std::uint32_t groups() const { return groups_; }
  [[nodiscard]] std::uint32_t routers_per_group() const { return routers_; }
  [[nodiscard]] std::uint32_t global_cables() const { return global_cables_; }

  // What every layout of switches answers (switch_layout.h).
  [[nodiscard]] std::uint32_t switches() const { return groups_ * routers_; }
  [[nodiscard]] std::string name(std::uint32_t s) const;  // "group3.router1"
  [[nodiscard]] std::uint32_t rack_of(std::uint32_t s) const { return s; }
  [[nodiscard]] std::uint32_t pod_of(std::uint32_t s) const { return s / routers_; }
  [[nodiscard]] int tier_of(std::uint32_t) const { return 0; }
  [[nodiscard]] std::vector<SwitchCable> cables() const;
  [[nodiscard]] std::vector<CableSort> sorts() const;
  [[nodiscard]] std::int64_t path_count(std::uint32_t a, std::uint32_t b) const;
  [[nodiscard]] std::int64_t max_path_count() const { return groups_ > 1 ? global_cables_ : 1; }
  [[nodiscard]] std::int64_t spray_weight() const { return max_path_count(); }
  void append_path(std::uint32_t a, std::uint32_t b, std::int64_t index, std::vector<std::uint32_t>& out) const;

 private:
  // The router of `group` that holds cable `c` to group `peer`.
  [[nodiscard]] std::uint32_t gateway(std::uint32_t group, std::uint32_t peer, std::uint32_t c) const;
  // Directed links.
  [[nodiscard]] std::uint32_t local_link(std::uint32_t group, std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] std::uint32_t global_link(std::uint32_t from, std::uint32_t to, std::uint32_t c) const;
  [[nodiscard]] std::uint32_t local_cables() const { return groups_ * (routers_ * (routers_ - 1) / 2); }

  std::uint32_t groups_;
  std::uint32_t routers_;
  std::uint32_t global_cables_;
  Wire local_;
  Wire global_;
};

}  // namespace lockstep
