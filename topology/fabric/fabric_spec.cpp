// SPDX-License-Identifier: Apache-2.0
#include "topology/fabric/fabric_spec.h"

#include <algorithm>
#include <cmath>

#include "base/field_table.h"
#include "topology/hardware/limits.h"

namespace lockstep {
namespace {

constexpr double kLowestRatio = 0.01;
constexpr double kHighestRatio = 1'000;

// Switches above one switch: ceil(down / (ratio x up)) uplinks, in whole bundles of `cables`. The quotient of two exact rates
// may exceed a whole number by rounding alone, so a billionth of an uplink is not worth one.
int switches_above(std::int64_t down_links, Rate down, double ratio, Rate up, int cables) {
  const double need = static_cast<double>(down_links) * down.bytes_per_second() / (ratio * up.bytes_per_second());
  const double bundles = std::ceil(need / cables - 1e-9);
  return static_cast<int>(std::clamp(bundles, 1.0, 1e9));
}

double ratio_of(std::int64_t down_links, Rate down, std::int64_t up_links, Rate up) {
  return static_cast<double>(down_links) * down.bytes_per_second() / (static_cast<double>(up_links) * up.bytes_per_second());
}

int ceil_share(int total, int per) { return (total - 1) / per + 1; }

// Keys of a folded Clos next to those of another fabric, or of switches that a rail-only fabric does not have. False when there
// are any.
bool check_one_shape(const FabricSpec& f, Section& at) {
  std::vector<std::string> sections;
  if (f.dragonfly) sections.emplace_back("dragonfly");
  if (f.torus) sections.emplace_back("torus");
  if (f.custom) sections.emplace_back("custom");
  bool is_good = sections.size() < 2;
  if (!is_good) {
    at.error(sections[1], fmt::format("is given together with {}, and each is a whole fabric", sections[0]), "keep one");
  }
  if (sections.empty() && f.wiring != Wiring::kRailOnly) return is_good;
  const auto refuse = [&](std::string_view key, bool is_given) {
    if (!is_given) return;
    is_good = false;
    if (sections.empty()) {
      at.error(key, "does not go with wiring rail_only, which has one leaf per rail for all nodes and no spines", "remove it");
    } else {
      at.error(key, fmt::format("belongs to a fabric of leaves and spines, and this one is a {}", sections[0]), "remove it");
    }
  };
  refuse("nodes_per_leaf", f.nodes_per_leaf.has_value());
  refuse("wiring", !sections.empty() && f.wiring != Wiring::kRack);
  refuse("leaves_per_pod", f.leaves_per_pod.has_value());
  refuse("spines", f.spines.has_value());
  refuse("oversubscription", f.oversubscription.has_value());
  refuse("cores_per_spine", f.cores_per_spine.has_value());
  refuse("core_oversubscription", f.core_oversubscription.has_value());
  if (!sections.empty()) refuse("in_network_reduction", f.in_network_reduction);
  return is_good;
}

}  // namespace

int leaf_count(const FabricShape& f, int nodes, int ports_per_node) {
  return ceil_share(nodes, f.nodes_per_leaf) * f.rails(ports_per_node);
}

std::string_view graph_name(const FabricSpec& f) { return f.dragonfly ? "dragonfly" : f.torus ? "torus" : "custom"; }

bool TierRatio::is_off() const { return asked && real > 0 && std::fabs(real / *asked - 1) > 0.01; }

FabricSize size_fabric(const FabricSpec& spec, const FabricShape& wires, int nodes, int ports_per_node) {
  FabricSize size{.shape = wires, .leaf = {}, .spine = {}};
  FabricShape& f = size.shape;
  f.nodes_per_leaf = spec.nodes_per_leaf.value_or(nodes);
  f.wiring = spec.wiring;
  const int leaves = leaf_count(f, nodes, ports_per_node);
  f.leaves_per_pod = spec.leaves_per_pod.value_or(0);
  f.spines = 0;
  f.cores_per_spine = 0;
  if (leaves == 1 || f.wiring == Wiring::kRailOnly) return size;

  const std::int64_t down = std::int64_t{f.nodes_per_leaf} * ports_per_node / f.rails(ports_per_node);
  if (!spec.spines) size.leaf.asked = spec.oversubscription.value_or(1);
  f.spines = spec.spines ? *spec.spines
                         : switches_above(down, wires.host.nominal, *size.leaf.asked, wires.leaf_spine.nominal,
                                          wires.leaf_spine_cables);
  size.leaf.real =
      ratio_of(down, wires.host.nominal, std::int64_t{f.spines} * wires.leaf_spine_cables, wires.leaf_spine.nominal);
  if (f.leaves_per_pod == 0 || leaves <= f.leaves_per_pod) return size;

  const std::int64_t spine_down = std::int64_t{f.leaves_per_pod} * wires.leaf_spine_cables;
  if (!spec.cores_per_spine) size.spine.asked = spec.core_oversubscription.value_or(1);
  f.cores_per_spine = spec.cores_per_spine ? *spec.cores_per_spine
                                           : switches_above(spine_down, wires.leaf_spine.nominal, *size.spine.asked,
                                                            wires.spine_core.nominal, wires.spine_core_cables);
  size.spine.real = ratio_of(spine_down, wires.leaf_spine.nominal, std::int64_t{f.cores_per_spine} * wires.spine_core_cables,
                             wires.spine_core.nominal);
  return size;
}

PortCounts ports_used(const FabricShape& f, int nodes, int ports_per_node) {
  PortCounts p;
  const int leaves = leaf_count(f, nodes, ports_per_node);
  const int in_leaf = std::min(nodes, f.nodes_per_leaf);
  p.leaf = std::int64_t{in_leaf} * ports_per_node / f.rails(ports_per_node);
  if (leaves == 1 || f.wiring == Wiring::kRailOnly) return p;
  p.leaf += std::int64_t{f.spines} * f.leaf_spine_cables;
  const bool has_cores = f.leaves_per_pod > 0 && leaves > f.leaves_per_pod;
  const int in_pod = has_cores ? f.leaves_per_pod : leaves;
  p.spine = std::int64_t{in_pod} * f.leaf_spine_cables;
  if (!has_cores) return p;
  p.spine += std::int64_t{f.cores_per_spine} * f.spine_core_cables;
  p.core = std::int64_t{ceil_share(leaves, f.leaves_per_pod)} * f.spine_core_cables;
  return p;
}

const FieldTable<FabricSpec>& fabric_fields() {
  static const FieldTable<FabricSpec> table = [] {
    FieldTable<FabricSpec> t;
    t.field("nodes_per_leaf", &FabricSpec::nodes_per_leaf)
        .range(1, kMostNodes)
        .doc(
            "servers (or bare hosts) whose ports share a leaf switch, or a set of leaves when wired by rail; all of them when "
            "absent");
    t.choice("wiring", &FabricSpec::wiring,
             {{"rack", Wiring::kRack, "all NICs of a server on the leaf of its rack"},
              {"rail", Wiring::kRail,
               "NIC i of every server on leaf i of its unit (rail-optimised; nodes_per_leaf servers make a unit)"},
              {"rail_only", Wiring::kRailOnly,
               "NIC i of every server on leaf i, no spines: what changes rails crosses NVLink in the sender"}})
        .doc("which leaf a NIC is cabled to");
    t.field("leaves_per_pod", &FabricSpec::leaves_per_pod)
        .range(1, kMostNodes)
        .doc(
            "leaves that share their spines; given: pods meet in core switches (three tiers). By rail a multiple of the NICs "
            "of a server");
    t.field("spines", &FabricSpec::spines).range(1, kMostSwitches).doc("spine switches per pod; every leaf reaches each");
    t.field("oversubscription", &FabricSpec::oversubscription)
        .range(kLowestRatio, kHighestRatio)
        .doc("capacity into a leaf over capacity out of it, instead of spines; 1 when both are absent");
    t.field("cores_per_spine", &FabricSpec::cores_per_spine)
        .range(1, kMostSwitches)
        .doc("core switches that each spine reaches");
    t.field("core_oversubscription", &FabricSpec::core_oversubscription)
        .range(kLowestRatio, kHighestRatio)
        .doc("the same ratio of a spine, instead of cores_per_spine; 1 when both are absent");
    t.field("switch_ports", &FabricSpec::switch_ports)
        .range(1, kMostSwitches)
        .doc("ports of the largest switch; not checked when absent");
    t.field("in_network_reduction", &FabricSpec::in_network_reduction)
        .doc(
            "switches add up what arrives and multicast the sum (SHARP): collnet_direct, collnet_chain and nvls over several "
            "nodes; leaves and spines only");
    t.section("dragonfly", &FabricSpec::dragonfly, dragonfly_fields())
        .doc("groups of routers, instead of leaves and spines; fabric_link inside groups, core_link between them");
    t.section("torus", &FabricSpec::torus, torus_fields())
        .doc("a grid of switches closed to rings, instead of leaves and spines; cables as fabric_link");
    t.section("custom", &FabricSpec::custom, custom_fields())
        .doc("switches and cables one by one, instead of leaves and spines; cables as fabric_link unless they say");
    t.validate([](const FabricSpec& f, Section& at) {
      if (!check_one_shape(f, at)) return;
      if (f.spines && f.oversubscription) {
        at.error("oversubscription", "is given together with spines, and each decides the other", "keep one of the two");
      }
      if (f.cores_per_spine && f.core_oversubscription) {
        at.error("core_oversubscription", "is given together with cores_per_spine, and each decides the other",
                 "keep one of the two");
      }
      if ((f.cores_per_spine || f.core_oversubscription) && !f.leaves_per_pod) {
        at.error(f.cores_per_spine ? "cores_per_spine" : "core_oversubscription", "needs pods to connect",
                 "give leaves_per_pod as well");
      }
      const bool has_one_leaf = !f.nodes_per_leaf && f.wiring == Wiring::kRack;
      if ((f.spines || f.oversubscription || f.leaves_per_pod) && has_one_leaf) {
        at.error("nodes_per_leaf", "is missing: without it all servers share one leaf, which needs no spine",
                 "give nodes_per_leaf");
      }
    });
    return t;
  }();
  return table;
}

const FieldTable<CableSpec>& cable_fields() {
  static const FieldTable<CableSpec> table = [] {
    FieldTable<CableSpec> t;
    t.field("speed", &CableSpec::speed).range(kLowestRate, kHighestRate).doc("line rate; the NIC's when absent");
    t.field("latency", &CableSpec::latency)
        .range(Duration(), kLongestLatency)
        .doc("one cable and the switch behind it; the network's when absent");
    return t;
  }();
  return table;
}

const FieldTable<TrunkSpec>& trunk_fields() {
  static const FieldTable<TrunkSpec> table = [] {
    FieldTable<TrunkSpec> t;
    t.field("speed", &TrunkSpec::speed).range(kLowestRate, kHighestRate).doc("line rate of one cable; the NIC's when absent");
    t.field("latency", &TrunkSpec::latency)
        .range(Duration(), kLongestLatency)
        .doc("one cable and the switch behind it; the network's when absent");
    t.field("cables", &TrunkSpec::cables).range(1, kMostCables).doc("parallel cables between each pair of switches");
    return t;
  }();
  return table;
}

}  // namespace lockstep
