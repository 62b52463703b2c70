// SPDX-License-Identifier: Apache-2.0
// LENGTH: one state machine over shared state: what starts, ends and waits for what reads best in one place.
#include "sim/runtime/runtime.h"

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/later.h"
#include "sim/runtime/activity_transfer.h"
#include "sim/runtime/fault_follower.h"
#include "sim/runtime/repetition.h"
#include "sim/runtime/stall_report.h"

namespace lockstep {
namespace {

// A kernel of `rank` ends, unless its speed has changed since (another version).
struct KernelEnd {
  std::uint32_t rank;
  std::uint32_t version;
};

// One word: it is read back right after it was written, and a processor forwards a load from a store of the same width only (a twentieth of a
// sweep's time).
class ReadyStream {
 public:
  ReadyStream(std::uint32_t rank, Stream stream) : word_(std::uint64_t{rank} << 8 | static_cast<std::uint64_t>(stream)) {}
  [[nodiscard]] std::uint32_t rank() const { return static_cast<std::uint32_t>(word_ >> 8); }
  [[nodiscard]] Stream stream() const { return static_cast<Stream>(word_ & 0xff); }

 private:
  std::uint64_t word_;
};

class Runtime {
 public:
  explicit Runtime(const RuntimeInput& input)
      : in_(input),
        repetition_(input.program, input.job),
        faults_(in_),
        events_(new_queue()),
        slow_speed_(static_cast<std::int64_t>(static_cast<double>(ComputeState::kFullSpeed) / (1.0 + input.comm_slowdown))) {
    LOCKSTEP_CHECK(input.job.total_ranks() == input.program.world_size(), "a job of {} ranks for a program of {}",
                   input.job.total_ranks(), input.program.world_size());
    state_.ranks.resize(input.job.ranks().size());
    open_logs(state_, input.program, input.job);
    state_.activities.resize(input.job.activities().size());
    LOCKSTEP_CHECK(slow_speed_ > 0, "a compute slow-down of {}", input.comm_slowdown);
  }

  RuntimeResult run() {
    faults_.follow(state_.now, state_.activities, repetition_);
    for (std::uint32_t r = 0; r < ranks().size(); ++r) ready_.emplace_back(r, Stream::kCompute);
    drain();
    in_.network.settle(state_.now);
    while (step()) {
    }
    return finish();
  }

 private:
  [[nodiscard]] StreamState& stream(std::uint32_t r, Stream s) { return ranks()[r].streams[static_cast<std::size_t>(s)]; }
  [[nodiscard]] std::vector<RankState>& ranks() { return state_.ranks; }
  [[nodiscard]] const RankClass& rank_class(std::uint32_t r) const { return in_.job.ranks()[r]; }

  // One instant: everything due at the earliest time, then one re-solve. False when nothing is left to happen.
  bool step() {
    const Instant next = faults_.next_of_all(std::min(events_.next_time(), in_.network.next_event()));
    if (next.is_never()) return false;
    LOCKSTEP_CHECK(next >= state_.now, "time runs backwards: {} after {} ps", next.picos(), state_.now.picos());
    if ((++steps_ & 1023u) == 0 && in_.on_progress) in_.on_progress(state_.now, state_.totals.events);
    state_.now = next;
    faults_.follow(next, state_.activities, repetition_);
    completions_.clear();
    in_.network.advance(state_.now, completions_);
    for (std::size_t i = completions_.size(); i > 1; --i) std::swap(completions_[i - 1], completions_[tie_among(i)]);
    for (const Completion& c : completions_) {
      end_transfer(c);
      if (!in_.tie_seed) drain();  // while its ranks are in the cache; with all others where ties are shuffled
    }
    drain();
    while (events_.next_time() == state_.now) {
      const KernelEnd e = events_.pop().payload;
      if (ranks()[e.rank].compute.is_running && ranks()[e.rank].compute.version == e.version) end_compute(e.rank);
      drain();
    }
    in_.network.settle(state_.now);
    if (is_new_lap_) look_for_repetition();
    return true;
  }

  void drain() {
    while (!ready_.empty()) {
      if (in_.tie_seed) std::swap(ready_[tie_among(ready_.size())], ready_.back());
      const ReadyStream next = ready_.back();
      ready_.pop_back();
      progress(next.rank(), next.stream());
    }
  }

