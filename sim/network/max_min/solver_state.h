// SPDX-License-Identifier: Apache-2.0
// What the ways to solve share: the table of shares, the links with their levels and loads, and the batch being solved.
// An entity has no level of its own: it has that of its group, stored once at the bottleneck link.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/network/max_min/share_table.h"

namespace lockstep::max_min {

struct SolverState {
  explicit SolverState(std::size_t link_count) : table(link_count) {}

  [[nodiscard]] LinkState& link(LinkId l) { return table.link(l); }
  [[nodiscard]] const LinkState& link(LinkId l) const { return table.link(l); }
  [[nodiscard]] bool is_in_set(const Entity& e) const { return e.stamp == stamp; }

  void touch(LinkId l) {
    LinkState& s = link(l);
    if (s.touched) return;
    s.touched = true;
    touched.push_back(l);
  }

  void begin_attempt() {
    ++stamp;
    used.clear();
    set.clear();
  }

  LinkState& use(LinkId l) {
    LinkState& s = link(l);
    if (s.stamp != stamp) {
      s.stamp = stamp;
      s.residual = s.capacity - s.load;
      s.open = s.set_load = s.set_coefficients = 0;
      s.frozen_at = kNoLevel;
      s.set_first = IncidenceId::none();
      s.group_open = false;
      used.push_back(l);
    }
    return s;
  }

  // floor(residual / open), or none: what progressive filling orders links by.
  [[nodiscard]] std::int64_t fill_level(LinkId l) const {
    const LinkState& s = link(l);
    return s.open == 0 ? kNoLevel : s.residual / s.open;
  }

  void set_level(LinkId l, std::int64_t level) {
    link(l).level = level;
    relevelled.push_back(l);
  }

  void set_load(LinkId l, std::int64_t load) {
    LinkState& s = link(l);
    if (s.load == load) return;
    s.load = load;
    reloaded.push_back(l);
  }

  ShareTable table;
  std::vector<LinkId> touched;
  std::vector<EntityId> fresh;  // added since the last solve: unattached

  std::uint64_t stamp = 0;
  std::vector<LinkId> used;   // links looked at by the current attempt
  std::vector<EntityId> set;  // single entities being re-solved

  // What the last solve changed. May name a link or entity twice.
  std::vector<EntityId> moved;     // in another group than before, or new
  std::vector<LinkId> relevelled;  // groups with a new level
  std::vector<LinkId> reloaded;    // links with a new load
};

}  // namespace lockstep::max_min
