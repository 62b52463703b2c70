// SPDX-License-Identifier: Apache-2.0
// Several jobs on one network. The cluster: four nodes of 8 H100, two under each leaf, 4:1 oversubscribed.
#include "sim/experiment/shared_run.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <numeric>

#include "sim/experiment/runnable_job.h"
#include "sim/report/render.h"
#include "tests/support/shipped.h"
#include "workloads/schedule/combined_program.h"
#include "workloads/schedule/training_program.h"

namespace lockstep {
namespace {

constexpr const char* kScenario = R"(kind: scenario
cluster:
  preset: h100-roce-oversubscribed
  nodes: 4
  network: roce-8x100
  fabric: {nodes_per_leaf: 2, oversubscription: 4}
  fabric_link: {cables: 1, speed: 100 Gbps}
jobs:
  - {name: small, job: llama3.2-1b-ddp, placement: {hosts: [0-1]}}
  - {name: large, job: llama3-8b-fsdp, placement: {hosts: [2-3]}}
)";

struct Read {
  std::optional<Scenario> scenario;
  std::string errors;
};

Read read(const std::string& text, const std::vector<std::string>& sets = {}) {
  Diagnostics d;
  ReadContext context(d, &test::shipped());
  std::optional<Document> document = Document::parse(text, "s.yaml", d);
  for (const std::string& s : sets) document->set(s, d);
  Read out{read_scenario(*document, context), {}};
  out.errors = test::messages(d);
  return out;
}

SharedRunResult run(const Scenario& s, const RunOptions& options = {.compares_with_ideal = false}) {
  return run_jobs(PreparedCluster(s.spec.cluster, options.seed), s.spec.cluster, s.jobs, options);
}

SharedRunResult run_with(const std::vector<std::string>& sets, const RunOptions& options = {.compares_with_ideal = false}) {
  const Read r = read(kScenario, sets);
  EXPECT_TRUE(r.scenario) << r.errors;
  return run(*r.scenario, options);
}

// Leaves 0 and 1 share nothing. ECMP hashes know a job's ranks by their numbers in the job.
TEST(SharedRun, JobsOnLeavesOfTheirOwnDoNotSlowEachOther) {
  for (const char* routing : {"spray", "ecmp"}) {
    const SharedRunResult r = run_with({std::string("cluster.routing=") + routing, "jobs.1.start=20 ms"});
    ASSERT_EQ(r.jobs.size(), 2u);
    EXPECT_EQ(r.jobs[0].slowdown, 1.0);
    EXPECT_EQ(r.jobs[1].slowdown, 1.0);
    EXPECT_EQ(r.jobs[1].start_s, 0.02);
    for (const SharedJob& job : r.jobs) {
      EXPECT_EQ(job.run.step_time_s, job.alone_step_time_s);
      EXPECT_NEAR(std::accumulate(job.run.breakdown_s.begin(), job.run.breakdown_s.end(), 0.0), job.run.step_time_s, 1e-12);
    }
    EXPECT_GT(r.jobs[0].steps + r.jobs[1].steps, 2);
  }
}

// A job that shares nothing is not slowed down by others when a fault is over before it starts, nor when one comes while it runs: alone it would have met
// the same. What took effect is told once, for all.
TEST(SharedRun, FaultsThatComeAndGoAreNoFaultOfTheOthers) {
  for (const char* window : {"until: 20 ms", "from: 40 ms, until: 60 ms"}) {
    const SharedRunResult r = run_with({std::string("cluster.faults=[{nic: node2.nic0, rate: 1 %, ") + window + "}]",
                                        "cluster.routing=spray", "jobs.1.start=30 ms"});
    EXPECT_EQ(r.jobs[0].slowdown, 1.0) << window;
    EXPECT_EQ(r.jobs[1].slowdown, 1.0) << window;
    EXPECT_EQ(r.jobs[1].alone_step_time_s, r.jobs[1].run.step_time_s) << window;
    ASSERT_EQ(r.faults.size(), 1u) << window;
    EXPECT_EQ(r.faults[0].times, 1) << window;
  }
}

// Slow GPUs stretch kernels, not the time before the start.
TEST(SharedRun, ALateJobOnSlowGpusStartsOnTime) {
  const SharedRunResult r = run_with({"cluster.stragglers={gpus: [3, 20], slowdown: 10 %}", "jobs.1.start=30 ms"});
  EXPECT_EQ(r.jobs[0].slowdown, 1.0);
  EXPECT_EQ(r.jobs[1].slowdown, 1.0);
  EXPECT_EQ(r.jobs[0].run.slow_gpus, 1);
  EXPECT_EQ(r.jobs[1].run.slow_gpus, 1);
}

// Every ring of both now crosses between the leaves, where a quarter of the bandwidth is.
TEST(SharedRun, JobsThatShareSpinesSlowEachOther) {
  const std::vector<std::string> interleaved = {"jobs.0.placement.hosts=[0, 2]", "jobs.1.placement.hosts=[1, 3]"};
  const SharedRunResult r = run_with(interleaved);
  EXPECT_GT(r.jobs[0].slowdown, 1.01);
  EXPECT_GT(r.jobs[1].slowdown, 1.01);
  const SharedRunResult analytic = run_with(interleaved, {.network = NetworkKind::kAnalytic, .compares_with_ideal = false});
  EXPECT_EQ(analytic.jobs[0].slowdown, 1.0);  // no contention there
  EXPECT_EQ(analytic.jobs[1].slowdown, 1.0);
}

// A job alone is the same job in a list of length one, to the picosecond.
TEST(SharedRun, OneJobIsARunOfThatJob) {
  const Read one = read(R"(kind: scenario
cluster: {preset: h100-roce-oversubscribed, nodes: 4, routing: ecmp}
jobs: [{name: only, job: llama3-8b-fsdp, gpus: 32, placement: spread}]
)");
  ASSERT_TRUE(one.scenario) << one.errors;
  const Scenario single = test::scenario(
      "llama3-8b-fsdp", {"cluster={preset: h100-roce-oversubscribed, nodes: 4, routing: ecmp}", "job.placement=spread"});
  const SharedRunResult shared = run(*one.scenario);
  const RunResult alone = run_job(single.spec.cluster, single.plan, {.compares_with_ideal = false});
  EXPECT_EQ(shared.jobs[0].slowdown, 1.0);
  EXPECT_EQ(shared.jobs[0].run.step_time_s, alone.step_time_s);
  EXPECT_EQ(shared.jobs[0].run.breakdown_s, alone.breakdown_s);
  EXPECT_EQ(shared.fingerprint, alone.fingerprint);
  EXPECT_EQ(shared.events, alone.events);
  ASSERT_EQ(shared.links.size(), alone.links.size());
  for (std::size_t i = 0; i < alone.links.size(); ++i) EXPECT_EQ(shared.links[i].bytes, alone.links[i].bytes);
}

// Nothing is lost or doubled: a link carries what every job puts on it alone, times its steps.
TEST(SharedRun, BytesOnLinksAreTheSumOverJobs) {
  const Read r = read(kScenario, {"jobs.0.placement.hosts=[0, 2]", "jobs.1.placement.hosts=[1, 3]"});
  ASSERT_TRUE(r.scenario) << r.errors;
  const ClusterSpec& cluster = r.scenario->spec.cluster;
  const PreparedCluster prepared(cluster, 0);
  const RunOptions options{.uses_symmetry = false};
  const auto places = place_jobs(r.scenario->jobs, prepared.network, 0);
  const auto bytes = [&](const Program& program, std::vector<EndpointId> at) {
    const RunnableJob job(prepared, cluster, program, std::move(at), options);
    const std::unique_ptr<NetworkModel> model = make_network_model(NetworkKind::kFlow, job.job.link_capacities());
    const Instant end = Instant() + job.run(*model, options, false).step_time;
    std::map<std::uint32_t, std::int64_t> out;
    for (std::size_t c = 0; c < job.job.link_capacities().size(); ++c) {
      out[job.job.representative(LinkId::from_index(c)).value()] = model->usage(LinkId::from_index(c), end).bytes;
    }
    return out;
  };
  const GpuPerformance gpu = performance_of(cluster.server->gpu);
  const TrainingProgram small(r.scenario->jobs[0].plan, gpu);
  const TrainingProgram large(r.scenario->jobs[1].plan, gpu);
  std::map<std::uint32_t, std::int64_t> sum;
  for (const auto& [link, n] : bytes(small, places[0])) sum[link] += 2 * n;
  for (const auto& [link, n] : bytes(large, places[1])) sum[link] += n;
  std::vector<EndpointId> all = places[0];
  all.insert(all.end(), places[1].begin(), places[1].end());
  const auto together = bytes(CombinedProgram({{small, Duration::micros(5), 2}, {large, {}, 1}}), all);
  EXPECT_EQ(together, sum);
  EXPECT_FALSE(together.empty());
}

// Those that name nodes come first, whatever their place in the list; the others get what is left.
TEST(SharedRun, JobsWithoutPlacementGetTheNodesThatAreLeft) {
  const Read r = read(R"(kind: scenario
cluster: {preset: h100-roce-oversubscribed, nodes: 8}
jobs:
  - {name: a, job: llama3-8b-fsdp, gpus: 16}
  - {name: b, job: llama3.2-1b-ddp, gpus: 8, placement: {policy: packed}}
  - {name: c, job: llama3.2-1b-ddp, placement: {hosts: [1, 7]}}
)");
  ASSERT_TRUE(r.scenario) << r.errors;
  const PreparedCluster prepared(r.scenario->spec.cluster, 0);
  const auto places = place_jobs(r.scenario->jobs, prepared.network, 0);
  const auto nodes = [&](std::size_t j) {
    std::vector<std::uint32_t> out;
    for (const EndpointId e : places[j]) {
      if (out.empty() || out.back() != prepared.network.node_of(e).value()) out.push_back(prepared.network.node_of(e).value());
    }
    return out;
  };
  EXPECT_EQ(nodes(0), (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(nodes(1), (std::vector<std::uint32_t>{3}));
  EXPECT_EQ(nodes(2), (std::vector<std::uint32_t>{1, 7}));
}

TEST(SharedRun, WhatCannotShareSaysWhy) {
  const auto expect = [](const std::vector<std::string>& sets, const char* text) {
    const Read r = read(kScenario, sets);
    EXPECT_FALSE(r.scenario);
    EXPECT_NE(r.errors.find(text), std::string::npos) << r.errors;
  };
  expect({"jobs.1.placement.hosts=[1-2]"},
         "s.yaml:10:51: error: jobs[1].placement: 'small' and 'large' both have GPU 0 of node 1");
  expect({"jobs.1.name=small"}, "jobs[1].name: 'small' is the name of another job");
  expect({"jobs.1.placement=packed"}, "jobs[1]: 'large' does not say how many GPUs it takes");
  expect({"jobs.1.placement=packed", "jobs.1.gpus=24"}, "jobs[1]: 'large' needs 3 nodes, but the jobs before it leave 2");
  expect({"jobs.1.job.tp=3"}, "jobs[1].job.tp: 32 attention heads are not divisible by tp 3");
  expect({"jobs.1.gpus=12"}, "jobs[1].gpus: 12 GPUs are no whole number of nodes of 8");
  expect({"job=llama3-8b-fsdp"}, "jobs: there is a job besides");
  expect({"jobs.1.start=3"}, "'3' has no unit");
  expect({"jobs=[]"}, "job: there is nothing to run");
}

// Cells of tables: those of a run, numbered by job.
TEST(SharedRun, TablesHaveColumnsByJob) {
  const SharedRunResult r = run_with({});
  const Cells cells = cells_of_record(to_record(r));
  const auto has = [&](const std::string& key) {
    return std::any_of(cells.begin(), cells.end(), [&](const auto& cell) { return cell.first == key; });
  };
  for (const char* key :
       {"gpus", "jobs.0.name", "jobs.1.slowdown", "jobs.1.breakdown_s.dp", "jobs.0.locality.dp.between_racks", "fingerprint"}) {
    EXPECT_TRUE(has(key)) << key;
  }
  for (const char* key : {"jobs.0.links.0.name", "links.0.name", "jobs.0.seed", "jobs.0.version"})
    EXPECT_FALSE(has(key)) << key;
  EXPECT_NE(to_table(r).find("Slow-downs"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
