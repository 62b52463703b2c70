// SPDX-License-Identifier: Apache-2.0
// Weighted max-min fair sharing, in integers, re-solved after every batch of changes.
//
// Model. Entity e has a level x(e) and takes coefficient(e, l) x x(e) on each of its links l, where a coefficient is weight x
// members on the link. Loads stay within capacities (units of 2^-16 byte/s). The max-min allocation is what progressive filling
// gives: all levels rise together; the links with the lowest floor(residual / sum of open coefficients) freeze their entities
// in one round; repeat with the rest. Fairness is on the level, i.e. on rate / weight. A rate cap is a private link.
//
// The allocation is unique and does not depend on how it is found: locally (local_solve.h), by filling groups globally
// (group_filling.h), or from nothing (reference_filling.h). Strategy only decides about time.
// A link of capacity 0 holds its entities at level 0 for ever. Not modelled: time, and anything that moves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/network/max_min/audit.h"
#include "sim/network/max_min/group_filling.h"
#include "sim/network/max_min/local_solve.h"
#include "sim/network/max_min/solver_state.h"

namespace lockstep::max_min {

enum class Strategy : std::uint8_t {
  kAuto,    // local while it pays
  kLocal,   // never fall back (tests)
  kGlobal,  // always fall back (tests)
};

struct SolveCounts {
  std::int64_t solves = 0;
  std::int64_t global_fills = 0;
  std::int64_t entities_solved = 0;  // by local solves
};

class MaxMinSolver {
 public:
  // capacities in units of 2^-16 byte/s, all >= 0, one per link.
  explicit MaxMinSolver(std::span<const Rate> capacities, Strategy strategy = Strategy::kAuto,
                        AuditScope audit = kDefaultAuditScope);

  // A link of its own for an entity: a rate cap. Ids are recycled after release.
  [[nodiscard]] LinkId add_private_link(std::int64_t capacity);
  void release_private_link(LinkId link);

  // PRE: at least one share. `extra` with no link: none.
  EntityId add(std::span<const LinkShare> shares, LinkShare extra = {});
  // PRE: the entity was part of a solve.
  void remove(EntityId e);
  void set_capacity(LinkId link, std::int64_t capacity);
  // Gives every entity its level. Throws InternalError when the audit finds the allocation wrong.
  void solve();
  [[nodiscard]] bool has_changes() const { return !state_.touched.empty(); }

  // Valid after solve().
  [[nodiscard]] std::int64_t level(EntityId e) const { return state_.link(state_.table.entity(e).group).level; }
  [[nodiscard]] LinkId bottleneck(EntityId e) const { return state_.table.entity(e).group; }
  [[nodiscard]] std::int64_t group_level(LinkId g) const { return state_.link(g).level; }
  [[nodiscard]] std::int64_t load(LinkId l) const { return state_.link(l).load; }
  [[nodiscard]] std::int64_t capacity(LinkId l) const { return state_.link(l).capacity; }
  [[nodiscard]] std::span<const Incidence> incidences(EntityId e) const { return state_.table.incidences(e); }
  [[nodiscard]] std::size_t link_count() const { return state_.table.link_count(); }
  [[nodiscard]] std::size_t entity_count() const { return state_.table.entity_count(); }
  [[nodiscard]] const SolveCounts& counts() const { return counts_; }

  // What changed since clear_changes(); an item may appear twice.
  [[nodiscard]] std::span<const EntityId> moved() const { return state_.moved; }
  [[nodiscard]] std::span<const LinkId> relevelled() const { return state_.relevelled; }
  [[nodiscard]] std::span<const LinkId> reloaded() const { return state_.reloaded; }
  void clear_changes();

  // Proves the whole allocation, whatever the audit scope.
  void audit_everything() const;
  // Fault injection for tests: gives the group of `link` one unit too much, then audits as after a solve.
  void inject_excess(LinkId link);

 private:
  [[nodiscard]] bool solve_locally();

  SolverState state_;
  Strategy strategy_;
  AuditScope audit_;
  LocalSolve local_;
  GroupFilling global_;
  std::vector<LinkId> free_private_links_;
  std::int64_t fresh_shares_ = 0;
  std::int64_t pause_ = 0;       // solves to go before the next local attempt
  std::int64_t next_pause_ = 1;  // doubled by every failed attempt
  SolveCounts counts_;
};

}  // namespace lockstep::max_min
