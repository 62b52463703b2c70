// SPDX-License-Identifier: Apache-2.0
// lockstep topo C.yaml: what a cluster file amounts to, before anything runs on it.
#include <ostream>

#include "sim/cli/common_options.h"
#include "sim/cli/verbs.h"
#include "sim/report/topology_report.h"
#include "topology/drawing/dot.h"

namespace lockstep::cli {
namespace {

int run_topo(const VerbContext& context) {
  const ClusterSpec cluster = read_config(context, context.arguments.positional().front(), cluster_fields());
  const Network network = build_network(cluster);
  const std::string format = context.arguments.text("format");
  if (format == "dot") {
    context.out << to_dot(network, cluster.name);
    return kOk;
  }
  const TopologyReport report = report_topology(cluster, network);
  context.out << (format == "json" ? to_json(report) : to_table(report));
  return kOk;
}

}  // namespace

Verb topo_verb() {
  return {.name = "topo",
          .doc = "describe a cluster's network: switches, cables, oversubscription, bisection, diameter, price",
          .details = "",
          .positionals = {{.name = "C.yaml", .doc = "cluster file or the name of a shipped cluster"}},
          .options = {format_option({"table", "json", "dot"}), set_option()},
          .run = &run_topo};
}

}  // namespace lockstep::cli
