// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/routing_comparison.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/median.h"
#include "base/wide.h"
#include "sim/experiment/hottest_link.h"
#include "sim/experiment/traffic.h"

namespace lockstep {
namespace {

// One run.
struct Outcome {
  std::string algorithm;
  double time_s = 0;
  double busbw_gb_per_s = 0;
  double mean_fct_s = 0;
  double slowest_fct_s = 0;
  double hottest_s = 0;
  double collision = 0;
};
using Outcomes = std::vector<Outcome>;  // by size; of flows one

double median_of(const Outcomes& runs, double Outcome::*member) {
  std::vector<double> values;
  for (const Outcome& o : runs) values.push_back(o.*member);
  return median(std::move(values));
}

// `runs`: by seed.
RoutingRow row_of(const Routing& routing, const Outcomes& runs, const Outcome& spread) {
  RoutingRow row{.routing = to_text(routing), .seeds = static_cast<int>(runs.size()), .algorithm = runs.front().algorithm};
  const auto slower = [](const Outcome& a, const Outcome& b) { return a.time_s < b.time_s; };
  const Outcome& worst = *std::max_element(runs.begin(), runs.end(), slower);
  row.time_s = median_of(runs, &Outcome::time_s);
  row.worst_time_s = worst.time_s;
  row.worst_busbw_gb_per_s = worst.busbw_gb_per_s;
  // Of a size busbw x time is a constant.
  row.busbw_gb_per_s = row.time_s > 0 ? worst.busbw_gb_per_s * worst.time_s / row.time_s : 0;
  row.mean_fct_s = median_of(runs, &Outcome::mean_fct_s);
  row.slowest_fct_s = median_of(runs, &Outcome::slowest_fct_s);
  if (runs.front().hottest_s > 0) row.collision = median_of(runs, &Outcome::collision);
  row.loss = spread.time_s > 0 ? row.time_s / spread.time_s - 1 : 0;
  return row;
}

// run(routing, seed, algorithm) gives the outcomes by size; algorithm "": as asked for.
template <class Run>
std::vector<RoutingRow> compare(const RoutingTrial& trial, const Run& run) {
  // The choice of an algorithm may depend on the routing, so loads are compared with those of the same one.
  std::map<std::string, Outcomes> spread_by_algorithm;
  const auto spread = [&](const std::string& algorithm) -> const Outcomes& {
    Outcomes& known = spread_by_algorithm[algorithm];
    if (known.empty()) known = run(Routing{.policy = RoutingPolicy::kSpray}, trial.first_seed, algorithm);
    return known;
  };
  std::vector<std::vector<RoutingRow>> by_size(spread("").size());
  for (const Routing& routing : trial.routings) {
    std::vector<Outcomes> by_seed;
    for (int s = 0; s < (routing.is_hashed() ? trial.seeds : 1); ++s) {
      by_seed.push_back(run(routing, trial.first_seed + static_cast<std::uint64_t>(s), ""));
    }
    for (std::size_t size = 0; size < by_size.size(); ++size) {
      Outcomes runs;
      for (const Outcomes& seed : by_seed) {
        Outcome& o = runs.emplace_back(seed[size]);
        if (o.hottest_s > 0) o.collision = o.hottest_s / spread(o.algorithm)[size].hottest_s;
      }
      by_size[size].push_back(row_of(routing, runs, spread("")[size]));
    }
  }
  std::vector<RoutingRow> rows;
  for (std::vector<RoutingRow>& of_size : by_size) std::move(of_size.begin(), of_size.end(), std::back_inserter(rows));
  return rows;
}

Algorithm algorithm_of(const std::string& name, Algorithm otherwise) {
  for (const Algorithm a : kAlgorithms) {
    if (name == to_text(a)) return a;
  }
  return otherwise;
}

ClusterSpec routed(const ClusterSpec& cluster, const Routing& routing) {
  ClusterSpec c = cluster;
  c.routing = routing.policy;
  c.queue_pairs = routing.queue_pairs;
  return c;
}

Outcome outcome_of(const TrafficTable& table, const Network& network, const ClusterSpec& cluster, std::uint64_t seed,
                   NetworkKind kind) {
  const TrafficRoutes routes(table, make_router(cluster, network, seed));
  const Detours detours(cluster, seed, Bundling::kOff);
  TrafficDetours ways(table, detours);
  const std::unique_ptr<NetworkModel> model = make_network_model(kind, network);
  const LinkNames names = [&](LinkId link) {
    const std::string state = ways.clock().describe(link);
    return network.name(link) + (state.empty() ? state : ", which " + state);
  };
  const TrafficResult result = run_traffic(table, routes, *model, &ways, names);
  Outcome o{.time_s = result.makespan.seconds()};
  Int128 sum = 0;
  for (std::size_t row = 0; row < table.size(); ++row) {
    const Duration fct = result.end[row] - result.start[row];
    sum += fct.picos();
    o.slowest_fct_s = std::max(o.slowest_fct_s, fct.seconds());
  }
  o.mean_fct_s = static_cast<double>(sum) / static_cast<double>(table.size()) / static_cast<double>(kPicosPerSecond);
  o.hottest_s = hottest_link_s(*model, result.makespan, network, network.link_count(), [](LinkId l) { return l; });
  return o;
}

}  // namespace

std::vector<RoutingRow> compare_routings(const CollectiveRequest& request, const ClusterSpec& cluster,
                                         const RoutingTrial& trial, NetworkKind kind) {
  std::vector<RoutingRow> rows = compare(trial, [&](const Routing& routing, std::uint64_t seed, const std::string& algorithm) {
    const PreparedCluster prepared(routed(cluster, routing), seed);
    CollectiveRequest forced = request;
    forced.algorithm = algorithm_of(algorithm, request.algorithm);
    forced.detours = &prepared.detours;
    Outcomes by_size;
    for (CollectiveRow& r : run_collective(forced, prepared.router, prepared.tunings, kind)) {
      by_size.push_back({.algorithm = std::move(r.algorithm),
                         .time_s = r.time_s,
                         .busbw_gb_per_s = r.busbw_gb_per_s,
                         .hottest_s = r.hottest_link_s});
    }
    return by_size;
  });
  LOCKSTEP_CHECK(rows.size() == request.sizes.size() * trial.routings.size(), "{} rows of {} sizes and {} routings",
                 rows.size(), request.sizes.size(), trial.routings.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].size_bytes = request.sizes[i / trial.routings.size()];
  return rows;
}

std::vector<RoutingRow> compare_routings(const TrafficTable& table, const ClusterSpec& cluster, const RoutingTrial& trial,
                                         NetworkKind kind) {
  const Network network = build_network(cluster);
  return compare(trial, [&](const Routing& routing, std::uint64_t seed, const std::string&) {
    return Outcomes{outcome_of(table, network, routed(cluster, routing), seed, kind)};
  });
}

}  // namespace lockstep
