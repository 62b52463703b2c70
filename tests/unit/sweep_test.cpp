// SPDX-License-Identifier: Apache-2.0
// How a point becomes a scenario, what is found wrong before anything runs, and what a key of the store depends on.
#include <gtest/gtest.h>

#include "sim/experiment/sweep/sweep_run.h"
#include "tests/support/sweep_text.h"

namespace lockstep {
namespace {

using test::good_sweep;
using test::load_sweep;
using test::sweep_text;

std::string errors_of(const std::string& text, const std::vector<std::string>& assignments = {}) {
  return load_sweep(sweep_text(text), assignments).errors;
}

PointRun resolved(const Sweep& sweep, std::size_t point) {
  Diagnostics d;
  ReadContext context(d, &test::shipped());
  const std::optional<PointRun> run = sweep.resolve(point, context);
  if (!run) throw std::runtime_error(test::messages(d));
  return *run;
}

TEST(Sweep, APointIsTheBaseWithItsValues) {
  const Sweep sweep = good_sweep(
      "network: analytic\nset: {job.micro_batch: 1}\naxes: {cluster.nodes: [2, 4], seed: [5], cluster.fabric.oversubscription: "
      "[4]}");
  const PointRun run = resolved(sweep, 1);
  EXPECT_EQ(run.scenario.spec.cluster.nodes, 4);
  EXPECT_EQ(run.scenario.spec.cluster.fabric.nodes_per_leaf, 2);
  EXPECT_EQ(run.scenario.spec.cluster.fabric.oversubscription, 4);
  EXPECT_EQ(run.scenario.spec.job->micro_batch, 1);
  EXPECT_EQ(run.seed, 5u);
  EXPECT_EQ(run.network, NetworkKind::kAnalytic);
}

// A whole cluster as a value is placed first, then the keys of it that all points have in common; --set comes last.
TEST(Sweep, ShorterPathsAreLaidFirst) {
  const Sweep sweep = good_sweep("set: {cluster.nodes: 3}\naxes: {cluster: [dgx-h100, dgx-a100]}", {"job.micro_batch=3"});
  EXPECT_EQ(resolved(sweep, 1).scenario.spec.cluster.name, "dgx-a100");
  EXPECT_EQ(resolved(sweep, 1).scenario.spec.cluster.nodes, 3);
  EXPECT_EQ(resolved(sweep, 1).scenario.spec.job->micro_batch, 3);
}

// What is swept as a whole need not be given besides.
TEST(Sweep, AnAxisOfJobsOrClustersIsBaseEnough) {
  const test::LoadedSweep jobs =
      load_sweep("kind: sweep\ncluster: dgx-h100\naxes: {job: [llama3-8b-fsdp, qwen3-8b-fsdp], seed: [1]}");
  ASSERT_TRUE(jobs.sweep) << jobs.errors;
  EXPECT_EQ(resolved(*jobs.sweep, 1).scenario.spec.job->name, "qwen3-8b-fsdp");
  EXPECT_EQ(load_sweep("kind: sweep\ncluster: dgx-h100\naxes: {job.tp: [1, 2]}").errors,
            "s.yaml:1:1: error: scenario: there is nothing to run (give scenario, or cluster and job)\n");
}

TEST(Sweep, MistakesInPathsAndValuesAreFoundBeforeAnythingRuns) {
  EXPECT_EQ(errors_of("axes: {cluster.fabric.oversubscripton: [1]}"),
            "s.yaml:4:8: error: axes: there is no 'cluster.fabric.oversubscripton' to change (did you mean "
            "'cluster.fabric.oversubscription'?)\n");
  EXPECT_EQ(errors_of("axes: {tp: [1]}"), "s.yaml:4:8: error: axes: there is no 'tp' to change (did you mean 'job.tp'?)\n");
  EXPECT_EQ(errors_of("axes:\n  cluster.host_link.latency: [1 us, 600]\n  job.tp: [1, two]"),
            "s.yaml:5:37: error: cluster.host_link.latency: '600' has no unit (a duration needs one, as in 600 us; units: ps, "
            "ns, us, "
            "ms, s, min, h, d)\n"
            "s.yaml:6:15: error: job.tp: 'two' is not a number (1 to 1048576)\n");
  EXPECT_EQ(errors_of("axes: {network: [packet]}"),
            "s.yaml:4:18: error: axes.network: no network model is called 'packet' (analytic or flow)\n");
  EXPECT_EQ(errors_of("axes: {seed: [-1]}"), "s.yaml:4:15: error: axes.seed: '-1' is no seed (a whole number from 0)\n");
  EXPECT_EQ(errors_of("axes: {cluster.network: [roce-8x400, rose-8x400]}"),
            "s.yaml:4:38: error: cluster.network: there is no transport 'rose' (did you mean roce-8x400?)\n");
}

TEST(Sweep, MistakesInRangesAndCombinationsAreFound) {
  EXPECT_EQ(errors_of("axes: {seed: {from: 3, to: 1}}"), "s.yaml:4:28: error: axes.seed: 'to' is below 'from'\n");
  EXPECT_EQ(errors_of("axes: {cluster.host_link.latency: {from: 1 ns, to: 2 us}}"),
            "s.yaml:4:52: error: axes.cluster.host_link.latency: another unit than 'from' (write all with the same unit)\n");
  EXPECT_EQ(errors_of("axes: {seed: {from: 1, to: 8, factor: 1}}"),
            "s.yaml:4:39: error: axes.seed: '1' is no factor (a whole number of at least 2)\n");
  EXPECT_EQ(errors_of("axes: {seed: {from: 1, to: 8, factor: 1.5}}"),
            "s.yaml:4:39: error: axes.seed: '1.5' is no factor (a whole number of at least 2)\n");
  EXPECT_EQ(errors_of("axes: {seed: {from: 0, to: 8, factor: 2}}"),
            "s.yaml:4:21: error: axes.seed: 0 stays 0 whatever the factor (begin above 0)\n");
  EXPECT_EQ(errors_of("axes: {seed: {from: 1, to: 8, step: 2, factor: 2}}"),
            "s.yaml:4:48: error: axes.seed: is given together with step (one of the two)\n");
  EXPECT_EQ(
      errors_of("combine: zip\naxes: {seed: [1, 2], cluster.nodes: [2]}"),
      "s.yaml:5:7: error: axes: seed has 2 values and cluster.nodes has 1: zip takes one of each (the same number of values "
      "for all, or combine: grid)\n");
  EXPECT_EQ(errors_of("axes: {seed: {from: 0, to: 1000000}}"),
            "s.yaml:4:8: error: axes: these make more than 1000000 points (fewer values, a larger step, or combine: "
            "latin_hypercube)\n");
  EXPECT_EQ(errors_of("axes: {seed: [1]}\nexclude: [{seed: 2}, {job.tp: 1}]"),
            "s.yaml:5:18: error: exclude: seed is never 2 (a value of the axis, as it is written there)\n"
            "s.yaml:5:23: error: exclude: 'job.tp' is not swept (name an axis)\n");
  EXPECT_EQ(
      errors_of("axes: {cluster.nodes: [1, 2]}", {"cluster.nodes=4"}),
      "--set cluster.nodes=4: error: cluster.nodes: would undo the axis cluster.nodes (--set axes.cluster.nodes=[...] changes "
      "its values)\n");
}

// A plan that does not fit its cluster is an error of that point alone.
TEST(Sweep, ABadPointIsNoErrorOfTheSweep) {
  const Sweep sweep = good_sweep("axes: {job.tp: [1, 64]}");
  PointStatuses statuses(2);
  complete_statuses(sweep, nullptr, {.library = test::shipped(), .version = "1"}, statuses);
  EXPECT_EQ(statuses[0].state, PointState::kMissing);
  EXPECT_EQ(statuses[1].state, PointState::kInvalid);
  EXPECT_NE(statuses[1].error.find("job.dp: tp 64 x pp 1 = 64 GPUs, but the cluster has 32"), std::string::npos)
      << statuses[1].error;
}

TEST(Sweep, TheKeyFollowsFromWhatTheResultDependsOn) {
  const auto key = [](const std::string& text, std::string_view version = "1") {
    return point_key(resolved(good_sweep(text), 0), version);
  };
  const std::string base = "axes: {cluster.nodes: [2]}\n";
  EXPECT_EQ(key(base), key("axes: {cluster.nodes: [2, 4], seed: [0]}"));  // another sweep with the same point
  EXPECT_EQ(key(base + "set: {cluster.host_link.latency: 1 us}"), key(base + "set: {cluster.host_link.latency: 1000 ns}"));
  EXPECT_NE(key(base), key(base, "2"));
  EXPECT_NE(key(base), key(base + "seed: 1"));
  EXPECT_NE(key(base), key(base + "network: analytic"));
  EXPECT_NE(key(base), key("axes: {cluster.nodes: [4]}"));
  EXPECT_NE(key(base), key(base + "set: {job.model.layers: 8}"));
}

}  // namespace
}  // namespace lockstep
