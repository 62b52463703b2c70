// SPDX-License-Identifier: Apache-2.0
#include "sim/network/max_min/share_table.h"

namespace lockstep::max_min {
namespace {

std::uint64_t pair_key(LinkId link, LinkId group) { return (std::uint64_t{link.value()} << 32) | group.value(); }

}  // namespace

void ShareTable::grow_links(std::size_t count) {
  if (count > rows_.size()) rows_.resize(count);
}

IncidenceId ShareTable::take_block(std::uint32_t length) {
  if (length >= free_blocks_.size()) free_blocks_.resize(std::size_t{length} + 1);
  std::vector<IncidenceId>& free = free_blocks_[length];
  if (!free.empty()) {
    const IncidenceId first = free.back();
    free.pop_back();
    return first;
  }
  const IncidenceId first = IncidenceId::from_index(incidences_.size());
  LOCKSTEP_CHECK(incidences_.size() + length < IncidenceId::none().value(), "too many transfers in flight: {} link shares",
                 incidences_.size());
  incidences_.resize(incidences_.size() + length);
  return first;
}

EntityId ShareTable::add(std::span<const LinkShare> shares, LinkShare extra) {
  EntityId id;
  if (free_entities_.empty()) {
    id = EntityId::from_index(entities_.size());
    entities_.emplace_back();
  } else {
    id = free_entities_.back();
    free_entities_.pop_back();
  }
  const bool has_extra = !extra.link.is_none();
  Entity& e = entities_[id.index()];
  e = Entity{};
  e.count = static_cast<std::uint32_t>(shares.size()) + (has_extra ? 1 : 0);
  e.first = take_block(e.count);
  Incidence* slot = incidences_.data() + e.first.index();
  const auto put = [&](const LinkShare& s) {
    LOCKSTEP_CHECK(s.coefficient > 0, "coefficient {} on link {}", s.coefficient, s.link.value());
    Row& row = rows_[s.link.index()];
    row.coefficients = checked_add(row.coefficients, s.coefficient);
    *slot = Incidence{};
    slot->coefficient = s.coefficient;
    slot->entity = id;
    slot->link = s.link;
    ++slot;
  };
  for (const LinkShare& s : shares) put(s);
  if (has_extra) put(extra);
  ++live_entities_;
  return id;
}

void ShareTable::attach(EntityId id, LinkId group) {
  Entity& e = entities_[id.index()];
  e.group = group;
  for (Incidence& i : incidences(id)) join(i, find_or_make_cell(i.link, group));
}

void ShareTable::move(EntityId id, LinkId group) {
  Entity& e = entities_[id.index()];
  if (e.group == group) return;
  e.group = group;
  for (Incidence& i : incidences(id)) {
    leave(i);
    join(i, find_or_make_cell(i.link, group));
  }
}

void ShareTable::erase(EntityId id) {
  Entity& e = entities_[id.index()];
  for (Incidence& i : incidences(id)) {
    rows_[i.link.index()].coefficients -= i.coefficient;
    if (!i.cell.is_none()) leave(i);
  }
  free_blocks_[e.count].push_back(e.first);
  free_entities_.push_back(id);
  --live_entities_;
}

CellId ShareTable::find_or_make_cell(LinkId link, LinkId group) {
  Row& row = rows_[link.index()];
  if (!row.row.is_none()) {
    if (cells_[row.row.index()].group == group) return row.row;
    const std::uint32_t found = index_.find(pair_key(link, group));
    if (found != FlatIndex::kAbsent) return CellId(found);
  }
  CellId id;
  if (free_cells_.empty()) {
    id = CellId::from_index(cells_.size());
    cells_.emplace_back();
  } else {
    id = free_cells_.back();
    free_cells_.pop_back();
  }
  Row& column = rows_[group.index()];
  if (column.column.is_none()) {
    column.group_position = static_cast<std::uint32_t>(groups_.size());
    groups_.push_back(group);
  }
  Cell& c = cells_[id.index()];
  c = Cell{};
  c.link = link;
  c.group = group;
  c.row_next = row.row;
  if (!row.row.is_none()) cells_[row.row.index()].row_previous = id;
  row.row = id;
  c.column_next = column.column;
  if (!column.column.is_none()) cells_[column.column.index()].column_previous = id;
  column.column = id;
  index_.insert(pair_key(link, group), id.value());
  ++live_cells_;
  return id;
}

void ShareTable::drop_cell(CellId id) {
  const Cell& c = cells_[id.index()];
  index_.erase(pair_key(c.link, c.group));
  if (c.row_previous.is_none()) {
    rows_[c.link.index()].row = c.row_next;
  } else {
    cells_[c.row_previous.index()].row_next = c.row_next;
  }
  if (!c.row_next.is_none()) cells_[c.row_next.index()].row_previous = c.row_previous;
  Row& column = rows_[c.group.index()];
  if (c.column_previous.is_none()) {
    column.column = c.column_next;
  } else {
    cells_[c.column_previous.index()].column_next = c.column_next;
  }
  if (!c.column_next.is_none()) cells_[c.column_next.index()].column_previous = c.column_previous;
  if (column.column.is_none()) {
    const LinkId last = groups_.back();
    groups_[column.group_position] = last;
    rows_[last.index()].group_position = column.group_position;
    groups_.pop_back();
  }
  free_cells_.push_back(id);
  --live_cells_;
}

void ShareTable::join(Incidence& i, CellId id) {
  Cell& c = cells_[id.index()];
  const IncidenceId self = id_of(i);
  i.cell = id;
  i.previous = IncidenceId::none();
  i.next = c.first;
  if (!c.first.is_none()) incidences_[c.first.index()].previous = self;
  c.first = self;
  c.coefficient += i.coefficient;
}

void ShareTable::leave(Incidence& i) {
  Cell& c = cells_[i.cell.index()];
  c.coefficient -= i.coefficient;
  if (i.previous.is_none()) {
    c.first = i.next;
  } else {
    incidences_[i.previous.index()].next = i.next;
  }
  if (!i.next.is_none()) incidences_[i.next.index()].previous = i.previous;
  if (c.first.is_none()) drop_cell(i.cell);
  i.cell = CellId::none();
}

}  // namespace lockstep::max_min
