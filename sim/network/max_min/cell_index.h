// SPDX-License-Identifier: Apache-2.0
// Finds the cell of (link, group): open addressing with linear probing and deletion by shifting back, so no tombstones pile
// up over millions of insertions. Never iterated, so its layout cannot reach a result. Expected O(1); at most half full.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "topology/network.h"

namespace lockstep::max_min {

using CellId = Id<struct MaxMinCellTag>;

class CellIndex {
 public:
  CellIndex() : slots_(kInitialSlots), shift_(64 - kInitialBits) {}

  [[nodiscard]] CellId find(LinkId link, LinkId group) const {
    const std::uint64_t k = key(link, group);
    for (std::size_t i = home(k);; i = next(i)) {
      if (slots_[i].cell.is_none() || slots_[i].key == k) return slots_[i].cell;
    }
  }

  // PRE: not present.
  void insert(LinkId link, LinkId group, CellId cell) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    place({key(link, group), cell});
    ++size_;
  }

  // PRE: present.
  void erase(LinkId link, LinkId group) {
    const std::uint64_t k = key(link, group);
    std::size_t hole = home(k);
    while (slots_[hole].key != k) hole = next(hole);
    for (std::size_t i = next(hole); !slots_[i].cell.is_none(); i = next(i)) {
      // The entry at i may fill the hole unless its home lies cyclically after the hole.
      const std::size_t distance_from_home = (i - home(slots_[i].key)) & (slots_.size() - 1);
      const std::size_t distance_from_hole = (i - hole) & (slots_.size() - 1);
      if (distance_from_home >= distance_from_hole) {
        slots_[hole] = slots_[i];
        hole = i;
      }
    }
    slots_[hole] = Slot{};
    --size_;
  }

 private:
  static constexpr int kInitialBits = 8;
  static constexpr std::size_t kInitialSlots = std::size_t{1} << kInitialBits;

  struct Slot {
    std::uint64_t key = ~std::uint64_t{0};  // no pair of valid ids
    CellId cell;
  };

  [[nodiscard]] static std::uint64_t key(LinkId link, LinkId group) {
    return (std::uint64_t{link.value()} << 32) | group.value();
  }
  [[nodiscard]] std::size_t home(std::uint64_t k) const {
    return static_cast<std::size_t>(((k ^ (k >> 29)) * 0x9E3779B97F4A7C15ull) >> shift_);
  }
  [[nodiscard]] std::size_t next(std::size_t i) const { return (i + 1) & (slots_.size() - 1); }

  void place(Slot s) {
    std::size_t i = home(s.key);
    while (!slots_[i].cell.is_none()) i = next(i);
    slots_[i] = s;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    --shift_;
    for (const Slot& s : old) {
      if (!s.cell.is_none()) place(s);
    }
  }

  std::vector<Slot> slots_;
  int shift_;
  std::size_t size_ = 0;
};

}  // namespace lockstep::max_min
