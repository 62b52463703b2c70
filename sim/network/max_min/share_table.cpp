// SPDX-License-Identifier: Apache-2.0
#include "sim/network/max_min/share_table.h"

namespace lockstep::max_min {
namespace {

constexpr std::size_t kFirstColumn =
    4;  // a group of one entity has as many cells as the entity has links: two to four in a Clos

std::uint64_t pair_key(LinkId link, LinkId group) { return (std::uint64_t{link.value()} << 32) | group.value(); }

}  // namespace

LinkId ShareTable::add_link() {
  links_.emplace_back();
  return LinkId::from_index(links_.size() - 1);
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
    LinkState& l = link(s.link);
    l.coefficients = checked_add(l.coefficients, s.coefficient);
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
  entities_[id.index()].group = group;
  for (Incidence& i : incidences(id)) join(i, group);
}

void ShareTable::move(EntityId id, LinkId group) {
  Entity& e = entities_[id.index()];
  if (e.group == group) return;
  e.group = group;
  for (Incidence& i : incidences(id)) {
    leave(i);
    join(i, group);
  }
}

void ShareTable::erase(EntityId id) {
  const Entity& e = entities_[id.index()];
  for (Incidence& i : incidences(id)) {
    link(i.link).coefficients -= i.coefficient;
    if (!i.cell.is_none()) leave(i);
  }
  free_blocks_[e.count].push_back(e.first);
  free_entities_.push_back(id);
  --live_entities_;
}

CellId ShareTable::find_cell(LinkId l, LinkId group) const {
  if (link(l).row_is_indexed) {
    const std::uint32_t found = index_.find(pair_key(l, group));
    return found == FlatIndex::kAbsent ? CellId::none() : CellId(found);
  }
  for (CellId c = link(l).row; !c.is_none(); c = cell(c).row_next) {
    if (cell(c).group == group) return c;
  }
  return CellId::none();
}

CellId ShareTable::make_cell(LinkId l, LinkId group) {
  CellId id;
  if (free_cells_.empty()) {
    id = CellId::from_index(cells_.size());
    cells_.emplace_back();
  } else {
    id = free_cells_.back();
    free_cells_.pop_back();
  }
  LinkState& row = link(l);
  LinkState& owner = link(group);
  Cell& c = cells_[id.index()];
  c = Cell{};
  c.link = l;
  c.group = group;
  c.row_next = row.row;
  if (!row.row.is_none()) cell(row.row).row_previous = id;
  row.row = id;
  if (l == group) row.own = id;
  if (owner.column.empty()) {
    owner.group_position = static_cast<std::uint32_t>(groups_.size());
    groups_.push_back(group);
    owner.column.reserve(kFirstColumn);
  }
  c.column_position = static_cast<std::uint32_t>(owner.column.size());
  owner.column.push_back({0, l, id});
  ++live_cells_;
  ++row.row_length;
  if (row.row_is_indexed) {
    index_.insert(pair_key(l, group), id.value());
  } else if (row.row_length > kLongestSearchedRow) {
    index_row(l);
  }
  return id;
}

void ShareTable::index_row(LinkId l) {
  link(l).row_is_indexed = true;
  for (CellId c = link(l).row; !c.is_none(); c = cell(c).row_next) index_.insert(pair_key(l, cell(c).group), c.value());
}

void ShareTable::drop_cell(CellId id) {
  const Cell& c = cell(id);
  LinkState& row = link(c.link);
  if (row.row_is_indexed) index_.erase(pair_key(c.link, c.group));
  if (c.row_previous.is_none()) {
    row.row = c.row_next;
  } else {
    cell(c.row_previous).row_next = c.row_next;
  }
  if (!c.row_next.is_none()) cell(c.row_next).row_previous = c.row_previous;
  if (c.link == c.group) row.own = CellId::none();
  if (--row.row_length == 0) row.row_is_indexed = false;

  LinkState& owner = link(c.group);
  const ColumnEntry last = owner.column.back();
  owner.column[c.column_position] = last;
  cell(last.cell).column_position = c.column_position;
  owner.column.pop_back();
  if (owner.column.empty()) {
    const LinkId last_group = groups_.back();
    groups_[owner.group_position] = last_group;
    link(last_group).group_position = owner.group_position;
    groups_.pop_back();
  }
  free_cells_.push_back(id);
  --live_cells_;
}

void ShareTable::add_to_cell(Cell& c, std::int64_t coefficient) {
  c.coefficient += coefficient;
  link(c.group).column[c.column_position].coefficient = c.coefficient;
}

void ShareTable::join(Incidence& i, LinkId group) {
  CellId id = find_cell(i.link, group);
  if (id.is_none()) id = make_cell(i.link, group);
  Cell& c = cell(id);
  const IncidenceId self = id_of(i);
  i.cell = id;
  i.previous = IncidenceId::none();
  i.next = c.first;
  if (!c.first.is_none()) incidence(c.first).previous = self;
  c.first = self;
  add_to_cell(c, i.coefficient);
}

void ShareTable::leave(Incidence& i) {
  Cell& c = cell(i.cell);
  add_to_cell(c, -i.coefficient);
  if (i.previous.is_none()) {
    c.first = i.next;
  } else {
    incidence(i.previous).next = i.next;
  }
  if (!i.next.is_none()) incidence(i.next).previous = i.previous;
  if (c.first.is_none()) drop_cell(i.cell);
  i.cell = CellId::none();
}

}  // namespace lockstep::max_min
