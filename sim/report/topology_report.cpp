// SPDX-License-Identifier: Apache-2.0
#include "sim/report/topology_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/report/render.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json ratio_json(const TierRatio& ratio) {
  Json j = Json::object();
  if (ratio.asked) j["asked"] = *ratio.asked;
  j["real"] = ratio.real;
  return j;
}

Json switches_json(const TopologyReport& r) {
  Json list = Json::array();
  for (const SwitchReport& s : r.switches) {
    Json j{{"tier", to_text(s.kind)}, {"count", s.count}, {"ports_used", s.ports_used}};
    if (s.ratio) j["oversubscription"] = ratio_json(*s.ratio);
    list.push_back(std::move(j));
  }
  return list;
}

Json cables_json(const TopologyReport& r) {
  Json list = Json::array();
  for (const CableReport& c : r.cables) {
    list.push_back({{"tier", to_text(c.tier)},
                    {"ends", {to_text(c.low), to_text(c.high)}},
                    {"cables", c.count},
                    {"rate_bps", c.rate.bytes_per_second() * 8},
                    {"payload_bps", c.payload.bytes_per_second() * 8},
                    {"latency_s", c.latency.seconds()}});
  }
  return list;
}

// Cables are built in pairs of links, the one towards the fabric first, and equal ones follow each other tier by tier.
std::vector<CableReport> count_cables(const Network& net) {
  std::vector<CableReport> rows;
  for (std::size_t i = 0; i < net.link_count(); i += 2) {
    const Link l = net.link(LinkId::from_index(i));
    const CableReport cable{l.tier, net.kind(l.from), net.kind(l.to), 1, l.nominal, l.capacity, l.latency};
    const auto row = std::find_if(rows.begin(), rows.end(), [&cable](const CableReport& r) {
      return r.tier == cable.tier && r.low == cable.low && r.high == cable.high && r.rate == cable.rate &&
             r.payload == cable.payload && r.latency == cable.latency;
    });
    if (row == rows.end()) {
      rows.push_back(cable);
    } else {
      ++row->count;
    }
  }
  return rows;
}

// To a millionth of a dollar, so that a product of decimals looks like one.
double dollars(double v) { return std::round(v * 1e6) / 1e6; }

}  // namespace

TopologyReport report_topology(const ClusterSpec& spec, const Network& net) {
  TopologyReport r;
  r.cluster = spec;
  for (std::size_t d = 0; d < net.device_count(); ++d) ++r.devices[static_cast<std::size_t>(net.kind(DeviceId::from_index(d)))];
  r.racks = static_cast<std::int64_t>(net.rack_count());
  r.pods = static_cast<std::int64_t>(net.pod_count());
  r.equal_cost_paths = net.max_path_count();
  r.graph = analyze_graph(net);

  r.cables = count_cables(net);
  if (r.racks == 0) return r;
  if (const auto* graph = std::get_if<GraphFabric>(&net.fabric())) {
    r.switches.push_back({DeviceKind::kSwitch, graph->device_count(), most_ports_used(graph->shape()), std::nullopt});
    return r;
  }
  const FabricSize size = cluster_fabric(spec);
  const PortCounts ports = ports_used(size.shape, spec.node_count(), spec.ports_per_node());
  const auto add = [&r](DeviceKind kind, std::int64_t used, const TierRatio& ratio) {
    const std::int64_t count = r.devices[static_cast<std::size_t>(kind)];
    if (count > 0) r.switches.push_back({kind, count, used, ratio.real > 0 ? std::optional(ratio) : std::nullopt});
  };
  add(DeviceKind::kLeaf, ports.leaf, size.leaf);
  add(DeviceKind::kSpine, ports.spine, size.spine);
  add(DeviceKind::kCore, ports.core, {});
  return r;
}

std::string to_json(const TopologyReport& r) {
  const ClusterSpec& c = r.cluster;
  Json j{{"schema_version", kSchemaVersion}, {"cluster", c.name}};
  if (c.nodes) j["nodes"] = *c.nodes;
  j[c.server ? "gpus" : "endpoints"] = c.gpus();
  j["racks"] = r.racks;
  if (r.racks > 0 && c.fabric.is_graph()) j["fabric"] = graph_name(c.fabric);
  if (r.racks > 0 && !c.fabric.is_graph()) j["wiring"] = to_text(c.fabric.wiring);
  j["pods"] = r.pods;
  if (c.server) j["server"] = c.server->name;
  if (c.network) {
    j["network"] = c.network->name;
    j["nics_per_node"] = c.ports_per_node();
  }
  j["routing"] = to_text(c.routing_policy());
  Json devices = Json::object();
  for (std::size_t k = 0; k < kDeviceKindCount; ++k) {
    if (r.devices[k] > 0) devices[std::string(to_text(static_cast<DeviceKind>(k)))] = r.devices[k];
  }
  j["devices"] = std::move(devices);
  j["switches"] = switches_json(r);
  j["cables"] = cables_json(r);
  j["equal_cost_paths"] = r.equal_cost_paths;
  j["connected"] = r.graph.is_connected;
  if (r.graph.diameter) j["diameter_hops"] = *r.graph.diameter;
  if (r.graph.bisection_bps) {
    j["bisection_bps"] = *r.graph.bisection_bps;
    j["bisection_ports_bps"] = *r.graph.bisection_ports_bps;
  }
  if (r.graph.disjoint_paths) j["disjoint_paths"] = *r.graph.disjoint_paths;
  for (const FaultSpec& f : c.faults) {
    Json fault{{"what", to_text(f)}};
    if (f.is_timed()) fault["when"] = time_text(f);
    j["faults"].push_back(std::move(fault));
  }
  if (c.price_per_gpu_hour) {
    j["price_per_gpu_hour_usd"] = c.price_per_gpu_hour->usd;
    j["price_per_hour_usd"] = dollars(c.price_per_gpu_hour->usd * static_cast<double>(c.gpus()));
  }
  return j.dump(2) + "\n";
}

}  // namespace lockstep
