// SPDX-License-Identifier: Apache-2.0
#include "sim/network/max_min/group_filling.h"

namespace lockstep::max_min {

void GroupFilling::run(SolverState& s) {
  s.begin_attempt();
  open_fresh(s);
  open_groups(s, lowest_changed_level(s));
  heap_.clear();
  open_total_ = 0;
  for (const LinkId l : s.used) {
    if (s.link(l).open == 0) continue;
    heap_.add(l, s.fill_level(l));
    open_total_ += static_cast<UInt128>(s.link(l).open);
  }
  heap_.build();
  const auto level_of = [&s](LinkId l) { return s.fill_level(l); };
  while (open_total_ != 0) {
    const std::int64_t level = heap_.pop_round(level_of, round_);
    for (const LinkId b : round_) s.link(b).frozen_at = level;
    for (const LinkId b : round_) claim_members(s, b);
    for (const LinkId b : round_) freeze_column(s, b, level);
  }
  for (const LinkId l : s.used) s.set_load(l, s.link(l).capacity - s.link(l).residual);
}

// Below the returned level the new filling repeats the old one: it is the lowest level at which a touched link did or will hold
// somebody back whom the batch concerns.
std::int64_t GroupFilling::lowest_changed_level(SolverState& s) {
  std::int64_t lowest = kNoLevel;
  for (const LinkId l : s.touched) {
    const LinkState& link = s.use(l);
    shares_.clear();
    for (CellId c = s.link(l).row; !c.is_none(); c = s.table.cell(c).row_next) {
      const Cell& cell = s.table.cell(c);
      shares_.push_back({s.link(cell.group).level, cell.coefficient});
    }
    if (link.open > 0) shares_.push_back({kNoLevel, link.open});
    const std::int64_t level = link_level(link.capacity, shares_);
    for (const LevelShare& x : shares_) {
      if (x.level > level) lowest = std::min(lowest, level);
    }
    if (!link.column.empty() && link.level != level) lowest = std::min({lowest, level, link.level});
  }
  return lowest;
}

void GroupFilling::open_groups(SolverState& s, std::int64_t from) {
  for (const LinkId g : s.table.groups()) {
    const std::int64_t level = s.link(g).level;
    if (level < from) continue;
    s.use(g).group_open = true;
    for (const ColumnEntry& cell : s.link(g).column) {
      LinkState& link = s.use(cell.link);
      link.open += cell.coefficient;
      link.residual += cell.coefficient * level;
    }
  }
}

void GroupFilling::open_fresh(SolverState& s) {
  for (const EntityId id : s.fresh) {
    s.table.entity(id).new_level = kNoLevel;
    for (Incidence& i : s.table.incidences(id)) {
      LinkState& link = s.use(i.link);
      i.next_in_set = link.set_first;
      link.set_first = s.table.id_of(i);
      link.open += i.coefficient;
    }
  }
}

// Everything open on link b joins its group, except members of groups frozen in this very round, which are equals.
void GroupFilling::claim_members(SolverState& s, LinkId b) {
  // Usually nobody but its own members is open on the link.
  const bool own_open = s.link(b).group_open;
  if (own_open && s.link(b).open == s.table.own_coefficient(b)) return;
  claimed_.clear();
  for (CellId c = s.link(b).row; !c.is_none(); c = s.table.cell(c).row_next) {
    const LinkState& group = s.link(s.table.cell(c).group);
    if (group.stamp == s.stamp && group.group_open && group.frozen_at == kNoLevel) claimed_.push_back(c);
  }
  for (const CellId c : claimed_) {
    // WHY the peek at next: the last member to leave takes the cell with it.
    for (IncidenceId i = s.table.cell(c).first; !i.is_none();) {
      const Incidence& x = s.table.incidence(i);
      i = x.next;
      s.moved.push_back(x.entity);
      s.table.move(x.entity, b);
    }
  }
  for (IncidenceId i = s.link(b).set_first; !i.is_none(); i = s.table.incidence(i).next_in_set) {
    const EntityId id = s.table.incidence(i).entity;
    if (!s.table.entity(id).group.is_none()) continue;
    s.moved.push_back(id);
    s.table.attach(id, b);
  }
}

void GroupFilling::freeze_column(SolverState& s, LinkId b, std::int64_t level) {
  if (s.link(b).level != level) s.set_level(b, level);
  for (const ColumnEntry& cell : s.link(b).column) {
    LinkState& link = s.link(cell.link);
    link.residual -= cell.coefficient * level;
    link.open -= cell.coefficient;
    open_total_ -= static_cast<UInt128>(cell.coefficient);
  }
}

}  // namespace lockstep::max_min
