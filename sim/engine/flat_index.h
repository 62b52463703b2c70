// SPDX-License-Identifier: Apache-2.0
// A map from 64-bit keys to 32-bit values for hot paths: open addressing with linear probing, deletion by shifting back, so no
// tombstones pile up over millions of insertions. Never iterated, so its layout cannot reach a result. Expected O(1); at most
// half full; allocates only to grow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace lockstep {

class FlatIndex {
 public:
  static constexpr std::uint32_t kAbsent = std::numeric_limits<std::uint32_t>::max();

  FlatIndex() : slots_(std::size_t{1} << kInitialBits), shift_(64 - kInitialBits) {}

  // kAbsent when there is none.
  [[nodiscard]] std::uint32_t find(std::uint64_t key) const {
    for (std::size_t i = home(key);; i = next(i)) {
      if (slots_[i].value == kAbsent || slots_[i].key == key) return slots_[i].value;
    }
  }

  // PRE: the key is not present; value is not kAbsent.
  void insert(std::uint64_t key, std::uint32_t value) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    place({key, value});
    ++size_;
  }

  // PRE: the key is present.
  void erase(std::uint64_t key) {
    std::size_t hole = home(key);
    while (slots_[hole].key != key || slots_[hole].value == kAbsent) hole = next(hole);
    for (std::size_t i = next(hole); slots_[i].value != kAbsent; i = next(i)) {
      // The entry at i may fill the hole unless its home lies cyclically after the hole.
      if (distance(home(slots_[i].key), i) >= distance(hole, i)) {
        slots_[hole] = slots_[i];
        hole = i;
      }
    }
    slots_[hole] = Slot{};
    --size_;
  }

  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  static constexpr int kInitialBits = 8;

  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t value = kAbsent;
  };

  [[nodiscard]] std::size_t home(std::uint64_t key) const {
    return static_cast<std::size_t>(((key ^ (key >> 29)) * 0x9E3779B97F4A7C15ull) >> shift_);
  }
  [[nodiscard]] std::size_t next(std::size_t i) const { return (i + 1) & (slots_.size() - 1); }
  [[nodiscard]] std::size_t distance(std::size_t from, std::size_t to) const { return (to - from) & (slots_.size() - 1); }

  void place(Slot s) {
    std::size_t i = home(s.key);
    while (slots_[i].value != kAbsent) i = next(i);
    slots_[i] = s;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    --shift_;
    for (const Slot& s : old) {
      if (s.value != kAbsent) place(s);
    }
  }

  std::vector<Slot> slots_;
  int shift_;
  std::size_t size_ = 0;
};

}  // namespace lockstep
