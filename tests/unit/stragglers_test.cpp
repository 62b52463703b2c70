// SPDX-License-Identifier: Apache-2.0
#include "topology/stragglers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/experiment/job_run.h"
#include "tests/support/shipped.h"
#include "workloads/kernels/performance.h"
#include "workloads/schedule/training_program.h"

namespace lockstep {
namespace {

std::int64_t picos(const RunResult& r) { return std::llround(r.step_time_s * 1e12); }

RunResult run(const std::vector<std::string>& sets) {
  const Scenario s = test::scenario("llama3.2-1b-ddp", sets);
  return run_job(s.spec.cluster, s.plan, {.network = NetworkKind::kAnalytic, .compares_with_ideal = false});
}

// Kernels of one rank, each of them longer by `per_mille` and rounded up.
std::int64_t kernel_picos(const TrainingProgram& program, std::int64_t per_mille) {
  struct Sum : OpSink {
    const KernelTable* kernels = nullptr;
    std::int64_t per_mille = 0;
    std::int64_t total = 0;
    void push(Stream, const Op& op) override {
      if (op.kind == OpKind::kCompute) total += ceil_div((*kernels)[op.kernel].time.picos() * (1000 + per_mille), 1000);
    }
  } sum;
  sum.kernels = &program.kernels();
  sum.per_mille = per_mille;
  ProgramCursor cursor;
  while (program.expand(Rank(0), cursor, sum)) {
  }
  return sum.total;
}

// Eight ranks of one tensor-parallel group meet in every layer, and nothing computes beside their collectives: one GPU 25 % slower makes
// the step longer by 25 % of its kernels, to the picosecond.
TEST(Stragglers, OneSlowGpuOfATensorParallelGroupSlowsAllOfIt) {
  const std::vector<std::string> sets = {"cluster.nodes=1", "job.tp=8"};
  std::vector<std::string> slow_sets = sets;
  slow_sets.insert(slow_sets.end(), {"cluster.stragglers.gpus=[5]", "cluster.stragglers.slowdown=25 %"});
  const RunResult all_fast = run(sets);
  const RunResult one_slow = run(slow_sets);
  const Scenario s = test::scenario("llama3.2-1b-ddp", sets);
  const TrainingProgram program(s.plan, performance_of(s.spec.cluster.server->gpu, s.spec.cluster.software, s.plan.job));
  EXPECT_EQ(picos(one_slow) - picos(all_fast), kernel_picos(program, 250) - kernel_picos(program, 0));
  EXPECT_EQ(one_slow.slow_gpus, 1);
}

// Data-parallel ranks meet once a step: one slow GPU of 16 is as bad as 16.
TEST(Stragglers, DataParallelRanksGoAtThePaceOfTheSlowest) {
  const std::string slowdown = "cluster.stragglers.slowdown=10 %";
  const std::string apart = "job.overlap_grad_reduce=false";
  const RunResult one = run({"cluster.nodes=2", slowdown, apart, "cluster.stragglers.gpus=[3]"});
  const RunResult all = run({"cluster.nodes=2", slowdown, apart, "cluster.stragglers.share=100 %"});
  const RunResult none = run({"cluster.nodes=2", apart});
  EXPECT_EQ(all.slow_gpus, 16);
  // The optimizer comes after the last meeting, and is as slow on the one as on all.
  EXPECT_EQ(picos(one), picos(all));
  EXPECT_GT(picos(one), picos(none));
}

// The job says which rank is on which GPU; GPUs are slow, not ranks. Stage 1 of two runs on GPUs 0 to 7.
TEST(Stragglers, FollowTheGpuNotTheRank) {
  const std::vector<std::string> job = {"cluster.nodes=2", "job.tp=8", "job.pp=2", "cluster.stragglers.slowdown=50 %"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), job.begin(), job.end());
    return picos(run(more));
  };
  const std::string swapped = "job.placement=[8-15, 0-7]";
  EXPECT_EQ(with({"cluster.stragglers.gpus=[0]"}), with({"cluster.stragglers.gpus=[8]", swapped}));
  EXPECT_NE(with({"cluster.stragglers.gpus=[0]"}), with({"cluster.stragglers.gpus=[8]"}));
}

// 1 % of 10,000 GPUs: 100, give or take four standard deviations of 10.
TEST(Stragglers, AreDrawnByTheSeed) {
  const StragglerSpec spec{.share = {0.01}, .gpus = {}, .slowdown = {0.1}};
  const std::vector<std::int64_t> first = draw_slowdowns(spec, 10'000, 1);
  const auto slow = std::count(first.begin(), first.end(), 100);
  EXPECT_NEAR(static_cast<double>(slow), 100, 40);
  EXPECT_EQ(std::count(first.begin(), first.end(), 0), 10'000 - slow);
  EXPECT_EQ(draw_slowdowns(spec, 10'000, 1), first);
  EXPECT_NE(draw_slowdowns(spec, 10'000, 2), first);
  const std::vector<std::int64_t> smaller = draw_slowdowns(spec, 5'000, 1);
  EXPECT_TRUE(std::equal(smaller.begin(), smaller.end(), first.begin()));
}

TEST(Stragglers, ListedGpusAreSlowWhateverIsDrawn) {
  EXPECT_EQ(draw_slowdowns({.share = {}, .gpus = {1, IndexRange(1, 5, 2)}, .slowdown = {0.025}}, 6, 7),
            (std::vector<std::int64_t>{0, 25, 0, 25, 0, 25}));
  EXPECT_TRUE(draw_slowdowns({.share = {}, .gpus = {1}, .slowdown = {0}}, 4, 7).empty());
}

TEST(Stragglers, FaultsAreNamed) {
  const auto message = [](const std::string& section) {
    try {
      (void)test::cluster("dgx-h100", {"nodes=2", "stragglers=" + section});
    } catch (const std::runtime_error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(message("{gpus: [15, 12-17], slowdown: 10 %}"),
            "--set stragglers={gpus: [15, 12-17], slowdown: 10 %}: error: stragglers.gpus: the cluster has no GPU 17 (GPUs are "
            "0 to 15)\n");
  EXPECT_EQ(message("{slowdown: 10 %}"),
            "--set stragglers={slowdown: 10 %}: error: stragglers.share: no GPU is slow (give share, like 1 %, or gpus, like "
            "[12, 99])\n");
  EXPECT_NE(message("{share: 1 %}").find("stragglers.slowdown"), std::string::npos);
  EXPECT_NE(message("{share: 1 %, slowdown: 0.05 %}").find("is finer than 0.1 %"), std::string::npos);
  EXPECT_NE(message("{share: 0.00000000001 %, slowdown: 5 %}").find("is finer than a millionth"), std::string::npos);
  EXPECT_NE(message("{share: 1 %, slowdown: 10}").find("stragglers.slowdown"), std::string::npos);  // 1000 %: a forgotten %
  EXPECT_NE(message("{share: 110 %, slowdown: 5 %}").find("stragglers.share"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
