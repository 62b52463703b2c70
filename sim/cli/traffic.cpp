// SPDX-License-Identifier: Apache-2.0
// lockstep traffic FLOWS.csv: a list of flows on a cluster's network, and when each of them ends.
#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include "sim/cli/common_options.h"
#include "sim/cli/routing_options.h"
#include "sim/cli/verbs.h"
#include "sim/engine/process_usage.h"
#include "sim/experiment/cluster_run.h"
#include "sim/report/traffic_report.h"

namespace lockstep::cli {
namespace {

TrafficTable read_table(const std::string& file, std::size_t endpoints) {
  Diagnostics d;
  TrafficTable table;
  if (file == "-") {
    table = read_traffic(std::cin, "<stdin>", endpoints, d);
  } else {
    std::error_code none;
    if (std::filesystem::is_directory(file, none)) {
      d.error({file, 0, 0}, {}, "this is a directory", "give a CSV file of flows");
    } else if (std::ifstream in(file, std::ios::binary); in) {
      table = read_traffic(in, file, endpoints, d);
    } else {
      d.error({file, 0, 0}, {}, "the file cannot be read", "give a CSV file of flows, or - for standard input");
    }
  }
  throw_if_errors(d);
  return table;
}

void compare(const VerbContext& context, const ClusterSpec& cluster, const RoutingTrial& trial) {
  const double begin = monotonic_seconds();
  const NetworkKind kind = network_kind(context.arguments.text("network"));
  const auto endpoints = static_cast<std::size_t>(cluster.gpus());
  const TrafficTable table = read_table(context.arguments.positional().front(), endpoints);
  if (table.size() == 0)
    throw UserError("there are no flows to compare routings by", "give a CSV file with a row for each flow");
  const std::vector<RoutingRow> rows = compare_routings(table, cluster, trial, kind);
  print_comparison(context, trial, begin,
                   {.count = static_cast<std::int64_t>(table.size()), .cluster = cluster.name, .rows = rows});
}

int run_traffic_verb(const VerbContext& context) {
  const double begin = monotonic_seconds();
  const Arguments& arguments = context.arguments;
  const NetworkKind kind = network_kind(arguments.text("network"));
  const ClusterSpec cluster = read_config(context, arguments.text("cluster"), cluster_fields());
  if (const std::optional<RoutingTrial> trial = routing_trial(arguments, cluster)) {
    compare(context, cluster, *trial);
    return kOk;
  }
  if (arguments.text("format") == "table") {
    throw UserError("--format table is about comparing routings", "add --routing or --seeds, or take csv or json");
  }
  const Network network = build_network(cluster);
  const Router router = make_router(cluster, network, seed_of(arguments));
  const TrafficTable table = read_table(arguments.positional().front(), network.endpoint_count());
  const TrafficRoutes routes(table, router);
  const std::unique_ptr<NetworkModel> model = make_network_model(kind, network);
  const Detours detours(cluster, seed_of(arguments), Bundling::kOff);
  std::optional<TrafficDetours> ways;
  if (!detours.timeline().is_empty()) ways.emplace(table, detours);
  const LinkNames name_of = [&](LinkId link) {
    const std::string state = ways ? ways->clock().describe(link) : std::string();
    return network.name(link) + (state.empty() ? state : ", which " + state);
  };
  const TrafficResult result = run_traffic(table, routes, *model, ways ? &*ways : nullptr, name_of);
  if (arguments.text("format") == "csv") {
    write_traffic_csv(table, result, context.out);
    return kOk;
  }
  const TrafficReport report{.cluster = cluster.name,
                             .network = arguments.text("network"),
                             .version = LOCKSTEP_VERSION,
                             .set = arguments.all("set"),
                             .seed = seed_of(arguments),
                             .wall_s = monotonic_seconds() - begin,
                             .peak_rss_bytes = peak_resident_bytes(),
                             .faults = cluster.faults};
  context.out << to_json(report, result);
  return kOk;
}

}  // namespace

Verb traffic_verb() {
  return {
      .name = "traffic",
      .doc = "run a list of flows on a cluster's network",
      .details =
          "FLOWS.csv has the columns src,dst,bytes[,start_s][,path][,after]: endpoint numbers; `path` picks one of the "
          "equal-cost paths "
          "(modulo their number; empty or -1: routing decides); `after` names rows, counted from 0 and separated by ;, that "
          "must "
          "complete first. - is standard input. There is no size limit. With --routing or --seeds one table compares routings; "
          "it is printed as a table unless --format says csv or json.",
      .positionals = {{.name = "FLOWS.csv", .doc = "the flows"}},
      .options = {cluster_option(true), network_model_option(), format_option({"csv", "json", "table"}), seed_option(),
                  routing_option(), seeds_option(), set_option()},
      .run = &run_traffic_verb};
}

}  // namespace lockstep::cli
