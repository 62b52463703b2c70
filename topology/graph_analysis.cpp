// SPDX-License-Identifier: Apache-2.0
#include "topology/graph_analysis.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/connected_components.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <utility>
#include <vector>

#include "base/check.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostSearchedLinks = 200'000'000;  // seconds

// Boost.Graph's max-flow wants each edge to know its reverse.
using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
struct FlowEdge {
  std::int64_t capacity = 0;
  std::int64_t residual = 0;
  Traits::edge_descriptor reverse;
};
using FlowGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, FlowEdge>;
using WholeGraph = boost::compressed_sparse_row_graph<boost::directedS>;

// Switches 0..n-1 in device order, then source and sink.
class SwitchFlow {
 public:
  explicit SwitchFlow(std::size_t switches) : graph_(switches + 2), source_(switches), sink_(switches + 1) {}
  [[nodiscard]] std::size_t source() const { return source_; }
  [[nodiscard]] std::size_t sink() const { return sink_; }

  void add(std::size_t a, std::size_t b, std::int64_t capacity) {
    const auto forward = boost::add_edge(a, b, graph_).first;
    const auto backward = boost::add_edge(b, a, graph_).first;
    graph_[forward] = {capacity, 0, backward};
    graph_[backward] = {0, 0, forward};
  }
  [[nodiscard]] std::int64_t solve() {
    return boost::push_relabel_max_flow(graph_, source_, sink_, boost::get(&FlowEdge::capacity, graph_),
                                        boost::get(&FlowEdge::residual, graph_), boost::get(&FlowEdge::reverse, graph_),
                                        boost::get(boost::vertex_index, graph_));
  }

 private:
  FlowGraph graph_;
  std::size_t source_;
  std::size_t sink_;
};

// Cables between switches with parallel ones added up, and ports added up per switch and part of the racks. Rates in bit/s.
struct SwitchGraph {
  struct Trunk {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::int64_t rate = 0;
    std::int64_t cables = 0;
  };
  std::size_t switches = 0;
  std::vector<Trunk> trunks;
  std::vector<std::int64_t> low_ports;   // of the nodes in the first half of the racks
  std::vector<std::int64_t> high_ports;  // in the last half
  std::vector<bool> has_first_rack;      // ports of the first rack
  std::vector<bool> has_last_rack;
};

std::int64_t bits_per_second(Rate r) { return r.units() / (Rate::kUnitsPerBytePerSecond / 8); }

// Adds up trunks between the same switches.
void merge(std::vector<SwitchGraph::Trunk>& trunks) {
  const auto ends = [](const SwitchGraph::Trunk& t) { return std::pair(t.from, t.to); };
  std::sort(trunks.begin(), trunks.end(), [&ends](const auto& a, const auto& b) { return ends(a) < ends(b); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < trunks.size(); ++i) {
    if (kept > 0 && ends(trunks[kept - 1]) == ends(trunks[i])) {
      SwitchGraph::Trunk& t = trunks[kept - 1];
      t.rate = checked_add(t.rate, trunks[i].rate);
      t.cables += trunks[i].cables;
    } else {
      trunks[kept++] = trunks[i];
    }
  }
  trunks.resize(kept);
}

SwitchGraph switches_of(const Network& net) {
  SwitchGraph g;
  const std::uint32_t first = net.first_switch().value();
  const auto devices_per_node = static_cast<std::uint32_t>(first / net.node_count());
  const std::size_t racks = net.rack_count();
  g.switches = net.device_count() - first;
  g.low_ports.assign(g.switches, 0);
  g.high_ports.assign(g.switches, 0);
  g.has_first_rack.assign(g.switches, false);
  g.has_last_rack.assign(g.switches, false);
  for (std::size_t i = net.first_fabric_link().index(); i < net.link_count(); ++i) {
    const Link l = net.link(LinkId::from_index(i));
    if (l.from.value() < first || net.is_failed(LinkId::from_index(i))) continue;
    const std::uint32_t from = l.from.value() - first;
    if (l.to.value() >= first) {
      g.trunks.push_back({from, l.to.value() - first, bits_per_second(l.nominal), 1});
      continue;
    }
    const std::uint32_t rack = net.rack_of(NodeId(l.to.value() / devices_per_node));
    const auto add = [&l, from](std::vector<std::int64_t>& ports) {
      ports[from] = checked_add(ports[from], bits_per_second(l.nominal));
    };
    if (rack < racks / 2) add(g.low_ports);
    if (rack >= racks - racks / 2) add(g.high_ports);
    if (rack == 0) g.has_first_rack[from] = true;
    if (rack == racks - 1) g.has_last_rack[from] = true;
  }
  merge(g.trunks);
  return g;
}

void find_flows(const SwitchGraph& g, GraphReport& report) {
  SwitchFlow bisection(g.switches);
  SwitchFlow disjoint(g.switches);
  std::int64_t cables = 0;
  for (const SwitchGraph::Trunk& t : g.trunks) {
    bisection.add(t.from, t.to, t.rate);
    disjoint.add(t.from, t.to, t.cables);
    cables += t.cables;
  }
  std::int64_t ports = 0;
  bool is_apart = true;  // the first and the last rack
  for (std::size_t s = 0; s < g.switches; ++s) {
    if (g.low_ports[s] > 0) bisection.add(bisection.source(), s, g.low_ports[s]);
    if (g.high_ports[s] > 0) bisection.add(s, bisection.sink(), g.high_ports[s]);
    if (g.has_first_rack[s]) disjoint.add(disjoint.source(), s, cables);
    if (g.has_last_rack[s]) disjoint.add(s, disjoint.sink(), cables);
    ports = checked_add(ports, g.low_ports[s]);
    is_apart = is_apart && !(g.has_first_rack[s] && g.has_last_rack[s]);
  }
  report.bisection_bps = bisection.solve();
  report.bisection_ports_bps = ports;
  if (is_apart) report.disjoint_paths = disjoint.solve();
}

WholeGraph whole_graph(const Network& net) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  edges.reserve(net.link_count());
  for (std::size_t i = 0; i < net.link_count(); ++i) {
    const Link l = net.link(LinkId::from_index(i));
    // Two directions of a cable: where one is dead, neither counts.
    if (net.is_failed(LinkId::from_index(i)) || net.is_failed(LinkId::from_index(i ^ 1u))) continue;
    edges.emplace_back(l.from.value(), l.to.value());
  }
  return {boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(), net.device_count()};
}

