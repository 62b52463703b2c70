// SPDX-License-Identifier: Apache-2.0
#include "sim/runtime/repetition.h"

#include <algorithm>

namespace lockstep {
namespace {

constexpr std::size_t kMostCheckpoints = 4;  // laps a period may have, plus one

class StateWriter {
 public:
  explicit StateWriter(std::vector<std::int64_t>& out) : out_(out) {}
  void put(std::int64_t v) { out_.push_back(v); }
  void put(Int128 v) {
    put(static_cast<std::int64_t>(v >> 64));
    put(static_cast<std::int64_t>(static_cast<std::uint64_t>(v)));
  }
  void put(const RoleOp& op, std::int64_t wait_base) {
    put(static_cast<std::int64_t>(op.kind) << 48 | static_cast<std::int64_t>(op.collective) << 40 |
        static_cast<std::int64_t>(op.wait_stream) << 32 | std::int64_t{op.target});
    put(op.kind == OpKind::kWait ? op.amount - wait_base : op.amount);
  }

 private:
  std::vector<std::int64_t>& out_;
};

Int128 work_left(const ComputeState& c, Instant now) {
  return c.is_running ? c.work_left - static_cast<Int128>((now - c.updated).picos()) * c.speed : 0;
}

void write_rank(const RankState& rank, const RoleLog& log, Instant now, StateWriter& out) {
  for (std::size_t i = 0; i < kStreamCount; ++i) {
    const StreamState& s = rank.streams[i];
    out.put(std::int64_t{s.visible} << 32 | std::int64_t{s.waiters} << 1 | (s.is_busy ? 1 : 0));
    for (std::int64_t position = s.completed; position < s.completed + s.visible; ++position) {
      const RoleOp& op = log.op(static_cast<Stream>(i), position);
      out.put(op, rank.streams[static_cast<std::size_t>(op.wait_stream)].completed);
    }
  }
  out.put(work_left(rank.compute, now));
  out.put(rank.compute.is_running ? rank.compute.speed : 0);
  for (const std::uint16_t n : rank.in_flight) out.put(std::int64_t{n});
  out.put(std::int64_t{rank.collectives_in_flight} << 1 | (rank.has_ended ? 1 : 0));
}

void write_activity(const ActivityState& a, StateWriter& out) {
  out.put(std::int64_t{a.arrived} << 32 | std::int64_t{a.stage} << 8 | static_cast<std::int64_t>(a.stream) << 2 |
          (a.is_moving ? 2 : 0) | (a.receiver_waits ? 1 : 0));
  out.put(a.messages_arrived - a.messages_received);
  if (a.arrived == 0) return;
  out.put(static_cast<std::int64_t>(a.collective));
  out.put(a.bytes);
}

}  // namespace

void Repetition::forget() {
  checkpoints_.clear();
  completed_.clear();
}

bool Repetition::look(RunState& state, NetworkModel& network, Instant before) {
  if (has_given_up_) return false;
  Checkpoint now = checkpoint(state, network);
  for (auto then = checkpoints_.rbegin(); then != checkpoints_.rend(); ++then) {
    if (then->state != now.state || !now.network.repeats(then->network)) continue;
    const std::int64_t n = times(state, *then, now, before);
    if (n == 0) continue;
    repeat(state, *then, now, n);
    network.repeat(then->network, now.network, n);
    skipped_ += (now.network.at - then->network.at) * n;
    forget();
    return true;
  }
  if (checkpoints_.size() == kMostCheckpoints) forget_oldest();
  now.first_completed = completed_.size();
  checkpoints_.push_back(std::move(now));
  return false;
}

void Repetition::give_up() {
  has_given_up_ = true;
  checkpoints_.clear();
  completed_ = {};
}

void Repetition::forget_oldest() {
  checkpoints_.pop_front();
  const std::size_t gone = checkpoints_.front().first_completed;
  completed_.erase(completed_.begin(), completed_.begin() + static_cast<std::ptrdiff_t>(gone));
  for (Checkpoint& c : checkpoints_) c.first_completed -= gone;
}

Repetition::Checkpoint Repetition::checkpoint(RunState& state, const NetworkModel& network) const {
  Checkpoint c;
  c.totals = state.totals;
  network.save(state.now, c.network);
  StateWriter out(c.state);
  c.ranks.reserve(state.ranks.size());
  for (RankState& rank : state.ranks) {
    rank.account(state.now);
    write_rank(rank, state.logs[rank.log], state.now, out);
    RankMark& mark = c.ranks.emplace_back();
    mark.slot = rank.slot;
    mark.cursor = state.logs[rank.log].cursor(rank.slot);
    mark.spent_ps = rank.spent_ps;
    for (std::size_t s = 0; s < kStreamCount; ++s) mark.completed[s] = rank.streams[s].completed;
  }
  for (const ActivityState& a : state.activities) write_activity(a, out);
  return c;
}

bool Repetition::moved_equally(const RankMark& then, const RankMark& now, const RankMark& other_then,
                               const RankMark& other_now) {
  bool equal = now.slot - then.slot == other_now.slot - other_then.slot;
  for (std::size_t s = 0; s < kStreamCount; ++s) {
    equal &= now.cursor.pushed[s] - then.cursor.pushed[s] == other_now.cursor.pushed[s] - other_then.cursor.pushed[s];
  }
  for (std::size_t i = 0; i < std::size(now.cursor.scratch); ++i) {
    equal &= now.cursor.scratch[i] - then.cursor.scratch[i] == other_now.cursor.scratch[i] - other_then.cursor.scratch[i];
  }
  return equal;
}

// How often the span comes again before then, within the range of time.
std::int64_t Repetition::times(const RunState& state, const Checkpoint& then, const Checkpoint& now, Instant before) const {
  const std::int64_t period = (now.network.at - then.network.at).picos();
  std::int64_t n = (before - now.network.at).picos() / std::max<std::int64_t>(period, 1) - 1;
  // Ranks of a role share a log, which moves on as a whole: they must have gone equally far.
  std::vector<const RankMark*> firsts(2 * state.logs.size(), nullptr);
  for (std::size_t r = 0; r < now.ranks.size() && n > 0; ++r) {
    const RankMark*& then_first = firsts[2 * state.ranks[r].log];
    const RankMark*& now_first = firsts[2 * state.ranks[r].log + 1];
    if (then_first == nullptr) {
      then_first = &then.ranks[r];
      now_first = &now.ranks[r];
    } else if (!moved_equally(then.ranks[r], now.ranks[r], *then_first, *now_first)) {
      return 0;
    }
    n = std::min(n, program_.repetitions(job_.ranks()[r].representative, then.ranks[r].cursor, now.ranks[r].cursor));
  }
  return std::max<std::int64_t>(n, 0);
}

void Repetition::repeat(RunState& state, const Checkpoint& then, const Checkpoint& now, std::int64_t n) const {
  const Duration period = now.network.at - then.network.at;
  const Duration shift = period * n;
  std::vector<bool> has_moved(state.logs.size(), false);
  for (std::size_t r = 0; r < state.ranks.size(); ++r) {
    const std::uint32_t log = state.ranks[r].log;
    if (!has_moved[log]) {
      state.logs[log].move_on(now.ranks[r].slot - then.ranks[r].slot, then.ranks[r].cursor, now.ranks[r].cursor, n);
      has_moved[log] = true;
    }
    repeat_rank(state.ranks[r], then.ranks[r], now.ranks[r], now.network.at, shift, n);
  }
  RunTotals& t = state.totals;
  grow(t.events, then.totals.events, now.totals.events, n);
  grow(t.collectives, then.totals.collectives, now.totals.collectives, n);
  grow(t.messages, then.totals.messages, now.totals.messages, n);
  for (std::size_t i = then.first_completed; i < completed_.size(); ++i) {
    const CompletedOp& op = completed_[i];
    const auto s = static_cast<std::size_t>(op.stream);
    const std::int64_t step = now.ranks[op.rank_class].completed[s] - then.ranks[op.rank_class].completed[s];
    const auto size = static_cast<std::uint64_t>(job_.ranks()[op.rank_class].size);
    for (std::int64_t k = 1; k <= n; ++k) {
      t.fingerprint += size * operation_hash(op.stream, op.position + k * step, op.bytes, op.tick + period * k);
    }
  }
  state.now = state.now + shift;
  state.end = state.end + shift;
  for (Instant& end : state.job_ends) end = end + shift;
}

void Repetition::repeat_rank(RankState& rank, const RankMark& then, const RankMark& now, Instant at, Duration shift,
                             std::int64_t n) const {
  grow(rank.slot, then.slot, now.slot, n);
  for (std::size_t s = 0; s < kStreamCount; ++s) {
    grow(rank.streams[s].completed, then.completed[s], now.completed[s], n);
  }
  for (std::size_t c = 0; c < kTimeClassCount; ++c) grow(rank.spent_ps[c], then.spent_ps[c], now.spent_ps[c], n);
  rank.compute.work_left = work_left(rank.compute, at);
  rank.compute.updated = at + shift;
  rank.accounted = rank.accounted + shift;
}

}  // namespace lockstep
