// SPDX-License-Identifier: Apache-2.0
// A search leaves the same bytes whatever the number of threads and after kills, and its best plan runs as it was told.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/run_binary.h"

namespace lockstep {
namespace {

using test::Ended;
using test::Sandbox;

// Some 70 plans that fit.
const std::string kTune =
    "$L tune --cluster dgx-h100 --job llama3.2-1b-ddp --set cluster.nodes=2 --set job.global_batch=64 --space tp=1,2,4 "
    "--space pp=1,2 --space micro_batch=1,2 --space recompute=none,full --space data_parallel=ddp,distributed_optimizer,fsdp "
    "--exhaustive ";

TEST(TuneRuns, AreTheSameOnAnyNumberOfThreads) {
  const Sandbox sandbox;
  const Ended ended = sandbox.run(kTune + "-j 1 --out one --format csv > one.csv 2> /dev/null; echo $?\n" + kTune +
                                  "-j 3 --out three --format csv > three.csv 2> /dev/null; echo $?\n"
                                  "cmp one.csv three.csv; cmp one/results.csv three/results.csv; cmp one/manifest.json "
                                  "three/manifest.json; wc -l < one.csv\n");
  EXPECT_EQ(ended.out, "0\n0\n11\n") << ended.err;
}

// Each run is killed a little later than the one before; what it finished is there, and the last run goes on.
TEST(TuneRuns, GoOnAfterKills) {
  const Sandbox sandbox;
  const Ended ended =
      sandbox.run(kTune + "-j 1 --out whole > whole.txt 2> /dev/null\n" + "for i in 1 2 3 4 5 6; do\n  " + kTune +
                  "-j 2 --out killed > /dev/null 2>&1 & pid=$!\n"
                  "  sleep 0.$i; kill -9 $pid 2> /dev/null; wait $pid 2> /dev/null\n"
                  "done\n" +
                  kTune +
                  "-j 2 --out killed > killed.txt 2> log; echo $?\n"
                  "cmp whole.txt killed.txt; cmp whole/results.csv killed/results.csv\n"
                  "grep -c 'were there before' log\n");
  EXPECT_EQ(ended.out, "0\n1\n") << ended.err;
}

TEST(TuneRuns, AnInterruptEndsWith130) {
  const Sandbox sandbox;
  const Ended ended = sandbox.run(
      "python3 -c \"import signal, subprocess, sys, time; "
      "p = subprocess.Popen([sys.argv[1], 'tune', 'llama3-70b-3d', '--out', 'o'], stdout=subprocess.DEVNULL, "
      "preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)); "
      "time.sleep(1); p.send_signal(signal.SIGINT); print(p.wait())\" \"$L\"\n");
  EXPECT_EQ(ended.out, "130\n") << ended.err;
}

TEST(TuneRuns, TheBestPlanRunsAsItWasTold) {
  const Sandbox sandbox;
  const Ended ended =
      sandbox.run(kTune +
                  "--format json --write best.yaml > tune.json 2> /dev/null\n"
                  "$L run --cluster dgx-h100 --job best.yaml --set cluster.nodes=2 --format json > run.json\n"
                  "jq .plans[0].step_time_s tune.json > a; jq .step_time_s run.json > b; cmp a b && echo same\n"
                  "jq '[.plans[] | (.slower_s | add // 0) - (.step_time_s) | . * 1e9 | round] | unique | length' tune.json\n");
  EXPECT_EQ(ended.out, "same\n1\n") << ended.err;
}

}  // namespace
}  // namespace lockstep
