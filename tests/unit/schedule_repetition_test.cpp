// SPDX-License-Identifier: Apache-2.0
// What a program says of its repetitions is true under every schedule and on every stage: the operations after a cursor are those of the
// span before it, counts moved on, as often as it says, and a cursor that jumps arrives where one that walks does. And each schedule does
// repeat: of many micro-batches most can be skipped.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/workload_fixtures.h"
#include "workloads/schedule/training_program.h"

namespace lockstep {
namespace {

struct Pushed {
  Stream stream;
  Op op;
  bool operator==(const Pushed& o) const {
    return stream == o.stream && op.kind == o.op.kind && op.collective == o.op.collective && op.kernel == o.op.kernel &&
           op.comm == o.op.comm && op.peer == o.op.peer && op.bytes == o.op.bytes && op.wait_stream == o.op.wait_stream &&
           op.wait_count == o.op.wait_count;
  }
};

struct Walk : OpSink {
  std::vector<ProgramCursor> cursors;  // before every slot
  std::vector<std::size_t> op_counts;
  std::vector<Pushed> ops;
  Walk(const Program& program, Rank rank) {
    ProgramCursor cursor;
    do {
      cursors.push_back(cursor);
      op_counts.push_back(ops.size());
    } while (program.expand(rank, cursor, *this));
  }
  void push(Stream stream, const Op& op) override { ops.push_back({stream, op}); }
};

Pushed later(Pushed p, const ProgramCursor& then, const ProgramCursor& now, std::int64_t times) {
  const auto target = static_cast<std::size_t>(p.op.wait_stream);
  if (p.op.kind == OpKind::kWait) p.op.wait_count += times * (now.pushed[target] - then.pushed[target]);
  return p;
}

bool arrives(const ProgramCursor& then, const ProgramCursor& now, const ProgramCursor& at, std::int64_t times) {
  bool is_equal = at.slot == now.slot + times * (now.slot - then.slot);
  for (std::size_t i = 0; i < std::size(now.pushed); ++i) {
    is_equal = is_equal && at.pushed[i] == now.pushed[i] + times * (now.pushed[i] - then.pushed[i]);
  }
  for (std::size_t i = 0; i < std::size(now.scratch); ++i) {
    is_equal = is_equal && at.scratch[i] == now.scratch[i] + times * (now.scratch[i] - then.scratch[i]);
  }
  return is_equal;
}

// The most that any span of `rank` says of itself.
std::int64_t check(const TrainingProgram& program, Rank rank) {
  const Walk walk(program, rank);
  std::int64_t most = 0;
  for (std::size_t i = 0; i < walk.cursors.size(); ++i) {
    for (std::size_t k = i + 1; k < walk.cursors.size(); ++k) {
      const ProgramCursor& then = walk.cursors[i];
      const ProgramCursor& now = walk.cursors[k];
      const std::int64_t times = program.repetitions(rank, then, now);
      if (times == 0) continue;
      most = std::max(most, times);
      const std::size_t length = walk.op_counts[k] - walk.op_counts[i];
      if (walk.op_counts[k] + length * static_cast<std::size_t>(times) > walk.ops.size()) return -1;
      for (std::size_t n = 0; n < length; ++n) {
        const Pushed& first = walk.ops[walk.op_counts[i] + n];
        for (const std::int64_t t : {std::int64_t{1}, times}) {
          const Pushed& again = walk.ops[walk.op_counts[i] + n + length * static_cast<std::size_t>(t)];
          if (!(later(first, then, now, t) == again)) return -2;
        }
      }
      if (!arrives(then, now, walk.cursors[k + (k - i) * static_cast<std::size_t>(times)], times)) return -3;
    }
  }
  return most;
}

TEST(ScheduleRepetition, WhatEveryScheduleSaysIsTrue) {
  using S = PipelineSchedule;
  for (const S s : {S::kGpipe, S::kZeroBubbleH1, S::kZeroBubbleH2, S::kZeroBubbleV, S::kVHalf, S::kVMin, S::kDualPipe}) {
    for (const Strategy strategy : {Strategy::kDdp, Strategy::kFsdp}) {
      for (const std::int64_t p : {2, 4}) {
        JobSpec job;
        job.model = test::tiny(2 * p);
        job.seq_len = 128;
        job.schedule = s;
        job.pp = p;
        job.tp = 2;
        job.sequence_parallel = p == 4;
        job.strategy = strategy;
        job.distributed_optimizer = strategy == Strategy::kDdp;
        job.gradient_accumulation = 24;
        const TrainingProgram program(test::plan_of(job, 4 * p), test::ideal_gpu());
        for (std::int64_t stage = 0; stage < p; ++stage) {
          const Rank rank = program.plan().layout.rank_of({.pp = static_cast<std::uint32_t>(stage)});
          EXPECT_GE(check(program, rank), s == S::kDualPipe ? 2 : 5) << to_text(s) << ", stage " << stage << " of " << p;
        }
      }
    }
  }
}

// Every message is between ranks that ports() names, each once.
TEST(ScheduleRepetition, PortsNameEveryMessage) {
  using S = PipelineSchedule;
  for (const S s : {S::kOneForwardOneBackward, S::kGpipe, S::kZeroBubbleH2, S::kZeroBubbleV, S::kVMin, S::kDualPipe}) {
    for (const std::int64_t p : {2, 4}) {
      JobSpec job;
      job.model = test::tiny(2 * p);
      job.seq_len = 128;
      job.schedule = s;
      job.pp = p;
      job.gradient_accumulation = 8;
      const TrainingProgram program(test::plan_of(job, p), test::ideal_gpu());
      for (std::uint32_t r = 0; r < program.world_size(); ++r) {
        std::vector<Port> ports;
        program.ports(Rank(r), ports);
        const auto named = [&](Port::Kind kind, Stream stream, Rank peer) {
          return std::count_if(ports.begin(), ports.end(),
                               [&](const Port& q) { return q.kind == kind && q.stream == stream && q.peer == peer; });
        };
        const Walk walk(program, Rank(r));
        for (const Pushed& o : walk.ops) {
          if (o.op.kind != OpKind::kSend && o.op.kind != OpKind::kRecv) continue;
          const Port::Kind kind = o.op.kind == OpKind::kSend ? Port::Kind::kSend : Port::Kind::kReceive;
          ASSERT_EQ(named(kind, o.stream, o.op.peer), 1) << to_text(s) << ", rank " << r << " of " << p;
        }
      }
    }
  }
}

}  // namespace
}  // namespace lockstep
