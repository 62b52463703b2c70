// SPDX-License-Identifier: Apache-2.0
// What the ranks of one role push, generated once and read by all of them: operations name communicators and peers by port number
// (Program::ports), which is the same for all ranks of a role. A rank reads at its own pace: it is at a slot of the program, sees the
// operations up to the end of that slot, and has completed some of them on every stream.
//
// Kept is what some rank may still read; forget_before() drops the rest. Cost: one expansion per role and slot, whatever the number of ranks.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/wide.h"
#include "workloads/program.h"

namespace lockstep {

// An operation as all ranks of a role see it.
struct RoleOp {
  OpKind kind = OpKind::kCompute;
  CollectiveKind collective = CollectiveKind::kAllReduce;
  Stream wait_stream = Stream::kCompute;
  std::uint32_t target = 0;  // kCompute: kernel; kCollective, kSend, kRecv: port number
  std::int64_t amount = 0;   // bytes; kWait: operations to wait for

  [[nodiscard]] std::int64_t bytes() const { return kind == OpKind::kWait ? 0 : amount; }
  bool operator==(const RoleOp&) const = default;
};

class RoleLog final : private OpSink {
 public:
  // `representative`: any rank of the role.
  RoleLog(const Program& program, Rank representative);

  // PRE: not forgotten, and before the end of a slot that was reached.
  [[nodiscard]] const RoleOp& op(Stream s, std::int64_t position) const {
    return rings_[static_cast<std::size_t>(s)].at(position);
  }
  // Generates slots up to `slot`; false when the program ends before. Slot 0 is the beginning, without operations.
  [[nodiscard]] bool reach(std::int64_t slot);
  // After the slot: how many operations were pushed to each stream, and what else the generator remembers.
  [[nodiscard]] const ProgramCursor& cursor(std::int64_t slot) const {
    return cursors_[static_cast<std::size_t>(slot - first_slot_)];
  }
  // Worth asking what its ranks still read.
  [[nodiscard]] bool is_long() const { return cursors_.size() > limit_; }
  // Slots before `slot`, and operations before `positions` (by stream), are not read any more.
  void forget_before(std::int64_t slot, const std::int64_t* positions);
  // Everything kept stands for what comes `times` laps later; a lap takes `slots` slots and moves cursors from `then` to `now`.
  void move_on(std::int64_t slots, const ProgramCursor& then, const ProgramCursor& now, std::int64_t times);

 private:
  // Operations of a stream, [begin, end) in a power of two of places.
  class Ring {
   public:
    [[nodiscard]] const RoleOp& at(std::int64_t position) const { return places_[static_cast<std::size_t>(position) & mask()]; }
    void push(const RoleOp& op);
    void forget_before(std::int64_t position);
    void move_on(std::int64_t by);
    template <class Change>
    void change_all(const Change& change) {
      for (std::int64_t i = begin_; i < end_; ++i) change(places_[static_cast<std::size_t>(i) & mask()]);
    }

   private:
    [[nodiscard]] std::size_t mask() const { return places_.size() - 1; }
    void replace(std::vector<RoleOp> places, std::int64_t begin);
    std::vector<RoleOp> places_ = std::vector<RoleOp>(16);
    std::int64_t begin_ = 0;
    std::int64_t end_ = 0;
  };

  void push(Stream s, const Op& op) override;
  [[nodiscard]] std::uint32_t port_of(std::uint64_t key) const;

  const Program* program_;
  Rank representative_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> ports_;  // key, number; sorted
  std::array<Ring, kStreamCount> rings_;
  std::deque<ProgramCursor> cursors_;  // of slots from first_slot_ on
  std::int64_t first_slot_ = 0;
  bool has_ended_ = false;
  static constexpr std::size_t kShort = 256;
  std::size_t limit_ = kShort;  // slots; twice what the last look left
};

// A count that grew from `then` to `now` does so `times` more. Refuses to overflow.
inline void grow(std::int64_t& total, std::int64_t then, std::int64_t now, std::int64_t times) {
  total = checked_add(total, checked_mul(checked_sub(now, then), times));
}

}  // namespace lockstep
