// SPDX-License-Identifier: Apache-2.0
// Everything the solver knows about one link, in two cache lines: an event touches few links and all of these fields.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/network/max_min/link_level.h"
#include "topology/network.h"

namespace lockstep::max_min {

using CellId = Id<struct MaxMinCellTag>;
using EntityId = Id<struct MaxMinEntityTag>;
using IncidenceId = Id<struct MaxMinIncidenceTag>;

// A cell as its group's column shows it.
struct ColumnEntry {
  std::int64_t coefficient = 0;  // that of the cell
  LinkId link;
  CellId cell;
};

struct alignas(64) LinkState {
  std::int64_t capacity = 0;
  std::int64_t load = 0;   // sum of coefficient x level over the attached entities
  std::int64_t level = 0;  // of the group of this link; meaningless while the group is empty
  CellId row;              // first cell on the link
  CellId own;              // the cell (l, l)

  // Scratch, valid while `stamp` is that of the current attempt to solve.
  std::uint64_t stamp = 0;
  std::int64_t residual = 0;          // capacity not yet given away
  std::int64_t open = 0;              // coefficients not yet frozen
  std::int64_t frozen_at = kNoLevel;  // the level at which this attempt froze the link
  std::int64_t set_load = 0;          // local: load before the solve of what is being re-solved
  std::int64_t set_coefficients = 0;  // local: coefficients of what is being re-solved
  IncidenceId set_first;              // single entities being re-solved
  bool group_open = false;            // global: the group is being re-solved

  bool touched = false;         // an entity came or went, or the capacity changed, since the last solve
  bool row_is_indexed = false;  // its cells are in the table's index
  std::uint32_t row_length = 0;
  std::uint32_t group_position = 0;  // in the table's list of groups, while the column is not empty
  std::int64_t coefficients = 0;     // sum over all entities on the link, attached or not
  std::vector<ColumnEntry> column;   // cells of the group of this link
};

}  // namespace lockstep::max_min
