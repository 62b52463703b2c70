// SPDX-License-Identifier: Apache-2.0
// The library of shipped files: enough of each kind, each says what it is and where it is from, and each runs.
#include <gtest/gtest.h>

#include "sim/experiment/collective.h"
#include "sim/experiment/job_run.h"
#include "sim/experiment/sweep/sweep.h"
#include "sim/experiment/sweep/sweep_run.h"
#include "tests/support/shipped.h"
#include "workloads/import/model_document.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMostGpusAsItIs = 512;  // of clusters that cannot be cut to two nodes

TEST(ShippedFiles, ThereAreEnoughOfEachKind) {
  EXPECT_GE(test::shipped().entries("cluster").size(), 20u);
  EXPECT_GE(test::shipped().entries("model").size(), 20u);
  EXPECT_GE(test::shipped().entries("sweep").size(), 10u);
}

TEST(ShippedFiles, SayWhatTheyAreAndWhereTheyAreFrom) {
  for (const char* kind : {"gpu", "server", "network", "tuning", "software", "cluster", "model", "job", "scenario", "sweep"}) {
    for (const ConfigEntry& e : test::shipped().entries(kind)) {
      Diagnostics d;
      const std::optional<Document> document = Document::load(e.file, d);
      ASSERT_TRUE(document) << e.file;
      for (const char* key : {"what", "source"}) {
        const Node line = document->root().find(key);
        EXPECT_TRUE(line && line.is_scalar() && !line.text().empty()) << e.file << " has no '" << key << "'";
      }
    }
  }
}

// No point of a shipped sweep has a wrong configuration, and few enough have none at all.
TEST(ShippedFiles, EveryPointOfEverySweepCanRun) {
  for (const ConfigEntry& e : test::shipped().entries("sweep")) {
    SCOPED_TRACE(e.name);
    Diagnostics d;
    ReadContext context(d, &test::shipped());
    std::optional<Sweep> sweep;
    if (std::optional<Document> document = Document::load(e.file, d)) {
      sweep = Sweep::load(*std::move(document), {}, context);
    }
    ASSERT_TRUE(sweep) << test::messages(d);
    EXPECT_GT(sweep->size(), 1u);
    PointStatuses statuses(sweep->size());
    complete_statuses(*sweep, nullptr, {.library = test::shipped(), .version = "1"}, statuses);
    for (const PointStatus& s : statuses) EXPECT_EQ(s.state, PointState::kMissing) << s.error;
  }
}

// Two nodes of the cluster, or all of a small one whose wiring names its nodes. One layer of a small model is job enough.
std::optional<Scenario> small_scenario(const std::string& cluster) {
  for (const bool is_cut : {true, false}) {
    Diagnostics d;
    ReadContext context(d, &test::shipped());
    std::vector<std::string> assignments = {"job.model.layers=1", "job.seq_len=128"};
    if (is_cut) assignments.emplace_back("cluster.nodes=2");
    std::optional<Scenario> scenario = load_scenario(
        {.file = {}, .cluster = cluster, .job = "llama3.2-1b-ddp", .assignments = std::move(assignments)}, context);
    if (scenario && scenario->spec.cluster.gpus() <= kMostGpusAsItIs) return scenario;
    if (!is_cut) ADD_FAILURE() << test::messages(d);
  }
  return std::nullopt;
}

std::vector<std::string> names_of(const char* kind, bool (*is_wanted)(const std::string&)) {
  std::vector<std::string> names;
  for (const ConfigEntry& e : test::shipped().entries(kind)) {
    if (is_wanted(e.name)) names.push_back(e.name);
  }
  return names;
}

// As many layers of every model on one node as it takes to have each kind.
std::int64_t few_layers(const std::string& model) {
  Diagnostics d;
  ReadContext context(d, &test::shipped());
  TransformerSpec m;
  if (const auto document = test::shipped().open("model", model, {}, {}, d)) read_model(*document, m, context, {});
  return m.moe ? m.moe->dense_layers + m.moe->interval : 1;
}

TEST(ShippedFiles, EveryModelRunsAStep) {
  for (const ConfigEntry& e : test::shipped().entries("model")) {
    Diagnostics d;
    ReadContext context(d, &test::shipped());
    const std::optional<Scenario> s =
        load_scenario({.file = {},
                       .cluster = "dgx-h100",
                       .job = "llama3.2-1b-ddp",
                       .assignments = {"cluster.nodes=1", "job.model=" + e.name,
                                       "job.model.layers=" + std::to_string(few_layers(e.name)), "job.seq_len=128"}},
                      context);
    ASSERT_TRUE(s) << e.name << "\n" << test::messages(d);
    EXPECT_GT(run_job(s->spec.cluster, s->plan, {.uses_one_thread = true}).step_time_s, 0) << e.name;
  }
}

std::string test_name(const ::testing::TestParamInfo<std::string>& of) {
  std::string name = of.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

bool has_servers(const std::string& cluster) { return test::cluster(cluster).server.has_value(); }
bool is_any(const std::string&) { return true; }

class ShippedCluster : public ::testing::TestWithParam<std::string> {};

// Every byte of an all-reduce reaches a GPU at least once, at no more than the sum of its ports; and no network beats the ideal one.
TEST_P(ShippedCluster, RunsAnAllReduceAndAStep) {
  const std::optional<Scenario> s = small_scenario(GetParam());
  ASSERT_TRUE(s);
  const ClusterSpec& cluster = s->spec.cluster;
  const PreparedCluster prepared(cluster, 0);

  constexpr std::int64_t kBytes = std::int64_t{256} << 20;
  CollectiveRequest request{.sizes = {kBytes}};
  for (std::uint32_t i = 0; i < cluster.gpus(); ++i) request.members.emplace_back(i);
  const CollectiveRow row = run_collective(request, prepared.router, prepared.tunings, NetworkKind::kFlow).front();
  EXPECT_GT(row.time_s, 0);
  if (cluster.node_count() > 1) {
    const double node_rate = cluster.network->nic_rate.bytes_per_second() * cluster.ports_per_node();
    EXPECT_GT(row.time_s, static_cast<double>(kBytes) / node_rate);
  }

  const RunResult result = run_job(prepared, cluster, s->plan, {.uses_one_thread = true});
  EXPECT_GT(result.ideal_step_time_s, 0);
  EXPECT_GE(result.step_time_s, result.ideal_step_time_s);
}

INSTANTIATE_TEST_SUITE_P(ShippedFiles, ShippedCluster, ::testing::ValuesIn(names_of("cluster", has_servers)), test_name);

// On the fewest nodes that its plan allows.
class ShippedJob : public ::testing::TestWithParam<std::string> {};

TEST_P(ShippedJob, RunsAStep) {
  for (const int nodes : {1, 2, 4, 6, 8, 16, 32, 35, 48, 64}) {
    Diagnostics d;
    ReadContext context(d, &test::shipped());
    const std::optional<Scenario> s = load_scenario(
        {.file = {}, .cluster = "dgx-a100", .job = GetParam(), .assignments = {"cluster.nodes=" + std::to_string(nodes)}},
        context);
    if (!s) continue;
    EXPECT_GT(run_job(s->spec.cluster, s->plan, {.network = NetworkKind::kAnalytic, .compares_with_ideal = false}).step_time_s,
              0);
    return;
  }
  FAIL() << "no number of nodes suits it";
}

INSTANTIATE_TEST_SUITE_P(ShippedFiles, ShippedJob, ::testing::ValuesIn(names_of("job", is_any)), test_name);

}  // namespace
}  // namespace lockstep
