// SPDX-License-Identifier: Apache-2.0
#include "workloads/parallel/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "sim/experiment/cluster_run.h"
#include "tests/support/document_text.h"
#include "tests/support/shipped.h"
#include "tests/support/workload_fixtures.h"
#include "topology/server/nvswitch_server.h"
#include "workloads/parallel/locality.h"
#include "workloads/schedule/training_program.h"

namespace lockstep {
namespace {

// 16 nodes of 4 GPUs: racks of 2 nodes, pods of 2 racks.
const Network& network() {
  static const Network net({.nodes = 16,
                            .server = NvSwitchServer({.gpus = 4, .nics = 4}),
                            .fabric = {.nodes_per_leaf = 2, .leaves_per_pod = 2, .spines = 2, .cores_per_spine = 2}});
  return net;
}

std::vector<std::uint32_t> chosen(const PlacementSpec& spec, std::int64_t count, const NodeMask& occupied = {},
                                  std::uint64_t seed = 0) {
  std::vector<std::uint32_t> out;
  for (const NodeId n : choose_nodes(spec, count, network(), seed, occupied)) out.push_back(n.value());
  return out;
}

using Nodes = std::vector<std::uint32_t>;

NodeMask all_but(const std::set<std::size_t>& free) {
  NodeMask mask(16, true);
  for (const std::size_t n : free) mask[n] = false;
  return mask;
}

TEST(Placement, PackedTakesNodesInOrder) {
  ASSERT_EQ(network().rack_count(), 8u);
  ASSERT_EQ(network().pod_count(), 4u);
  EXPECT_EQ(chosen({}, 3), (Nodes{0, 1, 2}));
  EXPECT_EQ(chosen({}, 3, all_but({1, 5, 9, 12})), (Nodes{1, 5, 9}));
}

// Pods {0-3}, {4-7}, {8-11}, {12-15}, each with two racks. First the pods in turn, then the other rack of each, then the second nodes.
TEST(Placement, SpreadTakesPodsInTurnThenRacks) {
  const PlacementSpec spread{.policy = PlacementPolicy::kSpread};
  EXPECT_EQ(chosen(spread, 16), (Nodes{0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15}));
  EXPECT_EQ(chosen(spread, 4, all_but({0, 1, 2, 5, 13})), (Nodes{0, 5, 13, 2}));
}

// Free: rack 0 whole, rack 2 half, rack 3 whole, rack 5 half. Three nodes fit into no rack: a whole one and one that is half free; racks 2 and 3 are one
// pod. One node fits into each of the four: the one it fills. Two nodes: of the whole racks that with the smaller pod, pod 0.
TEST(Placement, RackAwareTakesTheFewestRacksAndTheBestFit) {
  const PlacementSpec rack_aware{.policy = PlacementPolicy::kRackAware};
  const NodeMask busy = all_but({0, 1, 5, 6, 7, 11});
  EXPECT_EQ(chosen(rack_aware, 3, busy), (Nodes{5, 6, 7}));
  EXPECT_EQ(chosen(rack_aware, 1, busy), (Nodes{11}));
  EXPECT_EQ(chosen(rack_aware, 2, busy), (Nodes{0, 1}));
  EXPECT_EQ(chosen(rack_aware, 4, busy), (Nodes{0, 1, 6, 7}));
  EXPECT_EQ(chosen(rack_aware, 6, busy), (Nodes{0, 1, 5, 6, 7, 11}));
}

TEST(Placement, RandomIsAnOrderOfTheNodesDrawnByTheSeed) {
  const PlacementSpec random{.policy = PlacementPolicy::kRandom};
  Nodes drawn = chosen(random, 16, {}, 1);
  EXPECT_EQ(drawn, chosen(random, 16, {}, 1));
  EXPECT_NE(drawn, chosen(random, 16, {}, 2));
  EXPECT_EQ(drawn, chosen({.policy = PlacementPolicy::kRandom, .seed = 1}, 16, {}, 2));  // its own seed goes first
  // A smaller job gets the first of them, wherever the others are.
  EXPECT_EQ(chosen(random, 5, {}, 1), Nodes(drawn.begin(), drawn.begin() + 5));
  std::sort(drawn.begin(), drawn.end());
  Nodes all(16);
  std::iota(all.begin(), all.end(), 0u);
  EXPECT_EQ(drawn, all);
}

// 25 % of 16 nodes are 4; the free ones of 50 % are among the free ones of 25 %.
TEST(Placement, TakenNodesAreLeftOut) {
  const Nodes quarter = chosen({.taken = {0.25}}, 12);
  EXPECT_TRUE(std::is_sorted(quarter.begin(), quarter.end()));
  const Nodes half = chosen({.taken = {0.5}}, 8);
  EXPECT_TRUE(std::includes(quarter.begin(), quarter.end(), half.begin(), half.end()));
  EXPECT_NE(quarter, chosen({.taken = {0.25}}, 12, {}, 1));
  EXPECT_EQ(taken_nodes({0.29}, 100), 29);
  EXPECT_EQ(taken_nodes({0.25}, 7), 1);
  try {
    chosen({.taken = {0.25}}, 13);
    FAIL();
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("the job needs 13 nodes, but 12 of 16 are free"), std::string::npos) << e.what();
  }
}

// tp 2, dp 3, pp 2: rank = (pp x 3 + dp) x 2 + tp. In the order pp-tp-cp-dp the slot is (dp x 2 + tp) x 2 + pp.
TEST(Placement, RanksAreDealtInTheRankOrder) {
  const ParallelLayout layout({.tp = 2, .dp = 3, .pp = 2});
  const RankOrder order = *Codec<RankOrder>::parse("pp-tp-cp-dp").value;
  for (std::uint32_t r = 0; r < 12; ++r) {
    EXPECT_EQ(slot_of(layout, {}, Rank(r)), r);
    const Coordinates at = layout.coordinates(Rank(r));
    EXPECT_EQ(slot_of(layout, order, Rank(r)), (at.dp * 2 + at.tp) * 2 + at.pp);
  }
  EXPECT_EQ(Codec<RankOrder>::print(order), "pp-tp-cp-dp");
  for (const char* wrong : {"", "tp", "tp-cp-dp", "tp-cp-dp-dp", "tp-cp-dp-pp-", "tp-cp-dp-ep", "tp-cp-dp-pp-tp"}) {
    EXPECT_FALSE(Codec<RankOrder>::parse(wrong)) << wrong;
  }
}

JobSpec small_job(std::int64_t tp, std::int64_t pp) {
  JobSpec job;
  job.model = test::tiny(4);
  job.seq_len = 128;
  job.tp = tp;
  job.pp = pp;
  job.gradient_accumulation = 2;
  return job;
}

std::vector<EndpointId> placed(const JobSpec& job, const ClusterSize& cluster = {64, 4}) {
  Diagnostics d;
  const auto plan = resolve_plan(
      job, cluster, [](std::string_view) { return Position{}; }, d);
  if (!plan) throw std::runtime_error(test::all_text(d));
  return place_ranks(*plan, network(), 0);
}

// tp 2 x pp 2 on nodes of 4: packed, a data-parallel group has two GPUs of each of 8 nodes; rail-aligned, the same one of all 16.
TEST(Placement, RailAlignedGroupsHaveOneGpuOfEveryNode) {
  JobSpec job = small_job(2, 2);
  const auto gpus_of_group = [&](const JobSpec& j) {
    const std::vector<EndpointId> at = placed(j);
    const ParallelLayout layout({.tp = 2, .dp = 16, .pp = 2});
    std::set<std::uint32_t> local;
    for (std::uint32_t d = 0; d < 16; ++d) local.insert(at[layout.rank_of({.tp = 1, .dp = d, .pp = 1}).index()].value() % 4);
    return local;
  };
  EXPECT_EQ(gpus_of_group(job), (std::set<std::uint32_t>{1, 3}));
  job.placement.policy = PlacementPolicy::kRailAligned;
  EXPECT_EQ(gpus_of_group(job), (std::set<std::uint32_t>{3}));
}

TEST(Placement, AJobMayTakePartOfTheClusterOrOfANode) {
  JobSpec job = small_job(1, 1);
  job.gpus = 8;
  EXPECT_EQ(placed(job).size(), 8u);
  job.placement.hosts = {5, 2};
  EXPECT_EQ(placed(job)[0], EndpointId(20));
  EXPECT_EQ(placed(job)[4], EndpointId(8));
  job.gpus.reset();  // those of the hosts
  EXPECT_EQ(placed(job).size(), 8u);
  job.placement = {.endpoints = {IndexRange(3), IndexRange(1)}};
  job.gpus = 2;
  EXPECT_EQ(placed(job), (std::vector<EndpointId>{EndpointId(3), EndpointId(1)}));
  job = small_job(1, 1);
  job.gpus = 3;  // within a node
  EXPECT_EQ(placed(job).back(), EndpointId(2));
  job = small_job(1, 1);
  job.placement.taken = {0.25};  // all that are free
  EXPECT_EQ(placed(job).size(), 48u);
}

std::string faults(const JobSpec& job, const ClusterSize& cluster) {
  Diagnostics d;
  (void)resolve_plan(
      job, cluster,
      [](std::string_view) {
        return Position{"j.yaml", 1, 1};
      },
      d);
  return test::all_text(d);
}

TEST(Placement, WhatDoesNotFitSaysWhatDoes) {
  const auto expect = [](const JobSpec& job, const char* text) {
    EXPECT_NE(faults(job, {64, 4}).find(text), std::string::npos) << faults(job, {64, 4});
  };
  JobSpec job = small_job(1, 1);
  job.gpus = 72;
  expect(job, "gpus: 72 GPUs, but the cluster has 64");
  job.gpus = 10;
  expect(job, "gpus: 10 GPUs are no whole number of nodes of 4 (8 or 12; ");
  job.gpus = 56;
  job.placement.taken = {0.25};
  expect(job, "gpus: the job needs 14 nodes, but its placement has 12 of 16 (at most 48 GPUs, or another placement)");
  job.placement = {.hosts = {IndexRange(0, 2, 1)}};
  expect(job, "the job needs 14 nodes, but its placement has 3 of 16");
  job.gpus = 4;
  expect(job, "placement: 3 hosts for 4 GPUs (1 hosts, or no gpus)");
  job.gpus.reset();
  job.placement.hosts = {3, 3};
  expect(job, "placement: node 3 is named twice");
  job.placement.hosts = {16};
  expect(job, "placement: the cluster has no node 16 (nodes are 0 to 15)");
  job.placement = {.endpoints = {0}};
  expect(job, "placement: 1 endpoints for 64 ranks (one endpoint per rank; gpus: 1 for a job that leaves others free)");
  job.placement = {.taken = {1}};
  expect(job, "placement: others have taken every node");
  job.placement = {.policy = PlacementPolicy::kRailAligned};
  job.rank_order = RankOrder{};
  expect(job, "rank_order: placement: rail_aligned has an order of its own");
  job = small_job(2, 3);
  job.gpus = 24;
  job.placement.policy = PlacementPolicy::kRailAligned;
  expect(job, "a replica of tp 2 x pp 3 = 6 GPUs begins on another GPU of each node of 4");
  job = small_job(2, 1);
  job.dp = 8;
  expect(
      job,
      "tp 2 x pp 1 x dp 8 = 16 GPUs, but the cluster has 64: the job must fill the cluster (dp 32 or dp: auto, or gpus: 16)");
  job.gpus = 32;
  expect(job, "tp 2 x pp 1 x dp 8 = 16 GPUs, but the job takes 32: the job must fill them (dp 16 or dp: auto, or gpus: 16)");
}

// What may stand after `placement:`; each reads as the job prints it.
TEST(Placement, IsAPolicyAListOrAMap) {
  const auto read = [](const std::string& value, const std::vector<std::string>& sets = {}) {
    Diagnostics d;
    std::optional<Document> document = Document::parse(
        "kind: job\nmodel: llama3-8b\nseq_len: 128\n" + (value.empty() ? "" : "placement: " + value), "j.yaml", d);
    for (const std::string& s : sets) document->set(s, d);
    ReadContext context(d, &test::shipped());
    JobSpec job;
    job_fields().read_document(*document, job, context);
    if (d.has_errors()) return test::all_text(d);
    ConfigPrinter printer;
    job_fields().print(job, printer);
    const std::size_t begin = printer.text().find("placement:");
    if (begin == std::string::npos) return std::string("packed");
    std::string text = printer.text().substr(begin, printer.text().find("strategy:") - begin);
    text.erase(std::remove(text.begin(), text.end(), '\n'), text.end());
    return text;
  };
  EXPECT_EQ(read(""), "packed");
  EXPECT_EQ(read("packed"), "packed");
  EXPECT_EQ(read("spread"), "placement:  policy: spread  taken: 0%");
  EXPECT_EQ(read("[8-15, 0-7]"), "placement:  policy: packed  taken: 0%  endpoints: [8-15, 0-7]");
  EXPECT_EQ(read("{policy: random, seed: 7, taken: 25%}"), "placement:  policy: random  seed: 7  taken: 25%");
  EXPECT_EQ(read("random", {"placement.taken=25%"}), "placement:  policy: random  taken: 25%");
  EXPECT_EQ(read("", {"placement.hosts=[3, 0-1]"}), "placement:  policy: packed  taken: 0%  hosts: [3, 0-1]");
  EXPECT_EQ(read("nearby"),
            "j.yaml:4:12: error: placement: 'nearby' is not one of the choices (one of packed, spread, random, rack_aware, "
            "rail_aligned)\n");
  EXPECT_NE(read("[0-x]").find("j.yaml:4:13: error: placement[0]: "), std::string::npos) << read("[0-x]");
  EXPECT_NE(read("{polcy: spread}").find("placement.polcy: unknown key 'polcy' (did you mean 'policy'?)"), std::string::npos)
      << read("{polcy: spread}");
  EXPECT_NE(read("{policy: spread, hosts: [0]}").find("placement.policy: has nothing to choose beside hosts"),
            std::string::npos);
  EXPECT_NE(read("[0]", {"placement.taken=5%"}).find("is not an index into a list"), std::string::npos);
  EXPECT_NE(read("{hosts: [0], endpoints: [0]}").find("endpoints say already where ranks run"), std::string::npos);
}

// 64 GPUs, tp 4 fills a node, pp 2: two groups of 8 replicas, a ring through 8 nodes in 4 racks and 2 pods. Edges: 8 between nodes, of which 4 between
// racks (nodes 2i+1 to 2i+2), of which 2 between pods.
TEST(Locality, CountsWhatLeavesNodesRacksAndPods) {
  JobSpec job = small_job(4, 2);
  job.model = test::tiny(4);
  const TrainingPlan plan = *resolve_plan(job, {64, 4}, ReportFault());
  const TrainingProgram program(plan, test::ideal_gpu());
  std::vector<GroupLocality> groups = job_locality(program, plan.layout, place_ranks(plan, network(), 0), network());
  ASSERT_EQ(groups.size(), 3u);
  const GroupLocality& tp = groups[0];
  EXPECT_EQ(tp.name, "tp");
  EXPECT_EQ(tp.groups, 16);
  EXPECT_EQ(tp.nodes, 16);
  EXPECT_EQ(tp.edges, 64);
  EXPECT_EQ(tp.edges_between_nodes, 0);
  const GroupLocality& dp = groups[1];
  EXPECT_EQ(dp.name, "dp");
  EXPECT_EQ(dp.groups, 8);
  EXPECT_EQ(dp.size, 8);
  EXPECT_EQ(dp.mean(dp.nodes), 8);
  EXPECT_EQ(dp.mean(dp.racks), 4);
  EXPECT_EQ(dp.mean(dp.pods), 2);
  EXPECT_EQ(dp.edges, 64);
  EXPECT_EQ(dp.share(dp.edges_between_nodes), 1);
  EXPECT_EQ(dp.share(dp.edges_between_racks), 0.5);
  EXPECT_EQ(dp.share(dp.edges_between_pods), 0.25);
  const GroupLocality& pp = groups[2];  // from node n to node n + 8
  EXPECT_EQ(pp.name, "pp");
  EXPECT_EQ(pp.groups, 32);
  EXPECT_EQ(pp.edges, 32);
  EXPECT_EQ(pp.share(pp.edges_between_pods), 1);

  // Spread, every other node is in another pod: all edges of the rings leave the pod.
  TrainingPlan far = plan;
  far.job.placement.policy = PlacementPolicy::kSpread;
  groups = job_locality(program, far.layout, place_ranks(far, network(), 0), network());
  EXPECT_EQ(groups[1].share(groups[1].edges_between_pods), 1);
  EXPECT_EQ(groups[2].share(groups[2].edges_between_pods), 0);  // slot s and s + 8: the same pod and rack, see above
  EXPECT_EQ(groups[2].share(groups[2].edges_between_racks), 0);
}

// A box on its own has no switches, and so no racks: its one node is the answer of every policy.
TEST(Placement, EveryPolicyWorksOnOneNodeWithoutANetwork) {
  for (const char* policy : {"packed", "spread", "random", "rack_aware", "rail_aligned"}) {
    const Scenario s =
        test::scenario("llama3.2-1b-ddp", {"cluster={nodes: 1, server: dgx-h100}", std::string("job.placement=") + policy});
    const PreparedCluster prepared(s.spec.cluster, 0);
    std::vector<EndpointId> placement = place_ranks(s.plan, prepared.network, 0);
    std::sort(placement.begin(), placement.end());
    for (std::uint32_t g = 0; g < 8; ++g) EXPECT_EQ(placement[g], EndpointId(g)) << policy;
  }
}

}  // namespace
}  // namespace lockstep
