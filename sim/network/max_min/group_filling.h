// SPDX-License-Identifier: Apache-2.0
// Global progressive filling on groups instead of entities, from a level upwards. Two facts make it cheap:
//
//   A change at level x leaves every entity below x alone, so groups below keep their members and levels.
//   A group keeps its members unless another link freezes some of them first. When link b freezes at level m, the cells of its
//   row tell which still-open groups have members on it; only those members change groups. The rest of b's column is then
//   frozen cell by cell: residual -= coefficient x m.
//
// One fill costs the number of open cells plus the entities that really change their bottleneck. Entities not yet attached (new ones)
// are frozen one by one. The result is the plain filling, whatever the groups were before.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/network/max_min/level_heap.h"
#include "sim/network/max_min/solver_state.h"

namespace lockstep::max_min {

class GroupFilling {
 public:
  // Solves the batch in `s`.
  void run(SolverState& s);

 private:
  [[nodiscard]] std::int64_t lowest_changed_level(SolverState& s);
  void open_groups(SolverState& s, std::int64_t from);
  void open_fresh(SolverState& s);
  void claim_members(SolverState& s, LinkId b);
  void freeze_column(SolverState& s, LinkId b, std::int64_t level);

  UInt128 open_total_ = 0;  // open coefficients summed over all links: 0 when everything is frozen
  std::vector<LevelShare> shares_;
  std::vector<LinkId> round_;
  std::vector<CellId> claimed_;
  LevelHeap heap_;
};

}  // namespace lockstep::max_min
