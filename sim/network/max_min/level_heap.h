// SPDX-License-Identifier: Apache-2.0
// The order in which links freeze during progressive filling: a lazy min-heap of (level, link). A link's level
// floor(residual / open coefficients) never falls while others freeze below it, so a stored key is a lower bound; it is recomputed
// only when it reaches the top. (residual >= level x open before a round at m <= level; the round takes m x frozen from the residual
// and `frozen` from the open coefficients, and what is left is >= level x the rest.)
//
// pop_round() takes all links at the minimum together: one of them must not see the residual another has left, or the order
// would decide about the rounded-off rest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/network/max_min/link_level.h"
#include "topology/network.h"

namespace lockstep::max_min {

class LevelHeap {
 public:
  void clear() { entries_.clear(); }
  void add(LinkId link, std::int64_t level) { entries_.push_back({level, link}); }
  void build() {
    is_heap_ = entries_.size() > kLongestScan;
    if (!is_heap_) return;
    for (std::size_t i = (entries_.size() - 2) / kArity + 1; i-- > 0;) sift_down(i);
  }

  // The links at the lowest level go to `round`; returns that level, or kNoLevel when no link is left. level_of(link) is the
  // link's level now, kNoLevel when nothing on it is open.
  template <class LevelOf>
  std::int64_t pop_round(const LevelOf& level_of, std::vector<LinkId>& round) {
    round.clear();
    return is_heap_ ? pop_from_heap(level_of, round) : pop_by_scan(level_of, round);
  }

 private:
  static constexpr std::size_t kArity = 4;
  static constexpr std::size_t kLongestScan = 40;  // up to here looking at all entries beats keeping order

  struct Entry {
    std::int64_t level = 0;
    LinkId link;
  };
  // Ties by link only to make the work reproducible.
  static bool is_before(const Entry& a, const Entry& b) { return a.level != b.level ? a.level < b.level : a.link < b.link; }

  void sift_down(std::size_t hole) {
    const Entry moving = entries_[hole];
    while (kArity * hole + 1 < entries_.size()) {
      std::size_t child = kArity * hole + 1;
      const std::size_t end = std::min(child + kArity, entries_.size());
      for (std::size_t c = child + 1; c < end; ++c) {
        if (is_before(entries_[c], entries_[child])) child = c;
      }
      if (!is_before(entries_[child], moving)) break;
      entries_[hole] = entries_[child];
      hole = child;
    }
    entries_[hole] = moving;
  }

  template <class LevelOf>
  std::int64_t pop_from_heap(const LevelOf& level_of, std::vector<LinkId>& round) {
    std::int64_t lowest = kNoLevel;
    while (!entries_.empty() && entries_.front().level <= lowest) {
      const std::int64_t level = level_of(entries_.front().link);
      if (level > entries_.front().level && level != kNoLevel) {
        entries_.front().level = level;
      } else {
        if (level != kNoLevel) {
          lowest = level;
          round.push_back(entries_.front().link);
        }
        entries_.front() = entries_.back();
        entries_.pop_back();
        if (entries_.empty()) break;
      }
      sift_down(0);
    }
    return lowest;
  }

  template <class LevelOf>
  std::int64_t pop_by_scan(const LevelOf& level_of, std::vector<LinkId>& round) {
    std::int64_t lowest = kNoLevel;
    for (Entry& e : entries_) {
      if (e.level > lowest) continue;
      e.level = level_of(e.link);
      lowest = std::min(lowest, e.level);
    }
    std::size_t kept = 0;
    for (const Entry& e : entries_) {
      if (e.level == kNoLevel) continue;
      if (e.level == lowest) {
        round.push_back(e.link);
      } else {
        entries_[kept++] = e;
      }
    }
    entries_.resize(kept);
    return lowest;
  }

  std::vector<Entry> entries_;
  bool is_heap_ = false;
};

}  // namespace lockstep::max_min
