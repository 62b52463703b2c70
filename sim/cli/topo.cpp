// SPDX-License-Identifier: Apache-2.0
// lockstep topo C.yaml: what a cluster file amounts to, before anything runs on it.
#include <fmt/core.h>

#include <ostream>

#include "sim/cli/common_options.h"
#include "sim/cli/verbs.h"
#include "sim/report/topology_report.h"
#include "topology/drawing/dot.h"
#include "topology/drawing/svg.h"

namespace lockstep::cli {
namespace {

// The network with its oversubscription in the legend.
Drawing draw_cluster(const ClusterSpec& cluster, const Network& network, const DrawingLimits& limits) {
  Drawing drawing = draw_network(network, cluster.name, limits);
  for (const FaultSpec& f : cluster.faults) {
    drawing.notes.push_back(to_text(f) + (f.is_timed() ? " " + time_text(f) : ""));
  }
  if (!std::holds_alternative<FoldedClos>(network.fabric())) return drawing;
  const FabricSize size = cluster_fabric(cluster);
  if (size.leaf.real > 0) {
    std::string text = fmt::format("oversubscription {:.4g}:1 above the leaves", size.leaf.real);
    if (size.spine.real > 0) text += fmt::format(", {:.4g}:1 above the spines", size.spine.real);
    drawing.notes.push_back(text);
  }
  return drawing;
}

int run_topo(const VerbContext& context) {
  const ClusterSpec cluster = read_config(context, context.arguments.positional().front(), cluster_fields());
  const Network network = build_network(cluster);
  const std::string format = context.arguments.text("format");
  if (format == "dot" || format == "svg") {
    const DrawingLimits limits = context.arguments.has("all") ? DrawingLimits::none() : DrawingLimits{};
    const Drawing drawing = draw_cluster(cluster, network, limits);
    context.out << (format == "dot" ? to_dot(drawing) : to_svg(drawing, draw_node(network, limits)));
    return kOk;
  }
  if (context.arguments.has("all")) throw UserError("--all is about drawings", "add --format svg or --format dot");
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
          .options = {format_option({"table", "json", "dot", "svg"}),
                      {.name = "all", .value_name = "", .doc = "draw every box, however many there are"},
                      set_option()},
          .run = &run_topo};
}

}  // namespace lockstep::cli
