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
  void clear() { heap_.clear(); }
  void add(LinkId link, std::int64_t level) { heap_.push_back({level, link}); }
  void build() { std::make_heap(heap_.begin(), heap_.end(), Later{}); }

  // The links at the lowest level go to `round`; returns that level, or kNoLevel when no link is left. level_of(link) is the
  // link's level now, kNoLevel when nothing on it is open.
  template <class LevelOf>
  std::int64_t pop_round(const LevelOf& level_of, std::vector<LinkId>& round) {
    round.clear();
    std::int64_t lowest = kNoLevel;
    while (!heap_.empty() && heap_.front().level <= lowest) {
      Entry top = heap_.front();
      const std::int64_t level = level_of(top.link);
      std::pop_heap(heap_.begin(), heap_.end(), Later{});
      if (level == kNoLevel) {
        heap_.pop_back();
      } else if (level > top.level) {
        heap_.back().level = level;
        std::push_heap(heap_.begin(), heap_.end(), Later{});
      } else {
        heap_.pop_back();
        lowest = level;
        round.push_back(top.link);
      }
    }
    return lowest;
  }

 private:
  struct Entry {
    std::int64_t level = 0;
    LinkId link;
  };
  struct Later {  // ties by link id only to make the work reproducible
    bool operator()(const Entry& a, const Entry& b) const {
      return a.level != b.level ? a.level > b.level : a.link > b.link;
    }
  };
  std::vector<Entry> heap_;
};

}  // namespace lockstep::max_min