  // Which of n equals comes first: the last, unless ties are shuffled.
  std::size_t tie_among(std::size_t n) {
    if (!in_.tie_seed) return n - 1;
    return static_cast<std::size_t>(random_below(n, *in_.tie_seed, RandomStream::kTieShuffle, tie_draws_++, 1));
  }

  // Runs a stream until its front operation takes time or has to wait.
  void progress(std::uint32_t r, Stream s) {
    StreamState& st = stream(r, s);
    while (!st.is_busy) {
      if (st.is_empty()) {
        if (s != Stream::kCompute || !expand(r)) return;
        continue;
      }
      // WHY a copy: expanding another rank may move the log.
      const RoleOp op = front(r, s);
      if (op.kind == OpKind::kWait) {
        StreamState& target = stream(r, op.wait_stream);
        if (target.completed < op.amount) {
          target.waiters |= static_cast<std::uint16_t>(1u << static_cast<unsigned>(s));
          if (s == Stream::kCompute) hold_compute(r, op.wait_stream);
          return;
        }
        complete_front(r, s);
        continue;
      }
      st.is_busy = true;
      start(r, s, op);
    }
  }

  void hold_compute(std::uint32_t r, Stream by) {
    RankState& rank = ranks()[r];
    rank.is_compute_held = true;
    rank.held_by = by;
    rank.account(state_.now);
  }

  void start(std::uint32_t r, Stream s, const RoleOp& op) {
    switch (op.kind) {
      case OpKind::kCompute:
        start_compute(r, op);
        return;
      case OpKind::kCollective:
      case OpKind::kBarrier:
        arrive(r, s, op);
        return;
      case OpKind::kSend:
        start_send(r, s, op);
        return;
      case OpKind::kRecv:
        start_receive(r, s, op);
        return;
      case OpKind::kWait:
        break;
    }
    LOCKSTEP_CHECK(false, "operation {} cannot start", static_cast<int>(op.kind));
  }

  bool expand(std::uint32_t r) {
    RankState& rank = ranks()[r];
    if (rank.has_ended) return false;
    RoleLog& log = state_.logs[rank.log];
    if (log.is_long()) shorten(state_, rank.log);
    if (!log.reach(rank.slot + 1)) {
      rank.has_ended = true;
      rank.account(state_.now);
      return false;
    }
    const ProgramCursor& cursor = log.cursor(++rank.slot);
    for (unsigned s = 0; s < kStreamCount; ++s) {
      StreamState& st = rank.streams[s];
      const std::int64_t visible = cursor.pushed[s] - st.completed;
      if (visible == st.visible) continue;
      LOCKSTEP_CHECK(visible <= std::numeric_limits<std::uint32_t>::max(), "{} operations wait on one stream", visible);
      st.visible = static_cast<std::uint32_t>(visible);
      if (s > 0) ready_.emplace_back(r, static_cast<Stream>(s));
    }
    note_lap(r, cursor);
    return true;
  }

  [[nodiscard]] const RoleOp& front(std::uint32_t r, Stream s) {
    return state_.logs[ranks()[r].log].op(s, stream(r, s).completed);
  }

  void note_lap(std::uint32_t r, const ProgramCursor& cursor) {
    if (r != 0 || !in_.skips_repetition) return;
    const std::int64_t lap = in_.program.lap(rank_class(r).representative, cursor);
    is_new_lap_ |= lap != lap_;
    lap_ = lap;
  }

  void look_for_repetition() {
    is_new_lap_ = false;
    if (!repetition_.look(state_, in_.network, faults_.next())) return;
    events_ = new_queue();
    for (std::uint32_t r = 0; r < ranks().size(); ++r) {
      if (ranks()[r].compute.is_running) schedule_compute(r);
    }
  }

  [[nodiscard]] EventQueue<KernelEnd> new_queue() const {
    return in_.tie_seed ? EventQueue<KernelEnd>::shuffled(*in_.tie_seed) : EventQueue<KernelEnd>();
  }

