// SPDX-License-Identifier: Apache-2.0
// Completion times next to other programs' (tests/data/oracle/README.md): the whole way from the shipped cluster file over routing and
// `after` to the last completion, by every strategy of the solver.
#include <gtest/gtest.h>

#include <fstream>

#include "base/csv.h"
#include "sim/experiment/traffic.h"
#include "sim/network/flow_network.h"
#include "sim/network/link_capacities.h"
#include "tests/support/bench_workloads.h"
#include "tests/support/cluster_fixtures.h"

namespace lockstep {
namespace {

using max_min::Strategy;

// Picoseconds of "0.016004000000".
std::int64_t picos(std::string_view seconds) {
  const std::size_t point = seconds.find('.');
  EXPECT_EQ(seconds.size(), point + 13) << seconds;
  return std::stoll(std::string(seconds.substr(0, point))) * kPicosPerSecond +
         std::stoll(std::string(seconds.substr(point + 1)));
}

struct OracleRow {
  std::uint32_t src;
  std::uint32_t dst;
  std::int64_t bytes;
  std::int64_t end_ps;
};

std::vector<OracleRow> read_oracle(const std::string& name) {
  std::ifstream in(std::string(LOCKSTEP_TEST_DATA "/oracle/") + name);
  Diagnostics d;
  CsvReader csv(in, name, d);
  const std::size_t end = csv.column("end_s") == CsvReader::npos ? csv.column("fct_s") : csv.column("end_s");
  std::vector<OracleRow> rows;
  while (csv.next()) {
    const auto number = [&](const char* column) { return std::stoll(std::string(csv[csv.column(column)])); };
    rows.push_back({static_cast<std::uint32_t>(number("src")), static_cast<std::uint32_t>(number("dst")), number("bytes"),
                    picos(csv[end])});
  }
  EXPECT_FALSE(d.has_errors());
  return rows;
}

TrafficTable table_of(const std::vector<test::BenchFlow>& flows) {
  TrafficTable table;
  for (const test::BenchFlow& f : flows) {
    std::vector<std::uint32_t> after;
    if (f.after >= 0) after.push_back(static_cast<std::uint32_t>(f.after));
    table.add(EndpointId(f.src), EndpointId(f.dst), f.bytes, {}, test::bench_spine(f.src, f.dst), after);
  }
  return table;
}

TrafficResult run(const TrafficTable& table, int hosts, Strategy strategy, const std::string& host_latency,
                  const std::string& fabric_latency) {
  const ClusterSpec cluster = test::shipped_cluster(
      "bench-leaf-spine",
      {"endpoints=" + std::to_string(hosts), "host_link.latency=" + host_latency, "fabric_link.latency=" + fabric_latency});
  const Network network = build_network(cluster);
  const Router router = make_router(cluster, network, 0);
  const TrafficRoutes routes(table, router);
  FlowNetwork flow(link_capacities(network), {.strategy = strategy});
  return run_traffic(table, routes, flow);
}

// Every completion within 1e-9 t + 2 ps of the oracle, and the same picosecond whatever the strategy.
void expect_oracle(const std::string& oracle, const std::vector<test::BenchFlow>& flows, int hosts,
                   const std::string& host_latency = "1 us", const std::string& fabric_latency = "1 us") {
  const std::vector<OracleRow> rows = read_oracle(oracle);
  const TrafficTable table = table_of(flows);
  ASSERT_EQ(rows.size(), table.size());
  const TrafficResult result = run(table, hosts, Strategy::kAuto, host_latency, fabric_latency);
  std::int64_t worst_ps = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i].src, table.src[i].value());
    ASSERT_EQ(rows[i].dst, table.dst[i].value());
    ASSERT_EQ(rows[i].bytes, table.bytes[i]);
    const std::int64_t off = std::abs(result.end[i].picos() - rows[i].end_ps);
    worst_ps = std::max(worst_ps, off);
    ASSERT_LE(static_cast<double>(off), 1e-9 * static_cast<double>(rows[i].end_ps) + 2) << oracle << " row " << i;
  }
  ::testing::Test::RecordProperty("worst_ps", static_cast<int>(worst_ps));
  for (const Strategy s : {Strategy::kLocal, Strategy::kGlobal}) {
    EXPECT_EQ(run(table, hosts, s, host_latency, fabric_latency).end, result.end);
  }
}

TEST(FlowOracle, PermutationOf128MatchesSimGrid) { expect_oracle("simgrid_w1_n128.csv", test::permutation_flows(128), 128); }
TEST(FlowOracle, PermutationOf128MatchesExactRationals) { expect_oracle("ref_w1_n128.csv", test::permutation_flows(128), 128); }
TEST(FlowOracle, PermutationOf1024MatchesSimGrid) {
  expect_oracle("simgrid_w1_n1024.csv", test::permutation_flows(1024), 1024);
}

TEST(FlowOracle, PermutationOf128WithDistinctSizesMatchesSimGrid) {
  expect_oracle("simgrid_w1h_n128.csv", test::permutation_distinct_flows(128), 128);
}
TEST(FlowOracle, PermutationOf1024WithDistinctSizesMatchesSimGrid) {
  expect_oracle("simgrid_w1h_n1024.csv", test::permutation_distinct_flows(1024), 1024);
}

TEST(FlowOracle, StepLevelRingOf64ThroughAfterMatchesSimGrid) {
  expect_oracle("simgrid_w2_n64.csv", test::ring_all_reduce_flows(64), 64);
}

TEST(FlowOracle, AllToAllOf64WithoutLatencyMatchesSimGrid) {
  expect_oracle("simgrid_w3_n64_lat0.csv", test::all_to_all_flows(64), 64, "0 ns", "0 ns");
}
TEST(FlowOracle, AllToAllOf64WithUniformLatencyMatchesSimGrid) {
  expect_oracle("simgrid_w3_n64_uniformlat.csv", test::all_to_all_flows(64), 64, "2 us", "0 ns");
}

TEST(FlowOracle, AllToAllOf32WithDistinctSizesMatchesSimGrid) {
  expect_oracle("simgrid_w3h_n32_lat0.csv", test::all_to_all_distinct_flows(32), 32, "0 ns", "0 ns");
}
TEST(FlowOracle, AllToAllOf64WithDistinctSizesMatchesSimGrid) {
  expect_oracle("simgrid_w3h_n64_lat0.csv", test::all_to_all_distinct_flows(64), 64, "0 ns", "0 ns");
}

}  // namespace
}  // namespace lockstep
