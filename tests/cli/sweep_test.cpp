// SPDX-License-Identifier: Apache-2.0
// A sweep leaves the same bytes however it was run: on one thread or several, in shards, by two processes at once, after any number of
// kills.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/run_binary.h"

namespace lockstep {
namespace {

using test::Ended;
using test::Sandbox;

// 96 points of a few milliseconds, every third of which does not fit its cluster: much of the time goes into writing points.
constexpr const char* kQuick = R"(kind: sweep
cluster: {preset: h100-roce-oversubscribed, fabric: {nodes_per_leaf: 1}}
job: llama3.2-1b-ddp
axes:
  cluster.nodes: [1, 2]
  job.tp: [1, 2, 32]
  seed: {from: 0, to: 15}
)";

// So many points of some 30 ms, ECMP hashing on 128 GPUs.
std::string long_sweep(int points) {
  return "kind: sweep\n"
         "cluster: {preset: h100-roce-oversubscribed, nodes: 16, routing: ecmp, fabric: {nodes_per_leaf: 2}}\n"
         "job: {model: llama3-8b, seq_len: 4096, gradient_accumulation: 8, tp: 2, pp: 2, dp: auto, grad_dtype: bf16}\n"
         "axes:\n"
         "  cluster.fabric.oversubscription: [1, 2]\n"
         "  seed: {from: 0, to: " +
         std::to_string(points / 2 - 1) + "}\n";
}

constexpr const char* kSame = "for f in results.csv manifest.json; do cmp $A/$f $B/$f || echo $A $B differ; done\n";

// Runs the sweep undisturbed; then as `killed` says, which sets n to the number of kills; then to its end, and compares.
Ended after_kills(const std::string& sweep, const std::string& killed) {
  const Sandbox sandbox;
  sandbox.write("s.yaml", sweep);
  return sandbox.run("$L sweep s.yaml -j 1 --out whole 2> /dev/null; good=$?\nn=0\n" + killed +
                     "[ $n -eq 20 ] || echo killed $n times\n"
                     "$L sweep s.yaml -j 2 --out killed 2> /dev/null; [ $? -eq $good ] || echo another status\n"
                     "A=whole B=killed; " +
                     kSame);
}

// 20 kills after 5 to 64 ms leave most of the two seconds that 120 points take for the last run.
constexpr const char* kKilledAnyTime =
    "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do\n"
    "  $L sweep s.yaml -j 2 --out killed 2> /dev/null & pid=$!\n"
    "  sleep $(awk \"BEGIN { print (5 + $i * 37 % 60) / 1000 }\")\n"
    "  kill -9 $pid 2> /dev/null; wait $pid 2> /dev/null; [ $? -ne 137 ] || n=$((n + 1))\n"
    "done\n";

TEST(SweepRuns, AreTheSameAfterKills) { EXPECT_EQ(after_kills(long_sweep(120), kKilledAnyTime).out, ""); }

// The i-th run dies in the middle of its i-th write to the store: of the new file, of its log, of a point.
TEST(SweepRuns, AreTheSameAfterKillsInTheMiddleOfAWrite) {
  const Ended ended = after_kills(kQuick,
                                  "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do\n"
                                  "  LD_PRELOAD='" LOCKSTEP_KILL_AT_WRITE
                                  "' KILL_AT_WRITE=$i $L sweep s.yaml -j 2 --out killed "
                                  "> /dev/null 2>&1; [ $? -ne 137 ] || n=$((n + 1))\n"
                                  "done\n");
  EXPECT_EQ(ended.out, "");
}

TEST(SweepRuns, AreTheSameOnAnyNumberOfThreadsAndInShards) {
  const Sandbox sandbox;
  sandbox.write("s.yaml", kQuick);
  const Ended ended =
      sandbox.run(std::string("$L sweep s.yaml -j 1 --out one 2> /dev/null; echo $?\n"
                              "$L sweep s.yaml -j 3 --out three 2> /dev/null; echo $?\n"
                              "for i in 0 1 2; do $L sweep s.yaml -j 2 --shard $i/3 --out part$i 2> /dev/null; done\n"
                              "$L sweep s.yaml --merge part0 part1 part2 --out merged; echo $?\n"
                              "A=one B=three; ") +
                  kSame + "A=one B=merged; " + kSame + "wc -l < one/results.csv");
  EXPECT_EQ(ended.out, "4\n4\n4\n97\n");
  EXPECT_EQ(ended.err, "96 points: 64 ok, 32 failed; merged/results.csv\n");
}

// Two processes share the points of one store: every point is simulated by one of them, and both leave the whole table.
TEST(SweepRuns, TwoProcessesShareAStore) {
  const Sandbox sandbox;
  sandbox.write("s.yaml", long_sweep(24));
  const Ended ended = sandbox.run(std::string("$L sweep s.yaml -j 1 --out one 2> /dev/null\n"
                                              "$L sweep s.yaml -j 1 --out both 2> /dev/null & other=$!\n"
                                              "$L sweep s.yaml -j 1 --out both 2> log; echo $?\n"
                                              "wait $other; echo $?\n"
                                              "grep -c 'were there before' log\n"
                                              "A=one B=both; ") +
                                  kSame);
  EXPECT_EQ(ended.out, "0\n0\n1\n");
}

// What a killed process had begun is run by the one that is left.
TEST(SweepRuns, AProcessTakesOverFromAKilledOne) {
  const Sandbox sandbox;
  sandbox.write("s.yaml", long_sweep(24));
  const Ended ended = sandbox.run(std::string("$L sweep s.yaml -j 1 --out one 2> /dev/null\n"
                                              "$L sweep s.yaml -j 1 --out both 2> /dev/null & other=$!\n"
                                              "(sleep 0.15; kill -9 $other) &\n"
                                              "$L sweep s.yaml -j 1 --out both 2> /dev/null; echo $?\n"
                                              "wait $other 2> /dev/null; echo $?\n"
                                              "A=one B=both; ") +
                                  kSame);
  EXPECT_EQ(ended.out, "0\n137\n");
}

TEST(SweepRuns, AnInterruptEndsWith130AndTheSweepGoesOn) {
  const Sandbox sandbox;
  sandbox.write("s.yaml", long_sweep(24));
  const Ended ended = sandbox.run(
      "python3 -c \"import signal, subprocess, sys, time; "
      "p = subprocess.Popen([sys.argv[1], 'sweep', 's.yaml', '-j', '1', '--out', 'o'], "
      "preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)); "
      "time.sleep(0.3); p.send_signal(signal.SIGINT); print(p.wait())\" \"$L\"\n"
      "$L sweep s.yaml --out o 2> log; echo $?; wc -l < o/results.csv; cat log >&2");
  EXPECT_EQ(ended.out, "130\n0\n25\n") << ended.err;
  EXPECT_NE(ended.err.find("lockstep: interrupted; the same command goes on from here\n"), std::string::npos);
}

// 80 points take over a second: on a terminal a line with rate and time left comes, and is erased in the end; a log has the summary alone.
TEST(SweepRuns, ShowProgressOnATerminalOnly) {
  const Sandbox sandbox;
  sandbox.write("s.yaml", long_sweep(80));
  const Ended ended = sandbox.run(
      "script --quiet --return --command \"$L sweep s.yaml -j 1 --out t\" typescript > /dev/null; echo $?\n"
      "tr '\\r' '\\n' < typescript > lines\n"
      "grep -Eq 'of 80 points, [0-9.]+ per second, .*[0-9] s left$' lines || cat lines\n"
      "printf '\\033[K80 points: 80 ok, 0 failed; t/results.csv\\n' > last; grep -v '^$' lines | grep -v '^Script' | tail -n 1 "
      "| cmp - last\n"
      "$L sweep s.yaml -j 1 --out t");
  EXPECT_EQ(ended.out, "0\n");
  EXPECT_EQ(ended.err, "80 points: 80 ok, 0 failed (80 were there before); t/results.csv\n");
}

}  // namespace
}  // namespace lockstep
