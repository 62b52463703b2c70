// SPDX-License-Identifier: Apache-2.0
// What a training program says of its repetitions is true: the operations appended from a cursor on are those of the span before it, with
// counts moved on by the difference, as often as it says; and the cursor that a jump arrives at goes on like the one that walked there.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "tests/support/random_scenarios.h"
#include "workloads/schedule/job_program.h"

namespace lockstep {
namespace {

struct Pushed {
  Stream stream;
  Op op;
  std::int64_t position;  // on its stream
};

class Recorder final : public OpSink {
 public:
  void push(Stream stream, const Op& op) override { ops.push_back({stream, op, counts[static_cast<std::size_t>(stream)]++}); }
  std::vector<Pushed> ops;
  std::int64_t counts[kStreamCount] = {};
};

// A whole program of one rank: the cursor before every slot and the operations up to there.
struct Walk {
  std::vector<ProgramCursor> cursors;
  std::vector<std::size_t> op_counts;
  Recorder recorder;

  Walk(const Program& program, Rank rank) {
    ProgramCursor cursor;
    do {
      cursors.push_back(cursor);
      op_counts.push_back(recorder.ops.size());
    } while (program.expand(rank, cursor, recorder));
  }
};

bool equal_but_later(const Pushed& a, const Pushed& b, const ProgramCursor& then, const ProgramCursor& now,
                     std::int64_t times) {
  const auto moved = [&](Stream s) {
    return times * (now.pushed[static_cast<std::size_t>(s)] - then.pushed[static_cast<std::size_t>(s)]);
  };
  const bool same_wait = a.op.kind != OpKind::kWait ||
                         (a.op.wait_stream == b.op.wait_stream && b.op.wait_count == a.op.wait_count + moved(a.op.wait_stream));
  return a.stream == b.stream && a.op.kind == b.op.kind && a.op.collective == b.op.collective && a.op.kernel == b.op.kernel &&
         a.op.comm == b.op.comm && a.op.peer == b.op.peer && a.op.bytes == b.op.bytes && same_wait &&
         b.position == a.position + moved(a.stream);
}

bool equal(const ProgramCursor& a, const ProgramCursor& b) {
  return a.slot == b.slot && std::equal(std::begin(a.pushed), std::end(a.pushed), std::begin(b.pushed)) &&
         std::equal(std::begin(a.scratch), std::end(a.scratch), std::begin(b.scratch));
}

ProgramCursor jump(ProgramCursor now, const ProgramCursor& then, std::int64_t times) {
  const ProgramCursor from = now;
  now.slot += times * (from.slot - then.slot);
  for (std::size_t i = 0; i < std::size(now.pushed); ++i) now.pushed[i] += times * (from.pushed[i] - then.pushed[i]);
  for (std::size_t i = 0; i < std::size(now.scratch); ++i) now.scratch[i] += times * (from.scratch[i] - then.scratch[i]);
  return now;
}

TEST(Repetition, WhatATrainingProgramSaysIsTrue) {
  std::int64_t claims = 0;
  const auto property = [&] {
    std::int64_t ranks = 0;
    const JobSpec job = test::draw_job(16, ranks);
    const std::unique_ptr<Program> made =
        make_program(test::plan_of(job, ranks), performance_of(test::cluster("dgx-h100", {"nodes=2"}).server->gpu));
    const Program& program = *made;
    const Rank rank(static_cast<std::uint32_t>(test::draw(0, ranks - 1)));
    const Walk walk(program, rank);
    const std::vector<Pushed>& ops = walk.recorder.ops;
    for (std::size_t i = 0; i < walk.cursors.size(); ++i) {
      for (std::size_t k = i + 1; k < walk.cursors.size(); ++k) {
        const ProgramCursor& then = walk.cursors[i];
        const ProgramCursor& now = walk.cursors[k];
        const std::int64_t times = program.repetitions(rank, then, now);
        if (times == 0) continue;
        ++claims;
        const std::size_t length = walk.op_counts[k] - walk.op_counts[i];
        RC_ASSERT(walk.op_counts[k] + length * static_cast<std::size_t>(times) <= ops.size());
        for (std::size_t n = 0; n < length; ++n) {
          const Pushed& first = ops[walk.op_counts[i] + n];
          for (const std::int64_t t : {std::int64_t{1}, times}) {
            RC_ASSERT(equal_but_later(first, ops[walk.op_counts[i] + n + length * static_cast<std::size_t>(t)], then, now, t));
          }
        }
        const std::size_t slots = (k - i) * static_cast<std::size_t>(times);
        RC_ASSERT(equal(jump(now, then, times), walk.cursors[k + slots]));
      }
    }
  };
  const rc::detail::TestResult result =
      rc::detail::checkTestable(property, rc::detail::TestMetadata(), rc::detail::configuration().testParams);
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  ASSERT_TRUE(result.is<rc::detail::SuccessResult>()) << message.str();
  EXPECT_GT(claims, 1000);
}

// The number of a communicator or peer in the ports of a rank, -1 where it is not there.
std::ptrdiff_t port_number(const std::vector<Port>& ports, const Pushed& p) {
  const auto is_named = [&p](const Port& port) {
    switch (p.op.kind) {
      case OpKind::kCollective:
        return port.kind == Port::Kind::kCommunicator && port.comm == p.op.comm;
      case OpKind::kSend:
        return port.kind == Port::Kind::kSend && port.stream == p.stream && port.peer == p.op.peer;
      case OpKind::kRecv:
        return port.kind == Port::Kind::kReceive && port.stream == p.stream && port.peer == p.op.peer;
      default:
        return false;
    }
  };
  const auto it = std::find_if(ports.begin(), ports.end(), is_named);
  return it == ports.end() ? -1 : it - ports.begin();
}

// Ranks of a role push the same operations, with communicators and peers at the same places in their ports. The runtime expands one
// of them for all, also without symmetry, so nothing else would notice.
RC_GTEST_PROP(Roles, RanksOfARoleDoTheSame, ()) {
  std::int64_t ranks = 0;
  const JobSpec job = test::draw_job(16, ranks);
  const std::unique_ptr<Program> made =
      make_program(test::plan_of(job, ranks), performance_of(test::cluster("dgx-h100", {"nodes=2"}).server->gpu));
  const Program& program = *made;
  std::map<std::uint32_t, std::pair<std::vector<Pushed>, std::vector<Port>>> firsts;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    Walk walk(program, Rank(r));
    std::vector<Port> ports;
    program.ports(Rank(r), ports);
    for (const Pushed& p : walk.recorder.ops) {
      const bool names = p.op.kind != OpKind::kCompute && p.op.kind != OpKind::kWait;
      RC_ASSERT(!names || port_number(ports, p) >= 0);
    }
    const auto [it, is_new] = firsts.try_emplace(program.role(Rank(r)), walk.recorder.ops, ports);
    if (is_new) continue;
    const auto& [ops, first_ports] = it->second;
    RC_ASSERT(ports.size() == first_ports.size());
    RC_ASSERT(walk.recorder.ops.size() == ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const Pushed& a = ops[i];
      const Pushed& b = walk.recorder.ops[i];
      RC_ASSERT(a.stream == b.stream && a.op.kind == b.op.kind && a.op.collective == b.op.collective &&
                a.op.kernel == b.op.kernel && a.op.bytes == b.op.bytes && a.op.wait_stream == b.op.wait_stream &&
                a.op.wait_count == b.op.wait_count && port_number(first_ports, a) == port_number(ports, b));
    }
  }
}

}  // namespace
}  // namespace lockstep
