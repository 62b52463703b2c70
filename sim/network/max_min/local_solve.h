// SPDX-License-Identifier: Apache-2.0
// Max-min by local re-solve: only a set F of entities around the touched links gets new levels. The allocation that results
// is THE max-min one, integer for integer what a global filling gives, because at the end every entity's level is the lowest link
// level on its path (link_level.h):
//
//   1. F = the new entities. A new entity counts as infinitely high until it has been filled.
//   2. For every touched link and every link F uses, with its link level L over all its entities, add the entities outside F
//        (a) whose bottleneck this link is, unless their level equals L;
//        (b) above the level at which step 3 froze the link, if it did;
//        (c) at or above L, if any entity on the link is above L.
//      Nothing to add: done.
//   3. Progressive filling of F against the capacities minus the load of the entities outside. Back to 2.
//
// F only grows, so this ends. (a) is applied at the assigned bottleneck link alone: an entity that another link would also justify
// is re-solved needlessly, never wrongly. Work is counted in table entries visited; beyond the budget the attempt gives up
// without a trace and the caller fills globally.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/network/max_min/level_heap.h"
#include "sim/network/max_min/solver_state.h"

namespace lockstep::max_min {

class LocalSolve {
 public:
  // Solves the batch in `s` and commits it; false, with nothing changed, when it would take more than `budget` units of work.
  bool run(SolverState& s, std::int64_t budget);
  // Entities given a level by the last successful run.
  [[nodiscard]] std::size_t entities_solved() const { return entities_solved_; }

 private:
  void include(SolverState& s, EntityId e);
  void collect_unsettled(SolverState& s, bool filled);
  void inspect(SolverState& s, LinkId l, bool filled);
  void fill(SolverState& s);
  void freeze(SolverState& s, LinkId l, std::int64_t level);
  void forget(SolverState& s);
  void commit(SolverState& s);

  std::int64_t work_ = 0;
  std::size_t entities_solved_ = 0;
  std::size_t open_entities_ = 0;  // of F, not yet frozen by the filling under way
  std::vector<EntityId> additions_;
  std::vector<LevelShare> shares_;
  std::vector<LinkId> round_;
  LevelHeap heap_;
};

}  // namespace lockstep::max_min
