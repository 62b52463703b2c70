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
    if (is_heap_) std::make_heap(entries_.begin(), entries_.end(), Later{});
  }

  // The links at the lowest level go to `round`; returns that level, or kNoLevel when no link is left. level_of(link) is the
  // link's level now, kNoLevel when nothing on it is open.
  template <class LevelOf>
  std::int64_t pop_round(const LevelOf& level_of, std::vector<LinkId>& round) {
    round.clear();
    return is_heap_ ? pop_from_heap(level_of, round) : pop_by_scan(level_of, round);
  }

 private:
  static constexpr std::size_t kLongestScan = 40;  // up to here looking at all entries beats keeping order

  struct Entry {
    std::int64_t level = 0;
    LinkId link;
  };
  struct Later {  // ties by link id only to make the work reproducible
    bool operator()(const Entry& a, const Entry& b) const { return a.level != b.level ? a.level > b.level : a.link > b.link; }
  };

  template <class LevelOf>
  std::int64_t pop_from_heap(const LevelOf& level_of, std::vector<LinkId>& round) {
    std::int64_t lowest = kNoLevel;
    while (!entries_.empty() && entries_.front().level <= lowest) {
      const Entry top = entries_.front();
      const std::int64_t level = level_of(top.link);
      std::pop_heap(entries_.begin(), entries_.end(), Later{});
      if (level != kNoLevel && level > top.level) {
        entries_.back().level = level;
        std::push_heap(entries_.begin(), entries_.end(), Later{});
        continue;
      }
      entries_.pop_back();
      if (level == kNoLevel) continue;
      lowest = level;
      round.push_back(top.link);
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
