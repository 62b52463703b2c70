// SPDX-License-Identifier: Apache-2.0
// The agenda of a simulation: what happens when. Order: time, then the order of scheduling (or a seeded shuffle of it, which tests use to
// prove that the order among simultaneous events changes nothing). Events at one instant share a bucket, so the heap holds instants, not
// events: thousands of GPUs that finish a kernel together cost one heap operation.
//
// Cost: O(1) amortised per event plus O(log instants) per distinct instant; no allocation once warm.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "base/time.h"

namespace lockstep {

// Whom it concerns and which schedule of it: an event whose version is outdated is ignored by its receiver.
struct Event {
  std::uint32_t entity = 0;
  std::uint32_t version = 0;
};

class EventQueue {
 public:
  explicit EventQueue(std::optional<std::uint64_t> tie_seed = {}) : tie_seed_(tie_seed) {}

  [[nodiscard]] bool is_empty() const { return heap_.empty(); }
  [[nodiscard]] Instant next() const { return heap_.empty() ? Instant::never() : heap_.front().at; }

  void push(Instant at, const Event& event) {
    const auto [it, is_new] = bucket_of_.try_emplace(at.picos(), 0u);
    if (is_new) {
      it->second = take_bucket();
      heap_.push_back({at, it->second});
      std::push_heap(heap_.begin(), heap_.end(), later);
    }
    buckets_[it->second].events.push_back(event);
    ++pushed_;
  }

  // Removes the next event. PRE: not empty.
  Event pop() {
    const Slot slot = heap_.front();
    Bucket& bucket = buckets_[slot.bucket];
    if (tie_seed_) {
      const std::size_t left = bucket.events.size() - bucket.head;
      const std::size_t pick = random_below(left, *tie_seed_, RandomStream::kTieShuffle, pushed_ + popped_);
      std::swap(bucket.events[bucket.head], bucket.events[bucket.head + pick]);
    }
    const Event event = bucket.events[bucket.head++];
    ++popped_;
    if (bucket.head == bucket.events.size()) {
      bucket.events.clear();
      bucket.head = 0;
      free_.push_back(slot.bucket);
      bucket_of_.erase(slot.at.picos());
      std::pop_heap(heap_.begin(), heap_.end(), later);
      heap_.pop_back();
    }
    return event;
  }

 private:
  struct Bucket {
    std::vector<Event> events;
    std::size_t head = 0;
  };
  struct Slot {
    Instant at;
    std::uint32_t bucket;
  };
  static bool later(const Slot& a, const Slot& b) { return a.at > b.at; }

  std::uint32_t take_bucket() {
    if (free_.empty()) {
      buckets_.emplace_back();
      return static_cast<std::uint32_t>(buckets_.size() - 1);
    }
    const std::uint32_t b = free_.back();
    free_.pop_back();
    return b;
  }

  std::optional<std::uint64_t> tie_seed_;
  std::vector<Bucket> buckets_;
  std::vector<std::uint32_t> free_;
  std::vector<Slot> heap_;
  std::unordered_map<std::int64_t, std::uint32_t> bucket_of_;
  std::uint64_t pushed_ = 0;
  std::uint64_t popped_ = 0;
};

}  // namespace lockstep
