// SPDX-License-Identifier: Apache-2.0
// The keys of a custom graph and what is wrong with one whatever cluster it serves: names, ends of cables, parts that nothing
// joins.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/field_table.h"
#include "topology/fabric/graph_spec.h"
#include "topology/hardware/limits.h"

namespace lockstep {
namespace {

constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-(),/";

// Nodes are called node3 or host3 in the names of links and in drawings.
bool is_name_of_a_node(const std::string& name) {
  for (const std::string_view word : {"node", "host"}) {
    if (name.rfind(word, 0) != 0) continue;
    const std::string rest = name.substr(word.size(), name.find('.') - word.size());
    if (!rest.empty() && rest.find_first_not_of("0123456789") == std::string::npos) return true;
  }
  return false;
}

void check_names(const CustomSpec& c, Section& at) {
  if (c.switches.empty()) at.error("switches", "lists no switch", "like [a, b]");
  if (c.switches.size() > kMostCustomSwitches) {
    at.error("switches", fmt::format("lists {} switches, more than {}", c.switches.size(), kMostCustomSwitches),
             "a folded Clos, dragonfly or torus may have more");
  }
  std::map<std::string, std::size_t> first;
  for (std::size_t i = 0; i < c.switches.size(); ++i) {
    const std::string& name = c.switches[i].name;
    const std::string key = join_path("switches", i);
    if (name.empty() || name.find_first_not_of(kNameCharacters) != std::string::npos) {
      at.error(key, fmt::format("'{}' is no name of a switch", name), "letters, digits and _ . - ( ) , /");
    } else if (is_name_of_a_node(name)) {
      at.error(key, fmt::format("'{}' is what a node is called", name), "another name");
    } else if (!first.emplace(name, i).second) {
      at.error(key, fmt::format("'{}' is the name of switch number {} too", name, first[name]), "each switch needs its own");
    }
  }
}

std::vector<std::string> names_of(const CustomSpec& c) {
  std::vector<std::string> names;
  for (const SwitchSpec& s : c.switches) names.push_back(s.name);
  return names;
}

// False, with an error, when no switch is called so.
bool check_known(const std::string& name, const std::vector<std::string>& names, const std::string& key, Section& at) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  const std::string guess = closest(name, names);
  at.error(key, fmt::format("no switch is called '{}'", name),
           guess.empty() ? "it must be one of the switches listed" : fmt::format("did you mean '{}'?", guess));
  return false;
}

// Every switch that has nodes must reach every other one.
void check_connected(const CustomSpec& c, const std::vector<std::string>& names, Section& at) {
  std::map<std::string, std::size_t> number;
  for (const std::string& n : names) number.emplace(n, number.size());
  std::vector<std::size_t> parent(number.size());
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto root = [&parent](std::size_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (const CustomCableSpec& cable : c.cables) parent[root(number.at(cable.from))] = root(number.at(cable.to));
  for (const HostSpec& h : c.hosts) {
    if (root(number.at(h.on)) == root(number.at(c.hosts.front().on))) continue;
    at.error("cables", fmt::format("no path joins the switches '{}' and '{}', which have nodes", c.hosts.front().on, h.on),
             "add cables between the two parts");
    return;
  }
}

void check_custom(const CustomSpec& c, Section& at) {
  check_names(c, at);
  const std::vector<std::string> names = names_of(c);
  bool is_known = true;
  for (std::size_t i = 0; i < c.cables.size(); ++i) {
    const CustomCableSpec& cable = c.cables[i];
    const std::string key = join_path("cables", i);
    is_known = check_known(cable.from, names, key + ".from", at) && is_known;
    is_known = check_known(cable.to, names, key + ".to", at) && is_known;
    if (cable.from == cable.to) at.error(key, "leads back to the switch it comes from", "give two different switches");
  }
  if (c.hosts.empty()) at.error("hosts", "attaches no node", "like [{nodes: 0-3, switch: a}]");
  for (std::size_t i = 0; i < c.hosts.size(); ++i) {
    is_known = check_known(c.hosts[i].on, names, join_path("hosts", i) + ".switch", at) && is_known;
  }
  if (is_known && !c.hosts.empty()) check_connected(c, names, at);
}

const FieldTable<SwitchSpec>& switch_fields() {
  static const FieldTable<SwitchSpec> table = [] {
    FieldTable<SwitchSpec> t;
    t.field("name", &SwitchSpec::name).required().doc("how cables, hosts and reports call it");
    t.field("tier", &SwitchSpec::tier)
        .range(0, kMostCustomSwitches)
        .doc("height in drawings; cables from the nearest switch with nodes when absent");
    t.field("rack", &SwitchSpec::rack).doc("rack of the nodes whose port 0 is here; a rack of its own when absent");
    t.field("pod", &SwitchSpec::pod).doc("pod of these nodes; those without one share one");
    return t;
  }();
  return table;
}

const FieldTable<CustomCableSpec>& custom_cable_fields() {
  static const FieldTable<CustomCableSpec> table = [] {
    FieldTable<CustomCableSpec> t;
    t.field("from", &CustomCableSpec::from).required().doc("switch at one end");
    t.field("to", &CustomCableSpec::to).required().doc("switch at the other end");
    t.field("count", &CustomCableSpec::count).range(1, kMostCables).doc("parallel cables");
    t.field("speed", &CustomCableSpec::speed)
        .range(kLowestRate, kHighestRate)
        .doc("line rate of one cable; that of fabric_link when absent");
    t.field("latency", &CustomCableSpec::latency)
        .range(Duration(), kLongestLatency)
        .doc("one cable and the switch behind it; that of fabric_link when absent");
    return t;
  }();
  return table;
}

const FieldTable<HostSpec>& host_fields() {
  static const FieldTable<HostSpec> table = [] {
    FieldTable<HostSpec> t;
    t.field("nodes", &HostSpec::nodes).required().doc("servers or bare hosts that are attached here");
    t.field("switch", &HostSpec::on).required().doc("the switch");
    t.field("port", &HostSpec::port).range(0, kMostNics - 1).doc("with this NIC only; with all of them when absent");
    return t;
  }();
  return table;
}

}  // namespace

const FieldTable<CustomSpec>& custom_fields() {
  static const FieldTable<CustomSpec> table = [] {
    FieldTable<CustomSpec> t;
    t.list("switches", &CustomSpec::switches, switch_fields(), "name").required().doc("all switches; a name alone will do");
    t.list("cables", &CustomSpec::cables, custom_cable_fields()).doc("cables between switches");
    t.list("hosts", &CustomSpec::hosts, host_fields()).required().doc("which switch each port of each node is cabled to");
    t.validate(check_custom);
    return t;
  }();
  return table;
}

}  // namespace lockstep
