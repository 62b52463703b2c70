// SPDX-License-Identifier: Apache-2.0
// Transfers waiting for an instant: a min-heap by time. Order within an instant is unspecified and cannot matter to its users.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/network/transfer_ledger.h"

namespace lockstep {

class DelayQueue {
 public:
  void push(Instant when, TransferId id) {
    heap_.push_back({when, id});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  [[nodiscard]] Instant next() const { return heap_.empty() ? Instant::never() : heap_.front().when; }
  // Calls visit(when, id) for everything that waits, in any order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Entry& e : heap_) visit(e.when, e.id);
  }
  // A transfer due at `now`, none when there is none. Throws InternalError when one was due before.
  [[nodiscard]] TransferId pop_due(Instant now) {
    if (next() > now || heap_.empty()) return TransferId::none();
    LOCKSTEP_CHECK(next() == now, "an event at {} ps was passed over at {} ps", next().picos(), now.picos());
    const TransferId id = heap_.front().id;
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
    return id;
  }

  // Everything happens this much later.
  void postpone(Duration by) {
    for (Entry& e : heap_) {
      if (!e.when.is_never()) e.when = e.when + by;
    }
  }

 private:
  struct Entry {
    Instant when;
    TransferId id;
  };
  static bool later(const Entry& a, const Entry& b) { return a.when > b.when; }
  std::vector<Entry> heap_;
};

}  // namespace lockstep