  void complete_front(std::uint32_t r, Stream s) {
    StreamState& st = stream(r, s);
    const std::int64_t bytes = front(r, s).bytes();
    const std::int64_t equals = rank_class(r).size;
    state_.totals.fingerprint += static_cast<std::uint64_t>(equals) * operation_hash(s, st.completed, bytes, state_.now);
    repetition_.record(r, s, st.completed, bytes, state_.now);
    state_.totals.events += equals;
    state_.end = state_.job_ends[ranks()[r].job] = state_.now;
    if (s == Stream::kCompute) ranks()[r].is_compute_held = false;
    st.is_busy = false;
    ++st.completed;
    --st.visible;
    for (std::uint16_t waiting = st.waiters; waiting != 0; waiting = static_cast<std::uint16_t>(waiting & (waiting - 1))) {
      ready_.emplace_back(r, static_cast<Stream>(__builtin_ctz(waiting)));
    }
    st.waiters = 0;
  }

  void complete(std::uint32_t r, Stream s) {
    complete_front(r, s);
    ready_.emplace_back(r, s);
  }

  void start_compute(std::uint32_t r, const RoleOp& op) {
    ComputeState& c = ranks()[r].compute;
    c.work_left = work(r, kernel_of(op), &Kernel::time);
    c.updated = state_.now;
    c.is_running = true;
    c.speed = speed_of(ranks()[r]);
    ranks()[r].account(state_.now);
    schedule_compute(r);
  }

  void schedule_compute(std::uint32_t r) {
    ComputeState& c = ranks()[r].compute;
    const Instant end = later(state_.now, ceil_div(c.work_left, Int128{c.speed}));
    events_.push(end, EventClass::kEnd, {.rank = r, .version = ++c.version});
  }

  void end_compute(std::uint32_t r) {
    RankState& rank = ranks()[r];
    const Kernel& kernel = kernel_of(front(r, Stream::kCompute));
    rank.compute.is_running = false;
    complete(r, Stream::kCompute);
    rank.account(state_.now);
    rank.charge_host(work(r, kernel, &Kernel::host) / ComputeState::kFullSpeed);
  }

  [[nodiscard]] const Kernel& kernel_of(const RoleOp& op) const { return in_.program.kernels()[KernelId(op.target)]; }

  // A slow-down of s per mille makes a kernel take (1000 + s)/1000 of its time.
  [[nodiscard]] Int128 work(std::uint32_t r, const Kernel& kernel, Duration Kernel::*time) const {
    return Int128{(kernel.*time).picos()} * (ComputeState::kFullSpeed + (kernel.is_pause ? 0 : rank_class(r).slowdown));
  }

  [[nodiscard]] std::int64_t speed_of(const RankState& rank) const {
    return rank.collectives_in_flight > 0 ? slow_speed_ : ComputeState::kFullSpeed;
  }

  void update_speed(std::uint32_t r) {
    RankState& rank = ranks()[r];
    ComputeState& c = rank.compute;
    const std::int64_t speed = speed_of(rank);
    if (!c.is_running || speed == c.speed) return;
    const Int128 done = static_cast<Int128>((state_.now - c.updated).picos()) * c.speed;
    c.work_left = done < c.work_left ? c.work_left - done : 0;
    c.updated = state_.now;
    c.speed = speed;
    schedule_compute(r);
  }

  void add_in_flight(std::uint32_t r, Stream s, int change, bool is_collective) {
    RankState& rank = ranks()[r];
    std::uint16_t& count = rank.in_flight[static_cast<std::size_t>(time_class(s))];
    count = static_cast<std::uint16_t>(count + change);
    if (is_collective) {
      rank.collectives_in_flight = static_cast<std::uint16_t>(rank.collectives_in_flight + change);
      update_speed(r);
    }
    rank.account(state_.now);
  }

  void arrive(std::uint32_t r, Stream s, const RoleOp& op) {
    const ReducedPort& port = in_.job.port(r, op.target);
    const ActivityClass& group = in_.job.activities()[port.activity];
    ActivityState& state = state_.activities[port.activity];
    if (state.arrived == 0) {
      state.collective = op.collective;
      state.bytes = op.amount;
      state.stream = s;
    } else if (state.collective != op.collective || state.bytes != op.amount || state.stream != s) {
      throw_mismatch(in_.program, rank_class(r).representative, op, state);
    }
    state.arrived += port.participants;
    const PlacedCommunicator& comm = *group.communicator;
    if (state.arrived < comm.size) return;
    state_.totals.collectives += group.size;
    if (comm.size == 1 || op.kind == OpKind::kBarrier) {
      state.arrived = 0;
      for (const std::uint32_t m : group.members) complete(m, s);
      return;
    }
    LOCKSTEP_CHECK((comm.kinds >> static_cast<unsigned>(op.collective) & 1u) != 0, "rank {}: port {} was not said to run {}",
                   rank_class(r).representative.value(), op.target, to_text(op.collective));
    for (const std::uint32_t m : group.members) add_in_flight(m, s, +1, true);
    start_stage(port.activity);
  }

