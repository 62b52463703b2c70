// SPDX-License-Identifier: Apache-2.0
// Events in the order (time, class, sequence of pushing): the same pushes always give the same pops. That order exists for
// reproducibility only; no result may depend on it, and a shuffled queue (below) lets tests prove that.
//
// Training jobs put hundreds of events on one instant, so the heap holds instants, not events: each distinct instant has a
// bucket with one first-in-first-out list per class, found by a flat hash of its time. Push and pop are O(1) expected within a
// known instant, O(log of distinct pending instants) for a new one. Buckets are recycled with their memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "sim/engine/flat_index.h"

namespace lockstep {

// What happens first within an instant.
enum class EventClass : std::uint8_t {
  kEnd,     // whatever ends frees GPUs, streams and links before anything new looks at them
  kBegin,   // whatever begins is known completely ...
  kSettle,  // ... before what is shared is divided, once per instant
};
inline constexpr std::size_t kEventClassCount = 3;

template <class Payload>
class EventQueue {
  static_assert(std::is_trivially_copyable_v<Payload>, "events are plain values");

 public:
  struct Event {
    Instant time;
    EventClass event_class = EventClass::kEnd;
    Payload payload{};
  };

  EventQueue() = default;
  // Events of the same time and class come in an order drawn from `seed`.
  static EventQueue shuffled(std::uint64_t seed) {
    EventQueue q;
    q.shuffle_seed_ = seed;
    return q;
  }

  // PRE: when >= now().
  void push(Instant when, EventClass event_class, const Payload& payload) {
    LOCKSTEP_CHECK(when >= now_, "an event at {} ps is pushed at {} ps", when.picos(), now_.picos());
    bucket_at(when).lists[static_cast<std::size_t>(event_class)].items.push_back(payload);
    ++size_;
  }

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Instant now() const { return now_; }  // time of the last event popped
  // never() when empty.
  [[nodiscard]] Instant next_time() const {
    if (size_ == 0) return Instant::never();
    if (current_ != kNone && buckets_[current_].pending() > 0) return now_;
    return heap_.front().time;
  }

  // PRE: not empty.
  Event pop() {
    LOCKSTEP_CHECK(size_ > 0, "pop of an empty event queue");
    if (current_ == kNone || buckets_[current_].pending() == 0) take_next_bucket();
    Bucket& b = buckets_[current_];
    std::size_t c = 0;
    while (b.lists[c].pending() == 0) ++c;
    List& list = b.lists[c];
    if (shuffle_seed_.has_value()) bring_random_to_front(list);
    --size_;
    return {now_, static_cast<EventClass>(c), list.items[list.head++]};
  }

 private:
  static constexpr std::uint32_t kNone = FlatIndex::kAbsent;

  struct List {
    std::vector<Payload> items;
    std::size_t head = 0;
    [[nodiscard]] std::size_t pending() const { return items.size() - head; }
  };
  struct Bucket {
    std::array<List, kEventClassCount> lists;
    [[nodiscard]] std::size_t pending() const {
      std::size_t n = 0;
      for (const List& l : lists) n += l.pending();
      return n;
    }
  };
  struct Entry {
    Instant time;
    std::uint32_t bucket = kNone;
  };
  static bool later(const Entry& a, const Entry& b) { return a.time > b.time; }

  Bucket& bucket_at(Instant when) {
    if (when == now_ && current_ != kNone) return buckets_[current_];
    if (when == recent_.time && recent_.bucket != kNone) return buckets_[recent_.bucket];
    const auto key = static_cast<std::uint64_t>(when.picos());
    std::uint32_t id = by_time_.find(key);
    if (id == kNone) {
      if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(buckets_.size()));
        buckets_.emplace_back();
      }
      id = free_.back();
      free_.pop_back();
      by_time_.insert(key, id);
      heap_.push_back({when, id});
      std::push_heap(heap_.begin(), heap_.end(), later);
    }
    recent_ = {when, id};
    return buckets_[id];
  }

  void take_next_bucket() {
    if (current_ != kNone) {
      for (List& l : buckets_[current_].lists) {
        l.items.clear();
        l.head = 0;
      }
      free_.push_back(current_);
    }
    std::pop_heap(heap_.begin(), heap_.end(), later);
    now_ = heap_.back().time;
    current_ = heap_.back().bucket;
    heap_.pop_back();
    by_time_.erase(static_cast<std::uint64_t>(now_.picos()));
    if (recent_.bucket == current_) recent_ = {};
  }

  void bring_random_to_front(List& list) {
    const std::uint64_t pick = random_below(list.pending(), *shuffle_seed_, RandomStream::kTieShuffle, draws_++);
    std::swap(list.items[list.head], list.items[list.head + static_cast<std::size_t>(pick)]);
  }

  std::vector<Bucket> buckets_;
  std::vector<std::uint32_t> free_;
  std::vector<Entry> heap_;  // instants after now_, earliest on top
  FlatIndex by_time_;        // the same instants
  Entry recent_;             // the instant pushed to last, if not now_
  std::uint32_t current_ = kNone;
  Instant now_;
  std::size_t size_ = 0;
  std::optional<std::uint64_t> shuffle_seed_;
  std::uint64_t draws_ = 0;
};

}  // namespace lockstep
