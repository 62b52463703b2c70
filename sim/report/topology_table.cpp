// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/quantity.h"
#include "sim/report/topology_report.h"

namespace lockstep {
namespace {

std::string line(std::string_view key, const std::string& value) { return fmt::format("  {:<22}{}\n", key, value); }

std::string plural(std::int64_t n, std::string_view word, std::string_view words = "") {
  if (n == 1 || words.empty()) return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
  return fmt::format("{} {}", n, words);
}

std::string bits(double bps) {
  constexpr std::array<std::string_view, 4> kUnits = {"Gbps", "Tbps", "Pbps", "Ebps"};
  double v = bps / 1e9;
  std::size_t unit = 0;
  for (; v >= 1000 && unit + 1 < kUnits.size(); ++unit) v /= 1000;
  return fmt::format("{:.4g} {}", v, kUnits[unit]);
}

// Buses inside a server are known by their bytes, network links by their bits.
std::string rate(LinkTier tier, Rate r) {
  if (r == Rate()) return "failed";
  return is_bus(tier) ? fmt::format("{:.4g} GB/s", r.bytes_per_second() / 1e9) : bits(r.bytes_per_second() * 8);
}

// What a rack is called.
std::string_view rack_word(const TopologyReport& r) { return r.cluster.fabric.wiring == Wiring::kRack ? "rack" : "unit"; }

std::string wiring(const FabricSpec& f, int ports_per_node, std::int64_t switches) {
  if (f.dragonfly) {
    const DragonflySpec& d = *f.dragonfly;
    return line("Fabric",
                fmt::format("dragonfly of {}, {} each, {} between two groups; minimal routing", plural(d.groups, "group"),
                            plural(d.routers_per_group, "router"), plural(d.global_cables, "cable")));
  }
  if (f.torus) {
    std::string sizes;
    for (const int d : f.torus->dimensions) sizes += (sizes.empty() ? "" : " x ") + std::to_string(d);
    return line("Fabric", fmt::format("torus of {} switches; dimension-order routing", sizes));
  }
  if (f.custom) return line("Fabric", fmt::format("graph of {}; shortest paths", plural(switches, "switch", "switches")));
  if (f.wiring == Wiring::kRack) return {};
  const std::string rails = plural(ports_per_node, "rail");
  if (f.wiring == Wiring::kRail) {
    return line("Wiring", fmt::format("rail-optimised: NIC i of every node on leaf i of its unit ({})", rails));
  }
  return line("Wiring",
              fmt::format("rail-only: NIC i of every node on leaf i, no spines ({}, joined by NVLink in the sender)", rails));
}

std::string heading(const TopologyReport& r) {
  const ClusterSpec& c = r.cluster;
  std::string what =
      c.server ? fmt::format("{} x {} = {}", plural(*c.nodes, "node"), plural(c.server->gpus, "GPU"), plural(c.gpus(), "GPU"))
               : plural(c.gpus(), "endpoint");
  if (r.racks > 0) what += " in " + plural(r.racks, rack_word(r));
  if (r.pods > 1) what += fmt::format(" and {} pods", r.pods);
  return fmt::format("{}: {}\n", c.name, what);
}

std::string parts(const TopologyReport& r) {
  const ClusterSpec& c = r.cluster;
  std::string out;
  if (c.server) out += line("Server", fmt::format("{} ({} x {})", c.server->name, c.server->gpus, c.server->gpu.name));
  if (c.network) {
    const NetworkSpec& n = *c.network;
    const std::string path =
        n.gpudirect ? "with GPUDirect"
                    : fmt::format("without GPUDirect, at most {:.4g} GB/s per NIC", n.host_path_rate.bytes_per_second() / 1e9);
    out += line("Network", fmt::format("{} ({} x {} per node, {})", n.name, c.ports_per_node(), to_text(n.nic_rate), path));
  }
  if (r.racks > 0) out += wiring(c.fabric, c.ports_per_node(), r.switches.front().count);
  if (r.equal_cost_paths > 1) {
    out += line("Routing", fmt::format("{} over up to {} equal-cost paths", to_text(c.routing_policy()), r.equal_cost_paths));
  }
  for (const FaultSpec& f : c.faults) {
    out += line(&f == c.faults.data() ? "Faults" : "", to_text(f) + (f.is_timed() ? ", " + time_text(f) : ""));
  }
  if (c.price_per_gpu_hour) {
    const double price = c.price_per_gpu_hour->usd;
    out += line("Price", fmt::format("{:.2f} USD per GPU-hour, {:.2f} USD per hour in all", price,
                                     price * static_cast<double>(c.gpus())));
  }
  return out;
}

std::string switches(const TopologyReport& r) {
  if (r.switches.empty()) return {};
  std::string out = fmt::format("\n  {:<16}{:>8}{:>13}   {}\n", "Switches", "count", "ports used", "oversubscription");
  for (const SwitchReport& s : r.switches) {
    std::string ratio = "-";
    if (s.ratio) {
      ratio = fmt::format("{:.4g}:1", s.ratio->real);
      if (s.ratio->is_off()) ratio += fmt::format("  (asked for {:.4g}:1)", *s.ratio->asked);
    }
    out += fmt::format("  {:<16}{:>8}{:>13}   {}\n", to_text(s.kind), s.count, s.ports_used, ratio);
  }
  return out;
}

std::string cables(const TopologyReport& r) {
  const auto ends = [](const CableReport& c) {
    const bool is_told_by_tier = c.tier == LinkTier::kLocal || c.tier == LinkTier::kGlobal;
    return is_told_by_tier ? fmt::format("{} cables", to_text(c.tier))
                           : fmt::format("{} - {}", to_text(c.low), to_text(c.high));
  };
  std::size_t width = 16;
  for (const CableReport& c : r.cables) width = std::max(width, ends(c).size() + 1);
  std::string out =
      fmt::format("\n  {:<{}}{:>8}{:>13}{:>14}{:>12}\n", "Cables", width, "count", "line rate", "payload", "latency");
  for (const CableReport& c : r.cables) {
    out += fmt::format("  {:<{}}{:>8}{:>13}{:>14}{:>12}\n", ends(c), width, c.count, rate(c.tier, c.rate),
                       rate(c.tier, c.payload), to_text(c.latency));
  }
  return out;
}

std::string analysis(const TopologyReport& r) {
  const GraphReport& g = r.graph;
  std::string out = "\n";
  if (g.bisection_bps) {
    const double share = static_cast<double>(*g.bisection_bps) / static_cast<double>(*g.bisection_ports_bps);
    out += line("Bisection", fmt::format("{} between the halves of the {}s, {:.4g} % of what their ports could send",
                                         bits(static_cast<double>(*g.bisection_bps)), rack_word(r), 100 * share));
  }
  if (g.disjoint_paths) {
    out += line("Disjoint paths", fmt::format("{} between the first and the last {}", *g.disjoint_paths, rack_word(r)));
  }
  if (g.diameter) out += line("Diameter", fmt::format("{} from endpoint to endpoint", plural(*g.diameter, "link")));
  if (!g.is_connected) out += line("Connected", fmt::format("no: {} parts", g.components));
  return out;
}

}  // namespace

std::string to_table(const TopologyReport& r) { return heading(r) + parts(r) + switches(r) + cables(r) + analysis(r); }

}  // namespace lockstep
