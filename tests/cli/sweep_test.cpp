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

// 24 points of some 30 ms, ECMP hashing on 128 GPUs.
constexpr const char* kLong = R"(kind: sweep
cluster: {preset: h100-roce-oversubscribed, nodes: 16, routing: ecmp, fabric: {nodes_per_leaf: 2}}
job: {model: llama3-8b, seq_len: 4096, gradient_accumulation: 8, tp: 2, pp: 2, dp: auto, grad_dtype: bf16}
axes:
  cluster.fabric.oversubscription: [1, 2]
  seed: {from: 0, to: 11}
)";

constexpr const char* kSame = "for f in results.csv manifest.json; do cmp $A/$f $B/$f || echo $A $B differ; done\n";

// Kills the sweep again and again after 5, 12, 19, ... ms, until it is finished; then compares with an undisturbed run.
Ended killed(const char* sweep, const std::string& options) {
  const Sandbox sandbox;
  sandbox.write("s.yaml", sweep);
  return sandbox.run(
      "$L sweep s.yaml -j 1 --out whole 2> /dev/null; good=$?\n"
      "n=0; status=137\n"
      "while [ $n -lt 25 ] && [ $status -eq 137 ]; do\n"
      "  $L sweep s.yaml " +
      options +
      " --out killed 2> /dev/null & pid=$!\n"
      "  sleep $(awk \"BEGIN { print (5 + $n * 37 % 150) / 1000 }\")\n"
      "  kill -9 $pid 2> /dev/null; wait $pid 2> /dev/null; status=$?; n=$((n + 1))\n"
      "done\n"
      "[ $n -gt 1 ] || echo never killed\n"
      "$L sweep s.yaml " +
      options +
      " --out killed 2> /dev/null; [ $? -eq $good ] || echo another status\n"
      "A=whole B=killed; " +
      kSame);
}

TEST(SweepRuns, AreTheSameAfterKills) {
  const Ended ended = killed(kLong, "-j 2");
  EXPECT_EQ(ended.out, "");
}

TEST(SweepRuns, AreTheSameAfterKillsWhilePointsAreWritten) {
  const Ended ended = killed(kQuick, "-j 2");
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
  sandbox.write("s.yaml", kLong);
  const Ended ended = sandbox.run(std::string("$L sweep s.yaml -j 1 --out one 2> /dev/null\n"
                                              "$L sweep s.yaml -j 1 --out both 2> /dev/null & other=$!\n"
                                              "$L sweep s.yaml -j 1 --out both 2> log; echo $?\n"
                                              "wait $other; echo $?\n"
                                              "grep -c 'were there before' log\n"
                                              "A=one B=both; ") +
                                  kSame);
  EXPECT_EQ(ended.out, "0\n0\n1\n");
}

TEST(SweepRuns, AnInterruptEndsWith130AndTheSweepGoesOn) {
  const Sandbox sandbox;
  sandbox.write("s.yaml", kLong);
  const Ended ended = sandbox.run(
      "python3 -c \"import signal, subprocess, sys, time; "
      "p = subprocess.Popen([sys.argv[1], 'sweep', 's.yaml', '-j', '1', '--out', 'o'], "
      "preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)); "
      "time.sleep(0.3); p.send_signal(signal.SIGINT); print(p.wait())\" \"$L\"\n"
      "$L sweep s.yaml --out o 2> log; echo $?; wc -l < o/results.csv; cat log >&2");
  EXPECT_EQ(ended.out, "130\n0\n25\n") << ended.err;
}

}  // namespace
}  // namespace lockstep