  void start_stage(std::uint32_t activity) {
    const ActivityClass& group = in_.job.activities()[activity];
    start_transfer(activity, stage_transfer(group, state_.activities[activity], in_.tunings, faults_.state(), lowered_));
  }

  void end_stage(std::uint32_t activity) {
    ActivityState& state = state_.activities[activity];
    if (++state.stage < state.stage_count) return start_stage(activity);
    state.stage = 0;
    state.arrived = 0;
    const Stream s = state.stream;
    for (const std::uint32_t m : in_.job.activities()[activity].members) {
      add_in_flight(m, s, -1, true);
      complete(m, s);
    }
  }

  void start_send(std::uint32_t r, Stream s, const RoleOp& op) {
    const std::uint32_t activity = in_.job.port(r, op.target).activity;
    const ActivityClass& group = in_.job.activities()[activity];
    state_.totals.messages += group.size;
    add_in_flight(group.sender, s, +1, false);
    add_in_flight(group.receiver, s, +1, false);
    start_transfer(activity, message_transfer(group, op.amount, in_.message_weight, in_.tunings[0], faults_.state()));
  }

  void start_receive(std::uint32_t r, Stream s, const RoleOp& op) {
    ActivityState& state = state_.activities[in_.job.port(r, op.target).activity];
    if (state.messages_arrived > state.messages_received) {
      ++state.messages_received;
      complete(r, s);
    } else {
      state.receiver_waits = true;
    }
  }

  void end_message(std::uint32_t activity) {
    const ActivityClass& group = in_.job.activities()[activity];
    ActivityState& state = state_.activities[activity];
    const Stream s = group.channel->send_stream;
    add_in_flight(group.sender, s, -1, false);
    add_in_flight(group.receiver, s, -1, false);
    complete(group.sender, s);
    ++state.messages_arrived;
    if (!state.receiver_waits) return;
    state.receiver_waits = false;
    ++state.messages_received;
    complete(group.receiver, receiving_end(s));
  }

  // The activity is the token: it has one transfer at a time.
  void start_transfer(std::uint32_t activity, TransferSpec spec) {
    spec.token = activity;
    state_.activities[activity].is_moving = true;
    in_.network.start(state_.now, spec);
  }

  void end_transfer(const Completion& c) {
    const auto activity = static_cast<std::uint32_t>(c.token);
    const ActivityClass& group = in_.job.activities()[activity];
    LOCKSTEP_CHECK(state_.activities[activity].is_moving, "a transfer of activity {} completes twice", activity);
    state_.activities[activity].is_moving = false;
    state_.totals.events += group.size;
    if (group.communicator != nullptr) return end_stage(activity);
    end_message(activity);
  }

  [[nodiscard]] RuntimeResult finish() {
    throw_if_stalled(in_.program, in_.job, state_, in_.network.in_flight(), in_.network.describe_pending(in_.link_name));
    in_.network.finish(state_.now);
    return {.step_time = state_.end - Instant(),
            .jobs = job_times(state_, in_.job),
            .totals = state_.totals,
            .skipped = repetition_.skipped(),
            .faults = faults_.effects(state_.end)};
  }

  RuntimeInput in_;
  RunState state_;
  Repetition repetition_;
  FaultFollower faults_;
  EventQueue<KernelEnd> events_;
  std::int64_t slow_speed_;
  std::uint64_t steps_ = 0;
  std::uint64_t tie_draws_ = 0;
  std::vector<ReadyStream> ready_;
  std::vector<Completion> completions_;
  LoweredCollective lowered_;
  std::int64_t lap_ = 0;
  bool is_new_lap_ = false;
};

}  // namespace

RuntimeResult run_program(const RuntimeInput& input) { return Runtime(input).run(); }

}  // namespace lockstep
