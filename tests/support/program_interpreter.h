// SPDX-License-Identifier: Apache-2.0
// Runs a Program without a network, as max-plus algebra: an operation ends at the latest end of what it follows plus its own
// duration; compute takes its kernel's time, a collective or a send takes what the caller says (nothing by default). Small
// enough to be checked by eye, it is the reference for who waits for whom. A rank's next slot is expanded when its compute
// stream has run dry, as the contract of Program says. O(operations x sweeps); for tests only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "workloads/program.h"

namespace lockstep::test {

class ProgramInterpreter {
 public:
  using OpDuration = std::function<std::int64_t(const Op&)>;  // picoseconds, of collectives and sends

  explicit ProgramInterpreter(
      const Program& program, OpDuration duration = [](const Op&) { return std::int64_t{0}; })
      : program_(program), duration_(std::move(duration)), ranks_(program.world_size()) {
    for (std::uint32_t r = 0; r < program.world_size(); ++r) ranks_[r].id = Rank(r);
  }

  // True when every rank reached the end of its program with every operation done.
  bool run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (RankState& r : ranks_) moved |= advance(r);
    }
    return std::all_of(ranks_.begin(), ranks_.end(), [](const RankState& r) { return r.has_ended && r.is_idle(); });
  }

  [[nodiscard]] std::int64_t end_time() const {
    std::int64_t end = 0;
    for (const RankState& r : ranks_) {
      for (const StreamState& s : r.streams) end = std::max(end, s.ends.empty() ? 0 : s.ends.back());
    }
    return end;
  }
  [[nodiscard]] const std::vector<Op>& ops(Rank rank, Stream stream) const {
    return ranks_[rank.index()].streams[static_cast<std::size_t>(stream)].ops;
  }
  // When the i-th operation of a stream ended. PRE: run() got that far.
  [[nodiscard]] std::int64_t end_of(Rank rank, Stream stream, std::size_t i) const {
    return ranks_[rank.index()].streams[static_cast<std::size_t>(stream)].ends[i];
  }
  // Sends without a receive or receives without a send, and collectives some member never joined.
  [[nodiscard]] std::size_t unmatched() const {
    std::size_t n = 0;
    for (const auto& [key, queue] : sent_) n += queue.size();
    for (const auto& [key, c] : collectives_) n += c.arrived.size() == c.size ? 0u : 1u;
    return n;
  }

 private:
  struct StreamState {
    std::vector<Op> ops;
    std::vector<std::int64_t> ends;  // of the operations done
    bool has_joined = false;         // the operation at the head has registered with its collective
    std::int64_t collectives = 0;
  };
  struct RankState : OpSink {
    Rank id;
    ProgramCursor cursor;
    StreamState streams[kStreamCount];
    bool has_ended = false;
    std::map<std::uint32_t, std::int64_t> joined;  // collectives joined per communicator

    void push(Stream s, const Op& op) override { streams[static_cast<std::size_t>(s)].ops.push_back(op); }
    [[nodiscard]] bool is_idle() const {
      return std::all_of(std::begin(streams), std::end(streams),
                         [](const StreamState& s) { return s.ends.size() == s.ops.size(); });
    }
  };
  struct CollectiveState {
    std::map<std::uint32_t, std::int64_t> arrived;  // rank -> time
    std::size_t size = 0;
    Op op;
  };

  bool advance(RankState& r) {
    bool moved = false;
    StreamState& compute = r.streams[static_cast<std::size_t>(Stream::kCompute)];
    while (!r.has_ended && compute.ends.size() == compute.ops.size()) {
      r.has_ended = !program_.expand(r.id, r.cursor, r);
      moved = true;
      check_counts(r);
    }
    for (int s = 0; s < kStreamCount; ++s) {
      while (step(r, static_cast<Stream>(s))) moved = true;
    }
    return moved;
  }

  static void check_counts(const RankState& r) {
    for (int s = 0; s < kStreamCount; ++s) {
      LOCKSTEP_CHECK(r.cursor.pushed[s] == std::ssize(r.streams[s].ops), "stream {} of rank {} counts {} of {}", s,
                     r.id.value(), r.cursor.pushed[s], r.streams[s].ops.size());
    }
  }

  bool step(RankState& r, Stream stream) {
    StreamState& s = r.streams[static_cast<std::size_t>(stream)];
    if (s.ends.size() == s.ops.size()) return false;
    const Op& op = s.ops[s.ends.size()];
    const std::int64_t ready = s.ends.empty() ? 0 : s.ends.back();
    switch (op.kind) {
      case OpKind::kCompute:
        s.ends.push_back(ready + program_.kernels()[op.kernel].time.picos());
        return true;
      case OpKind::kWait: {
        const StreamState& target = r.streams[static_cast<std::size_t>(op.wait_stream)];
        if (std::ssize(target.ends) < op.wait_count) return false;
        const std::int64_t seen = op.wait_count == 0 ? 0 : target.ends[static_cast<std::size_t>(op.wait_count - 1)];
        s.ends.push_back(std::max(ready, seen));
        return true;
      }
      case OpKind::kSend:
        s.ends.push_back(ready + duration_(op));
        sent_[{r.id.value(), op.peer.value(), stream}].push_back({s.ends.back(), op.bytes});
        return true;
      case OpKind::kRecv: {
        auto& queue = sent_[{op.peer.value(), r.id.value(), opposite(stream)}];
        if (queue.empty()) return false;
        LOCKSTEP_CHECK(queue.front().second == op.bytes, "sent {} bytes, {} expected", queue.front().second, op.bytes);
        s.ends.push_back(std::max(ready, queue.front().first));
        queue.pop_front();
        return true;
      }
      case OpKind::kCollective:
        return join(r, s, op, ready, duration_(op));
      case OpKind::kBarrier:
        return join(r, s, op, ready, 0);
    }
    return false;
  }

  bool join(RankState& r, StreamState& s, const Op& op, std::int64_t ready, std::int64_t duration) {
    if (!s.has_joined) {
      CollectiveState& c = collectives_[{op.comm.value(), r.joined[op.comm.value()]}];
      if (c.arrived.empty()) {
        std::vector<Rank> members;
        program_.members(op.comm, members);
        c.size = members.size();
        c.op = op;
      }
      LOCKSTEP_CHECK(c.op.collective == op.collective && c.op.bytes == op.bytes, "rank {} joins another collective",
                     r.id.value());
      c.arrived[r.id.value()] = ready;
      s.has_joined = true;
    }
    const CollectiveState& c = collectives_[{op.comm.value(), r.joined[op.comm.value()]}];
    if (c.arrived.size() < c.size) return false;
    std::int64_t start = 0;
    for (const auto& [rank, time] : c.arrived) start = std::max(start, time);
    s.ends.push_back(start + duration);
    s.has_joined = false;
    ++r.joined[op.comm.value()];
    return true;
  }

  static Stream opposite(Stream recv) { return recv == Stream::kPpRecvPrev ? Stream::kPpSendNext : Stream::kPpSendPrev; }

  const Program& program_;
  OpDuration duration_;
  std::deque<RankState> ranks_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, Stream>, std::deque<std::pair<std::int64_t, std::int64_t>>> sent_;
  std::map<std::pair<std::uint32_t, std::int64_t>, CollectiveState> collectives_;
};

}  // namespace lockstep::test