// Links on the longest shortest path from `start` to an endpoint; nothing when it does not reach all of them.
std::optional<int> eccentricity(const Network& net, const WholeGraph& graph, EndpointId start) {
  constexpr int kFar = -1;
  std::vector<int> distance(net.device_count(), kFar);
  distance[net.device_of(start).index()] = 0;
  boost::breadth_first_search(
      graph, net.device_of(start).value(),
      boost::visitor(boost::make_bfs_visitor(boost::record_distances(distance.data(), boost::on_tree_edge()))));
  int farthest = 0;
  for (std::size_t e = 0; e < net.endpoint_count(); ++e) {
    const int d = distance[net.device_of(EndpointId::from_index(e)).index()];
    if (d == kFar) return std::nullopt;
    farthest = std::max(farthest, d);
  }
  return farthest;
}

// Endpoints of which one is as far from the others as any endpoint is; see the header.
std::vector<EndpointId> diameter_starts(const Network& net) {
  const EndpointId last = EndpointId::from_index(net.endpoint_count() - 1);
  const auto* graph = std::get_if<GraphFabric>(&net.fabric());
  std::vector<EndpointId> starts;
  if (!net.conditions().empty()) {
    for (std::uint32_t n = 0; n < net.node_count(); ++n) starts.push_back(net.endpoint(NodeId(n), 0));
    return starts;
  }
  if (graph == nullptr) return {EndpointId(0), last};
  const auto ports = static_cast<std::uint32_t>(std::max(net.nics_per_node(), 1));
  const auto is_attached_as = [graph, ports](std::uint32_t a, std::uint32_t b) {
    for (std::uint32_t p = 0; p < ports; ++p) {
      if (graph->switch_of({a, p}) != graph->switch_of({b, p})) return false;
    }
    return true;
  };
  for (std::uint32_t n = 0; n < net.node_count(); ++n) {
    if (n == 0 || !is_attached_as(n - 1, n)) starts.push_back(net.endpoint(NodeId(n), 0));
  }
  return starts;
}

std::optional<int> find_diameter(const Network& net, const WholeGraph& graph) {
  const std::vector<EndpointId> starts = diameter_starts(net);
  if (starts.size() * net.link_count() > kMostSearchedLinks) return std::nullopt;
  int diameter = 0;
  for (const EndpointId start : starts) {
    const std::optional<int> farthest = eccentricity(net, graph, start);
    if (!farthest) return std::nullopt;
    diameter = std::max(diameter, *farthest);
  }
  return diameter;
}

}  // namespace

GraphReport analyze_graph(const Network& net) {
  GraphReport report;
  const WholeGraph graph = whole_graph(net);
  // Every cable is a pair of links, so components of the undirected graph are those that reach each other.
  std::vector<std::size_t> component(net.device_count());
  report.components = boost::connected_components(graph, component.data());
  report.is_connected = report.components == 1;
  if (net.endpoint_count() > 1) report.diameter = find_diameter(net, graph);
  if (net.rack_count() > 1) find_flows(switches_of(net), report);
  return report;
}

}  // namespace lockstep
