// SPDX-License-Identifier: Apache-2.0
#include "sim/network/max_min/local_solve.h"

namespace lockstep::max_min {

bool LocalSolve::run(SolverState& s, std::int64_t budget) {
  work_ = 0;
  s.begin_attempt();
  for (const LinkId l : s.touched) s.use(l);
  for (const EntityId e : s.fresh) include(s, e);
  for (bool filled = false;; filled = true) {
    if (work_ <= budget) collect_unsettled(s, filled);
    if (work_ > budget) {
      forget(s);
      return false;
    }
    if (additions_.empty() && (filled || s.set.empty())) break;
    for (const EntityId e : additions_) include(s, e);
    fill(s);
  }
  entities_solved_ = s.set.size();
  commit(s);
  return true;
}

void LocalSolve::include(SolverState& s, EntityId id) {
  Entity& e = s.table.entity(id);
  e.stamp = s.stamp;
  e.new_level = kNoLevel;
  s.set.push_back(id);
  const std::int64_t old_level = e.group.is_none() ? 0 : s.link(e.group).level;
  for (Incidence& i : s.table.incidences(id)) {
    LinkState& link = s.use(i.link);
    i.next_in_set = link.set_first;
    link.set_first = s.table.id_of(i);
    link.set_coefficients += i.coefficient;
    link.set_load += i.coefficient * old_level;
    if (!i.cell.is_none()) s.table.cell(i.cell).in_set += i.coefficient;
  }
  work_ += e.count;
}

void LocalSolve::collect_unsettled(SolverState& s, bool filled) {
  additions_.clear();
  for (const LinkId l : s.used) inspect(s, l, filled);
}

void LocalSolve::inspect(SolverState& s, LinkId l, bool filled) {
  const LinkState& link = s.link(l);
  if (link.coefficients == link.set_coefficients) return;  // nobody outside F

  const bool levels_known = filled || link.set_coefficients == 0;
  const std::int64_t left = filled ? link.residual : link.capacity - link.load;
  std::int64_t level = kNoLevel;
  bool any_above = false;
  if (!levels_known || left < link.coefficients) {
    shares_.clear();
    for (CellId c = s.link(l).row; !c.is_none(); c = s.table.cell(c).row_next) {
      const Cell& cell = s.table.cell(c);
      if (cell.coefficient > cell.in_set) {
        shares_.push_back({s.link(cell.group).level, cell.coefficient - cell.in_set});
      }
    }
    for (IncidenceId i = link.set_first; !i.is_none(); i = s.table.incidence(i).next_in_set) {
      const Incidence& x = s.table.incidence(i);
      shares_.push_back({s.table.entity(x.entity).new_level, x.coefficient});
    }
    level = link_level(link.capacity, shares_);
    for (const LevelShare& x : shares_) any_above |= x.level > level;
    work_ += static_cast<std::int64_t>(shares_.size());
  }

  for (CellId c = s.link(l).row; !c.is_none(); c = s.table.cell(c).row_next) {
    const Cell& cell = s.table.cell(c);
    if (cell.coefficient == cell.in_set) continue;
    const std::int64_t own = s.link(cell.group).level;
    const bool unsettled = (cell.group == l && own != level) || own > link.frozen_at || (any_above && own >= level);
    if (!unsettled) continue;
    for (IncidenceId i = cell.first; !i.is_none(); i = s.table.incidence(i).next) {
      Entity& e = s.table.entity(s.table.incidence(i).entity);
      ++work_;
      if (s.is_in_set(e)) continue;
      e.stamp = s.stamp;  // collected once, though several links may ask for it
      additions_.push_back(s.table.incidence(i).entity);
    }
  }
}

void LocalSolve::fill(SolverState& s) {
  heap_.clear();
  for (const LinkId l : s.used) {
    LinkState& link = s.link(l);
    link.residual = link.capacity - (link.load - link.set_load);
    link.open = link.set_coefficients;
    link.frozen_at = kNoLevel;
    if (link.open > 0) heap_.add(l, s.fill_level(l));
  }
  for (const EntityId e : s.set) {
    s.table.entity(e).new_level = kNoLevel;
    work_ += s.table.entity(e).count;
  }
  heap_.build();
  const auto level_of = [&s](LinkId l) { return s.fill_level(l); };
  open_entities_ = s.set.size();
  while (open_entities_ > 0) {
    const std::int64_t level = heap_.pop_round(level_of, round_);
    for (const LinkId l : round_) s.link(l).frozen_at = level;
    for (const LinkId l : round_) freeze(s, l, level);
  }
}

void LocalSolve::freeze(SolverState& s, LinkId l, std::int64_t level) {
  for (IncidenceId i = s.link(l).set_first; !i.is_none(); i = s.table.incidence(i).next_in_set) {
    const EntityId id = s.table.incidence(i).entity;
    Entity& e = s.table.entity(id);
    if (e.new_level != kNoLevel) continue;
    e.new_level = level;
    --open_entities_;
    // Links of one round are equals: stay in the old group where it is one of them.
    const bool stays = !e.group.is_none() && s.link(e.group).stamp == s.stamp && s.link(e.group).frozen_at == level;
    e.frozen_by = stays ? e.group : l;
    for (const Incidence& x : s.table.incidences(id)) {
      LinkState& link = s.link(x.link);
      link.residual -= x.coefficient * level;
      link.open -= x.coefficient;
    }
  }
}

void LocalSolve::forget(SolverState& s) {
  for (const EntityId e : s.set) {
    for (const Incidence& i : s.table.incidences(e)) {
      if (!i.cell.is_none()) s.table.cell(i.cell).in_set = 0;
    }
  }
}

void LocalSolve::commit(SolverState& s) {
  forget(s);
  if (s.set.empty()) return;
  for (const LinkId l : s.used) {
    LinkState& link = s.link(l);
    s.set_load(l, link.capacity - link.residual);
    if (link.frozen_at != kNoLevel && link.frozen_at != link.level) s.set_level(l, link.frozen_at);
  }
  for (const EntityId id : s.set) {
    const Entity& e = s.table.entity(id);
    if (e.group == e.frozen_by) continue;
    s.moved.push_back(id);
    if (e.group.is_none()) {
      s.table.attach(id, e.frozen_by);
    } else {
      s.table.move(id, e.frozen_by);
    }
  }
}

}  // namespace lockstep::max_min
