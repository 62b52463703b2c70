// SPDX-License-Identifier: Apache-2.0
#include "sim/runtime/role_log.h"

#include <algorithm>

namespace lockstep {
namespace {

std::uint64_t key_of(CommId comm) { return comm.value(); }
std::uint64_t key_of(Stream stream, Rank peer) { return (static_cast<std::uint64_t>(stream) + 1) << 32 | peer.value(); }

void move_cursor_on(ProgramCursor& cursor, const ProgramCursor& then, const ProgramCursor& now, std::int64_t times) {
  grow(cursor.slot, then.slot, now.slot, times);
  for (std::size_t s = 0; s < kStreamCount; ++s) grow(cursor.pushed[s], then.pushed[s], now.pushed[s], times);
  for (std::size_t i = 0; i < std::size(cursor.scratch); ++i) {
    grow(cursor.scratch[i], then.scratch[i], now.scratch[i], times);
  }
}

}  // namespace

void RoleLog::Ring::push(const RoleOp& op) {
  if (static_cast<std::size_t>(end_ - begin_) == places_.size()) replace(std::vector<RoleOp>(2 * places_.size()), begin_);
  places_[static_cast<std::size_t>(end_++) & mask()] = op;
}

void RoleLog::Ring::forget_before(std::int64_t position) { begin_ = std::clamp(position, begin_, end_); }

void RoleLog::Ring::move_on(std::int64_t by) { replace(std::vector<RoleOp>(places_.size()), begin_ + by); }

void RoleLog::Ring::replace(std::vector<RoleOp> places, std::int64_t begin) {
  const std::int64_t end = begin + end_ - begin_;
  for (std::int64_t i = begin; i < end; ++i) {
    places[static_cast<std::size_t>(i) & (places.size() - 1)] = at(begin_ + i - begin);
  }
  places_ = std::move(places);
  begin_ = begin;
  end_ = end;
}

RoleLog::RoleLog(const Program& program, Rank representative)
    : program_(&program), representative_(representative), cursors_(1) {
  std::vector<Port> ports;
  program.ports(representative, ports);
  for (std::uint32_t i = 0; i < ports.size(); ++i) {
    const Port& p = ports[i];
    ports_.emplace_back(p.kind == Port::Kind::kCommunicator ? key_of(p.comm) : key_of(p.stream, p.peer), i);
  }
  std::sort(ports_.begin(), ports_.end());
}

std::uint32_t RoleLog::port_of(std::uint64_t key) const {
  const auto it = std::lower_bound(ports_.begin(), ports_.end(), std::pair(key, std::uint32_t{0}));
  LOCKSTEP_CHECK(it != ports_.end() && it->first == key, "the program of rank {} names {:#x}, which its ports do not",
                 representative_.value(), key);
  return it->second;
}

void RoleLog::push(Stream s, const Op& op) {
  RoleOp out{.kind = op.kind, .collective = op.collective, .wait_stream = op.wait_stream, .amount = op.bytes};
  switch (op.kind) {
    case OpKind::kCompute:
      out.target = op.kernel.value();
      break;
    case OpKind::kCollective:
    case OpKind::kBarrier:
      out.target = port_of(key_of(op.comm));
      break;
    case OpKind::kSend:
    case OpKind::kRecv:
      out.target = port_of(key_of(s, op.peer));
      break;
    case OpKind::kWait:
      out.amount = op.wait_count;
      break;
  }
  rings_[static_cast<std::size_t>(s)].push(out);
}

bool RoleLog::reach(std::int64_t slot) {
  while (first_slot_ + std::ssize(cursors_) <= slot) {
    if (has_ended_) return false;
    ProgramCursor next = cursors_.back();
    if (!program_->expand(representative_, next, *this)) {
      has_ended_ = true;
      return false;
    }
    cursors_.push_back(next);
  }
  return true;
}

void RoleLog::forget_before(std::int64_t slot, const std::int64_t* positions) {
  while (first_slot_ < slot && cursors_.size() > 1) {
    cursors_.pop_front();
    ++first_slot_;
  }
  for (std::size_t s = 0; s < kStreamCount; ++s) rings_[s].forget_before(positions[s]);
  limit_ = std::max(kShort, 2 * cursors_.size());
}

void RoleLog::move_on(std::int64_t slots, const ProgramCursor& then, const ProgramCursor& now, std::int64_t times) {
  first_slot_ = checked_add(first_slot_, checked_mul(slots, times));
  for (ProgramCursor& c : cursors_) move_cursor_on(c, then, now, times);
  for (std::size_t s = 0; s < kStreamCount; ++s) {
    rings_[s].change_all([&](RoleOp& op) {
      const auto target = static_cast<std::size_t>(op.wait_stream);
      if (op.kind == OpKind::kWait) grow(op.amount, then.pushed[target], now.pushed[target], times);
    });
    rings_[s].move_on(checked_mul(now.pushed[s] - then.pushed[s], times));
  }
}

}  // namespace lockstep
