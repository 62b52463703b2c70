// SPDX-License-Identifier: Apache-2.0
// Who uses which link, kept as a sparse matrix of cells so that a solve seldom has to look at single entities.
//
// An entity puts a coefficient on each of its links: one Incidence each, contiguous in memory. Once it has been given a level it
// belongs to the group of its bottleneck link. A Cell (link l, group g) holds the sum of the coefficients that the members
// of group g have on link l, and the list of those incidences:
//
//   row of l      all cells on link l: which groups load it, and how much        load(l) = sum over cells of coefficient x level(g)
//   column of g   all cells of group g: which links feel a change of its level; contiguous, because fills stream through it
//
// A cell exists while it has members. Attaching, moving and detaching an entity costs O(its links) expected time: short rows are
// searched, long ones indexed. Nothing allocates once the arrays have reached their working size (blocks of incidences are
// recycled by length, cells by a free list). Not here: levels, capacities, time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/flat_index.h"
#include "sim/network/max_min/link_state.h"
#include "topology/routing/router.h"

namespace lockstep::max_min {

// One entity on one link.
struct Incidence {
  std::int64_t coefficient = 0;
  EntityId entity;
  LinkId link;
  CellId cell;       // none while the entity is unattached
  IncidenceId next;  // in the cell's list
  IncidenceId previous;
  IncidenceId next_in_set;  // scratch of a solve: the link's list of entities being re-solved
};

struct Cell {
  std::int64_t coefficient = 0;
  std::int64_t in_set = 0;  // scratch of a solve: the part of `coefficient` that is being re-solved
  LinkId link;
  LinkId group;
  CellId row_next;
  CellId row_previous;
  std::uint32_t column_position = 0;
  IncidenceId first;
};

struct Entity {
  IncidenceId first;
  std::uint32_t count = 0;
  LinkId group;                // its bottleneck link; none while unattached
  LinkId frozen_by;            // scratch of a solve
  std::int64_t new_level = 0;  // scratch of a solve
  std::uint64_t stamp = 0;     // scratch of a solve: the attempt that is re-solving this entity
};

class ShareTable {
 public:
  explicit ShareTable(std::size_t links) : links_(links) {}

  [[nodiscard]] LinkState& link(LinkId l) { return links_[l.index()]; }
  [[nodiscard]] const LinkState& link(LinkId l) const { return links_[l.index()]; }
  [[nodiscard]] std::size_t link_count() const { return links_.size(); }
  LinkId add_link();

  // A new, unattached entity; `extra` with no link: none. PRE: links distinct, coefficients > 0. Throws when a link's sum of
  // coefficients leaves int64.
  EntityId add(std::span<const LinkShare> shares, LinkShare extra);
  void attach(EntityId e, LinkId group);
  void move(EntityId e, LinkId group);
  // Forgets the entity, attached or not.
  void erase(EntityId e);

  [[nodiscard]] Entity& entity(EntityId e) { return entities_[e.index()]; }
  [[nodiscard]] const Entity& entity(EntityId e) const { return entities_[e.index()]; }
  [[nodiscard]] std::span<Incidence> incidences(EntityId e) {
    const Entity& x = entities_[e.index()];
    return {incidences_.data() + x.first.index(), x.count};
  }
  [[nodiscard]] std::span<const Incidence> incidences(EntityId e) const {
    const Entity& x = entities_[e.index()];
    return {incidences_.data() + x.first.index(), x.count};
  }
  [[nodiscard]] Incidence& incidence(IncidenceId i) { return incidences_[i.index()]; }
  [[nodiscard]] const Incidence& incidence(IncidenceId i) const { return incidences_[i.index()]; }
  [[nodiscard]] IncidenceId id_of(const Incidence& i) const {
    return IncidenceId::from_index(static_cast<std::size_t>(&i - incidences_.data()));
  }
  [[nodiscard]] Cell& cell(CellId c) { return cells_[c.index()]; }
  [[nodiscard]] const Cell& cell(CellId c) const { return cells_[c.index()]; }
  // The coefficients that the link's own group has on it.
  [[nodiscard]] std::int64_t own_coefficient(LinkId l) const {
    const CellId own = link(l).own;
    return own.is_none() ? 0 : cell(own).coefficient;
  }
  [[nodiscard]] std::span<const LinkId> groups() const { return groups_; }  // with at least one member; any order
  [[nodiscard]] std::size_t cell_count() const { return live_cells_; }
  [[nodiscard]] std::size_t entity_count() const { return live_entities_; }

 private:
  static constexpr std::uint32_t kLongestSearchedRow = 8;

  IncidenceId take_block(std::uint32_t length);
  [[nodiscard]] CellId find_cell(LinkId link, LinkId group) const;
  CellId make_cell(LinkId link, LinkId group);
  void index_row(LinkId link);
  void drop_cell(CellId c);
  void join(Incidence& i, LinkId group);
  void leave(Incidence& i);
  void add_to_cell(Cell& c, std::int64_t coefficient);

  std::vector<LinkState> links_;
  std::vector<Entity> entities_;
  std::vector<EntityId> free_entities_;
  std::vector<Incidence> incidences_;
  std::vector<std::vector<IncidenceId>> free_blocks_;  // by length
  std::vector<Cell> cells_;
  std::vector<CellId> free_cells_;
  FlatIndex index_;  // (link, group) to cell, of long rows
  std::vector<LinkId> groups_;
  std::size_t live_cells_ = 0;
  std::size_t live_entities_ = 0;
};

}  // namespace lockstep::max_min
