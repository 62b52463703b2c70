// SPDX-License-Identifier: Apache-2.0
// A Program written out by hand: for each rank a list of (stream, operation), given to the runtime as one slot.
#pragma once

#include <utility>
#include <vector>

#include "workloads/program.h"

namespace lockstep::test {

class ScriptProgram final : public Program {
 public:
  explicit ScriptProgram(std::uint32_t ranks) : script_(ranks) {}

  KernelId kernel(Duration time) {
    table_.kernels.push_back({.name = "kernel", .time = time});
    return KernelId::from_index(table_.kernels.size() - 1);
  }
  // `host` of `time` is what starting it adds.
  KernelId started_by_host(Duration time, Duration host) {
    table_.kernels.push_back({.name = "kernel", .time = time, .host = host});
    return KernelId::from_index(table_.kernels.size() - 1);
  }
  CommId comm(std::vector<Rank> members) {
    comms_.push_back(std::move(members));
    return CommId::from_index(comms_.size() - 1);
  }
  CommId comm_of_all() {
    std::vector<Rank> all;
    for (std::uint32_t r = 0; r < script_.size(); ++r) all.push_back(Rank(r));
    return comm(std::move(all));
  }

  void compute(std::uint32_t rank, KernelId k) { add(rank, Stream::kCompute, {.kind = OpKind::kCompute, .kernel = k}); }
  void collective(std::uint32_t rank, Stream s, CollectiveKind kind, CommId comm, std::int64_t bytes) {
    add(rank, s, {.kind = OpKind::kCollective, .collective = kind, .comm = comm, .bytes = bytes});
  }
  void wait(std::uint32_t rank, Stream s, Stream on, std::int64_t count) {
    add(rank, s, {.kind = OpKind::kWait, .wait_stream = on, .wait_count = count});
  }
  void send(std::uint32_t rank, std::uint32_t to, std::int64_t bytes) {
    add(rank, Stream::kPpSendNext, {.kind = OpKind::kSend, .peer = Rank(to), .bytes = bytes});
  }
  void receive(std::uint32_t rank, std::uint32_t from, std::int64_t bytes) {
    add(rank, Stream::kPpRecvPrev, {.kind = OpKind::kRecv, .peer = Rank(from), .bytes = bytes});
  }
  void add(std::uint32_t rank, Stream s, const Op& op) { script_[rank].emplace_back(s, op); }

  [[nodiscard]] std::uint32_t world_size() const override { return static_cast<std::uint32_t>(script_.size()); }
  [[nodiscard]] const KernelTable& kernels() const override { return table_; }
  bool expand(Rank rank, ProgramCursor& cursor, OpSink& sink) const override {
    const auto& ops = script_[rank.index()];
    if (static_cast<std::size_t>(cursor.slot) == ops.size()) return false;
    while (static_cast<std::size_t>(cursor.slot) < ops.size()) {
      const auto& [stream, op] = ops[static_cast<std::size_t>(cursor.slot)];
      ++cursor.slot;
      ++cursor.pushed[static_cast<std::size_t>(stream)];
      sink.push(stream, op);
    }
    return true;
  }
  void members(CommId comm, std::vector<Rank>& out) const override { out = comms_[comm.index()]; }
  [[nodiscard]] std::uint32_t communicator_count() const override { return static_cast<std::uint32_t>(comms_.size()); }
  [[nodiscard]] std::uint32_t collective_kinds(CommId) const override { return kinds_; }
  void limit_kinds(CollectiveKind only) { kinds_ = 1u << static_cast<unsigned>(only); }
  [[nodiscard]] Algorithm algorithm(CommId) const override { return algorithm_; }
  void run_by(Algorithm algorithm) { algorithm_ = algorithm; }
  // Every rank has a script of its own.
  [[nodiscard]] std::uint32_t role(Rank rank) const override { return rank.value(); }
  void ports(Rank rank, std::vector<Port>& out) const override {
    const auto add = [&out](const Port& p) {
      for (const Port& known : out) {
        if (known.kind == p.kind && known.stream == p.stream && known.comm == p.comm && known.peer == p.peer) return;
      }
      out.push_back(p);
    };
    for (const auto& [stream, op] : script_[rank.index()]) {
      if (op.kind == OpKind::kCollective) add({.kind = Port::Kind::kCommunicator, .comm = op.comm});
      if (op.kind == OpKind::kSend) add({.kind = Port::Kind::kSend, .stream = stream, .peer = op.peer});
      if (op.kind == OpKind::kRecv) add({.kind = Port::Kind::kReceive, .stream = stream, .peer = op.peer});
    }
  }

 private:
  std::vector<std::vector<std::pair<Stream, Op>>> script_;
  std::vector<std::vector<Rank>> comms_;
  KernelTable table_;
  Algorithm algorithm_ = Algorithm::kRing;
  std::uint32_t kinds_ = ~0u;
};

}  // namespace lockstep::test
