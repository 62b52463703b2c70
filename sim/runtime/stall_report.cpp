// SPDX-License-Identifier: Apache-2.0
#include "sim/runtime/stall_report.h"

#include <string>

#include "base/check.h"

namespace lockstep {
namespace {

constexpr const char* kStreamName[kStreamCount] = {"compute",      "tp",           "cp",           "ep",
                                                   "dp-gather",    "dp-reduce",    "pp-send-next", "pp-recv-prev",
                                                   "pp-send-prev", "pp-recv-next", "tie",          "dp-replicate"};

std::string describe(const RoleOp& op, const std::vector<Port>& ports) {
  switch (op.kind) {
    case OpKind::kCompute:
      // Nothing else stops a kernel once it has begun.
      return fmt::format("kernel {}, which ends beyond the range of time (about 106 days)", op.target);
    case OpKind::kCollective:
      return fmt::format("{} of {} bytes on communicator {}", to_text(op.collective), op.amount, ports[op.target].comm.value());
    case OpKind::kSend:
      return fmt::format("send of {} bytes to rank {}", op.amount, ports[op.target].peer.value());
    case OpKind::kRecv:
      return fmt::format("receive of {} bytes from rank {}", op.amount, ports[op.target].peer.value());
    case OpKind::kBarrier:
      return "the other ranks of its job at the end of a step";
    case OpKind::kWait:
      return fmt::format("operation {} of stream {}", op.amount, kStreamName[static_cast<std::size_t>(op.wait_stream)]);
  }
  return "?";
}

std::string name_of(const RankClass& c) {
  if (c.size == 1) return fmt::format("rank {}", c.representative.value());
  return fmt::format("rank {} (and {} that do the same)", c.representative.value(), c.size - 1);
}

}  // namespace

void throw_mismatch(const Program& program, Rank rank, const RoleOp& op, const ActivityState& assembled) {
  std::vector<Port> ports;
  program.ports(rank, ports);
  throw SimulationError(fmt::format("rank {} calls {} of {} bytes on communicator {} where another member calls {} of {} bytes",
                                    rank.value(), to_text(op.collective), op.amount, ports[op.target].comm.value(),
                                    to_text(assembled.collective), assembled.bytes));
}

void throw_if_stalled(const Program& program, const ReducedJob& job, const RunState& state, std::int64_t transfers_in_flight,
                      const std::string& pending) {
  constexpr int kShown = 8;
  int stalled = 0;
  std::string text;
  const std::vector<RankState>& ranks = state.ranks;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (std::size_t s = 0; s < kStreamCount; ++s) {
      const StreamState& stream = ranks[r].streams[s];
      if (stream.is_empty()) continue;
      if (++stalled <= kShown) {
        std::vector<Port> ports;
        program.ports(job.ranks()[r].representative, ports);
        const RoleOp& op = state.logs[ranks[r].log].op(static_cast<Stream>(s), stream.completed);
        text += fmt::format("\n  {} stream {} waits for: {}", name_of(job.ranks()[r]), kStreamName[s], describe(op, ports));
      }
    }
    if (!ranks[r].has_ended && stalled == 0) text += fmt::format("\n  {} has not ended its program", name_of(job.ranks()[r]));
  }
  if (text.empty() && transfers_in_flight == 0) return;
  if (stalled > kShown) text += fmt::format("\n  ... and {} more", stalled - kShown);
  throw SimulationError(fmt::format("the run cannot go on: nothing is scheduled, {} transfers are stalled in the network{}{}",
                                    transfers_in_flight, text, pending.empty() ? pending : "\n  " + pending));
}

}  // namespace lockstep
