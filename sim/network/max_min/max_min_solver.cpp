// SPDX-License-Identifier: Apache-2.0
#include "sim/network/max_min/max_min_solver.h"

#include <algorithm>

namespace lockstep::max_min {
namespace {

// A local attempt may cost this much even when next to nothing is active.
constexpr std::int64_t kFreeWork = 256;
// A global fill visits each open cell a few times; an attempt that has visited a quarter of the cells has lost.
constexpr std::int64_t kCellsPerWork = 4;
// New entities cost about this much a share either way.
constexpr std::int64_t kWorkPerFreshShare = 4;
// In dense traffic local attempts are tried again after at most this many global fills.
constexpr std::int64_t kLongestPause = 64;

// The largest int64 means "no level", so no level may reach it.
std::int64_t checked_capacity(std::int64_t units) {
  LOCKSTEP_CHECK(units >= 0 && units < kNoLevel, "no link can have a capacity of {} units", units);
  return units;
}

}  // namespace

MaxMinSolver::MaxMinSolver(std::span<const Rate> capacities, Strategy strategy, AuditScope audit)
    : state_(capacities.size()), strategy_(strategy), audit_(audit) {
  for (std::size_t l = 0; l < capacities.size(); ++l) {
    state_.link(LinkId::from_index(l)).capacity = checked_capacity(capacities[l].units());
  }
}

LinkId MaxMinSolver::add_private_link(std::int64_t capacity) {
  if (free_private_links_.empty()) {
    free_private_links_.push_back(state_.table.add_link());
  }
  const LinkId link = free_private_links_.back();
  free_private_links_.pop_back();
  state_.link(link).capacity = checked_capacity(capacity);
  return link;
}

void MaxMinSolver::release_private_link(LinkId link) {
  LOCKSTEP_CHECK(state_.link(link).coefficients == 0, "private link {} is in use", link.value());
  free_private_links_.push_back(link);
}

EntityId MaxMinSolver::add(std::span<const LinkShare> shares, LinkShare extra) {
  const EntityId e = state_.table.add(shares, extra);
  LOCKSTEP_CHECK(state_.table.entity(e).count > 0, "an entity without links has no level");
  for (const Incidence& i : state_.table.incidences(e)) state_.touch(i.link);
  state_.fresh.push_back(e);
  fresh_shares_ += state_.table.entity(e).count;
  return e;
}

void MaxMinSolver::remove(EntityId e) {
  const LinkId group = bottleneck(e);
  LOCKSTEP_CHECK(!group.is_none(), "entity {} ends before its first solve", e.value());
  const std::int64_t own = state_.link(group).level;
  for (const Incidence& i : state_.table.incidences(e)) {
    state_.touch(i.link);
    state_.set_load(i.link, state_.link(i.link).load - i.coefficient * own);
  }
  state_.table.erase(e);
}

void MaxMinSolver::set_capacity(LinkId link, std::int64_t capacity) {
  state_.link(link).capacity = checked_capacity(capacity);
  state_.touch(link);
  state_.reloaded.push_back(link);
}

void MaxMinSolver::solve() {
  ++counts_.solves;
  if (!solve_locally()) {
    ++counts_.global_fills;
    global_.run(state_);
  }
  state_.fresh.clear();
  fresh_shares_ = 0;
  switch (audit_) {
    case AuditScope::kEverything:
      audit_everything();
      break;
    case AuditScope::kVisited:
      for (const LinkId l : state_.used) audit_link(state_, l);
      break;
    case AuditScope::kTouched:
      for (const LinkId l : state_.touched) audit_link(state_, l);
      break;
  }
  for (const LinkId l : state_.touched) state_.link(l).touched = false;
  state_.touched.clear();
}

bool MaxMinSolver::solve_locally() {
  std::int64_t budget = std::numeric_limits<std::int64_t>::max();
  if (strategy_ == Strategy::kGlobal) return false;
  if (strategy_ == Strategy::kAuto) {
    budget =
        kFreeWork + static_cast<std::int64_t>(state_.table.cell_count()) / kCellsPerWork + kWorkPerFreshShare * fresh_shares_;
    if (pause_ > 0) {
      --pause_;
      return false;
    }
  }
  if (local_.run(state_, budget)) {
    counts_.entities_solved += static_cast<std::int64_t>(local_.entities_solved());
    next_pause_ = 1;
    return true;
  }
  pause_ = next_pause_;
  next_pause_ = std::min(2 * next_pause_, kLongestPause);
  return false;
}

void MaxMinSolver::clear_changes() {
  state_.moved.clear();
  state_.relevelled.clear();
  state_.reloaded.clear();
}

void MaxMinSolver::audit_everything() const {
  for (std::size_t l = 0; l < state_.table.link_count(); ++l) audit_link(state_, LinkId::from_index(l));
}

void MaxMinSolver::inject_excess(LinkId link) {
  state_.link(link).level += 1;
  for (const ColumnEntry& cell : state_.link(link).column) state_.link(cell.link).load += cell.coefficient;
  audit_link(state_, link);
}

}  // namespace lockstep::max_min
