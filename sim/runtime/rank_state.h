// SPDX-License-Identifier: Apache-2.0
// One rank while it runs: the operations expanded so far, per stream; what its compute is doing; and where its time went.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "base/wide.h"
#include "workloads/program.h"

namespace lockstep {

// First-in first-out, reusing its storage.
class OpQueue {
 public:
  [[nodiscard]] bool is_empty() const { return head_ == ops_.size(); }
  [[nodiscard]] const Op& front() const { return ops_[head_]; }
  void push(const Op& op) { ops_.push_back(op); }
  [[nodiscard]] std::span<Op> pending() { return std::span(ops_).subspan(head_); }
  [[nodiscard]] std::span<const Op> pending() const { return std::span(ops_).subspan(head_); }
  void pop() {
    if (++head_ == ops_.size()) {
      ops_.clear();
      head_ = 0;
    }
  }

 private:
  std::vector<Op> ops_;
  std::size_t head_ = 0;
};

struct StreamState {
  OpQueue queue;
  std::int64_t completed = 0;
  bool is_busy = false;       // its front operation is under way
  std::uint16_t waiters = 0;  // streams whose front is a kWait on this one
};

// A kernel under way. Work is counted in picoseconds x kFullSpeed, so that a change of speed loses nothing.
struct ComputeState {
  static constexpr std::int64_t kFullSpeed = 1000;
  Int128 work_left = 0;
  Instant updated;
  std::int64_t speed = kFullSpeed;
  std::uint32_t version = 0;  // events of older versions are stale
  bool is_running = false;
};

struct RankState {
  std::array<StreamState, kStreamCount> streams;
  ProgramCursor cursor;
  ComputeState compute;
  std::array<std::uint16_t, kTimeClassCount> in_flight = {};  // transfers of this rank that have started and not ended
  std::uint16_t collectives_in_flight = 0;
  bool has_ended = false;  // the program has no more slots

  // Accounting: time since `accounted` belongs to `current`.
  Instant accounted;
  TimeClass current = TimeClass::kBubble;
  std::array<std::int64_t, kTimeClassCount> spent_ps = {};

  // The class of this moment: compute if it computes; else the communication its compute stream waits for, if that is in
  // flight; else any in flight (tp, cp, ep, pp, dp in this order); else bubble.
  [[nodiscard]] TimeClass classify() const {
    if (compute.is_running) return TimeClass::kCompute;
    const StreamState& s = streams[static_cast<std::size_t>(Stream::kCompute)];
    if (!s.queue.is_empty() && s.queue.front().kind == OpKind::kWait) {
      const TimeClass c = time_class(s.queue.front().wait_stream);
      if (in_flight[static_cast<std::size_t>(c)] > 0) return c;
    }
    for (const TimeClass c : {TimeClass::kTp, TimeClass::kCp, TimeClass::kEp, TimeClass::kPp, TimeClass::kDp}) {
      if (in_flight[static_cast<std::size_t>(c)] > 0) return c;
    }
    return TimeClass::kBubble;
  }

  // Call after every change of what classify() reads.
  void account(Instant now) {
    spent_ps[static_cast<std::size_t>(current)] += (now - accounted).picos();
    accounted = now;
    current = classify();
  }
};

}  // namespace lockstep
