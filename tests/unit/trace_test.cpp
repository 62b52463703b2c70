// SPDX-License-Identifier: Apache-2.0
// Traces in GOAL. On the ideal network a message takes a picosecond; tests/cli/import.txt replays one on a real one.
#include <gtest/gtest.h>

#include <sstream>

#include "base/check.h"
#include "sim/network/ideal_network.h"
#include "sim/runtime/trace_run.h"
#include "tests/support/cluster_fixtures.h"
#include "topology/cluster_spec.h"

namespace lockstep {
namespace {

Trace trace_of(const std::string& text, Diagnostics& d) {
  std::istringstream in(text);
  return read_goal(in, "t.goal", d);
}

std::string error_of(const std::string& text) {
  Diagnostics d;
  (void)trace_of(text, d);
  return d.items().empty() ? "" : to_text(d.items().front());
}

// On a network that takes no time (a picosecond), so that only the order of operations counts.
TraceResult replay(const std::string& text, double scale = 1) {
  Diagnostics d;
  const Trace trace = trace_of(text, d);
  EXPECT_EQ(d.error_count(), 0u) << to_text(d.items().front());
  const ClusterSpec cluster = test::shipped_cluster("bench-leaf-spine", {"endpoints=32"});
  const Network network = build_network(cluster);
  const Router router = make_router(cluster, network, 0);
  IdealNetwork ideal;
  return run_trace(trace, scale, router, ideal);
}

TEST(Trace, OneProcessorDoesOneThingAtATime) {
  // Two independent calcs of 100 and 50 ns: 150 ns on one cpu, 100 ns on two.
  EXPECT_EQ(replay("num_ranks 1 rank 0 { a: calc 100 b: calc 50 }").makespan.picos(), 150'000);
  EXPECT_EQ(replay("num_ranks 1 rank 0 { a: calc 100 b: calc 50 cpu 1 }").makespan.picos(), 100'000);
  EXPECT_EQ(replay("num_ranks 1 rank 0 { calc 100 calc 50 }", 0.5).makespan.picos(), 75'000);
}

TEST(Trace, RequiresWaitsForTheEndAndIrequiresForTheBeginning) {
  // b on another cpu after a: 100 + 50; beside it once a has begun: max(100, 50).
  EXPECT_EQ(replay("num_ranks 1 rank 0 { a: calc 100 b: calc 50 cpu 1 b requires a }").makespan.picos(), 150'000);
  EXPECT_EQ(replay("num_ranks 1 rank 0 { a: calc 100 b: calc 50 cpu 1 b irequires a }").makespan.picos(), 100'000);
}

TEST(Trace, ReceivesTakeMessagesInTheOrderOfSending) {
  // Sends at 10 and 30 ns. The first receive to begin (r2, at 0) gets the first message although r1 stands before it; r1 begins at 5 ns.
  const TraceResult r = replay(
      "num_ranks 2\n"
      "rank 0 { c1: calc 10\n s1: send 8b to 1\n s1 requires c1\n c2: calc 20\n c2 requires c1\n s2: send 8b to 1\n s2 "
      "requires c2 }\n"
      "rank 1 { w: calc 5\n r1: recv 8b from 0\n r1 requires w\n r2: recv 8b from 0\n end: calc 100\n end requires r2 }\n");
  // r2 at 10 ns (+ 1 ps), then 100 ns: 110 ns; r1 at 30 ns.
  EXPECT_EQ(r.makespan.picos(), 110'001);
}

TEST(Trace, ASendWaitsForItsProcessor) {
  // The calc holds cpu 0 for 40 ns; the send stands after it in the trace.
  EXPECT_EQ(replay("num_ranks 2 rank 0 { calc 40 send 1b to 1 } rank 1 { recv 1b from 0 }").makespan.picos(), 40'001);
  EXPECT_EQ(replay("num_ranks 2 rank 0 { calc 40 send 1b to 1 cpu 1 } rank 1 { recv 1b from 0 }").finish[1].picos(), 1);
}

TEST(Trace, RefusesWhatCannotRun) {
  EXPECT_EQ(error_of("num_ranks 2 rank 0 { send 8b to 2 }"), "t.goal:1:33: error: 2 is out of range for a rank (0 to 1)");
  EXPECT_NE(error_of("num_ranks 2\nrank 0 { send 8b to 1 }").find("1 sends from rank 0 to 1 with tag 0, but 0 receives"),
            std::string::npos);
  EXPECT_NE(error_of("num_ranks 2\nrank 0 { send 8b to 1 }\nrank 1 { recv 4b from 0 }").find("of 4 bytes"), std::string::npos);
  EXPECT_NE(error_of("num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb irequires a }").find("circle"),
            std::string::npos);
  EXPECT_NE(error_of("num_ranks 1\nrank 0 { a requires b }").find("no operation 'a'"), std::string::npos);
  EXPECT_NE(error_of("num_ranks 1\nrank 0 { a: calc 1 a: calc 2 }").find("twice"), std::string::npos);
  EXPECT_NE(error_of("num_ranks 1\nrank 0 { a: calc 1").find("ends"), std::string::npos);
  EXPECT_NE(error_of("").find("num_ranks"), std::string::npos);
}

TEST(Trace, ADeadlockNamesWhoWaits) {
  try {
    (void)replay(
        "num_ranks 2\nrank 0 {\n a: recv 8b from 1\n b: send 8b to 1\n b requires a }\nrank 1 {\n a: recv 8b from 0\n b: send "
        "8b to 0\n b requires a }");
    FAIL() << "nobody noticed";
  } catch (const SimulationError& e) {
    EXPECT_NE(std::string(e.what()).find("rank 0: a (line 3) waits for a message from rank 1 with tag 0"), std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace lockstep
