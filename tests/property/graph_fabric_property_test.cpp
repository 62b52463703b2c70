// SPDX-License-Identifier: Apache-2.0
// Paths of dragonflies, tori and custom graphs against searches that know nothing of routing.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "tests/property/random_network.h"
#include "topology/graph_analysis.h"
#include "topology/link_rows.h"
#include "topology/routing/router.h"

namespace lockstep {
namespace {

using test::assert_conserved;
using test::between;
using test::random_graph_network;
using test::random_hop;

const GraphFabric& graph(const Network& net) { return std::get<GraphFabric>(net.fabric()); }

// On the links between switches.
struct Search {
  explicit Search(const Network& of) : net(of), rows(of) {}

  // Links of a shortest way from a to b.
  int distance(DeviceId a, DeviceId b) const {
    std::map<DeviceId, int> met{{a, 0}};
    std::vector<DeviceId> queue{a};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (const LinkId l : rows.from(queue[i])) {
        const DeviceId to = net.link(l).to;
        if (to >= net.first_switch() && met.emplace(to, met[queue[i]] + 1).second) queue.push_back(to);
      }
    }
    return met.at(b);
  }

  // Ways of so many links.
  std::int64_t count(DeviceId a, DeviceId b, int links) const {
    if (links == 0) return a == b ? 1 : 0;
    std::int64_t ways = 0;
    for (const LinkId l : rows.from(a)) {
      const DeviceId to = net.link(l).to;
      if (to >= net.first_switch()) ways += count(to, b, links - 1);
    }
    return ways;
  }

  const Network& net;
  LinkRows rows;
};

bool leaves_node(const Network& net, const Hop& h) { return net.node_of(h.from) != net.node_of(h.to); }

// The switches that a path enters and leaves the fabric by, and the links between them.
struct Crossing {
  DeviceId from;
  DeviceId to;
  std::vector<LinkId> trunks;
};

Crossing crossing(const Network& net, const std::vector<LinkId>& path) {
  Crossing c;
  for (const LinkId l : path) {
    const Link link = net.link(l);
    if (link.from >= net.first_switch() && link.to >= net.first_switch()) c.trunks.push_back(l);
    if (link.from < net.first_switch() && link.to >= net.first_switch()) c.from = link.to;
    if (link.from >= net.first_switch() && link.to < net.first_switch()) c.to = link.from;
  }
  return c;
}

// Every pair is connected. Paths join, meet no device twice (but a PCIe switch, by a copy over host memory), are all different; their
// latency is that of their links.
RC_GTEST_PROP(GraphFabricProperty, EveryPathLeadsFromSourceToDestination, ()) {
  const auto wire = [](int nanos) { return Wire::pure(Rate::gbps(100), Duration::nanos(nanos)); };
  const Network net = random_graph_network({wire(between(0, 9)), wire(between(0, 9)), wire(between(0, 9))});
  RC_PRE(net.endpoint_count() > 1);
  const Hop h = random_hop(net);
  std::set<std::vector<LinkId>> distinct;
  const std::int64_t paths = net.path_count(h);
  RC_ASSERT(paths > 0);
  RC_ASSERT(paths <= net.max_path_count());
  RC_ASSERT(net.spray_weight() % paths == 0);
  Duration longest;
  for (std::int64_t i = 0; i < paths; ++i) {
    std::vector<LinkShare> shares;
    const Duration told = net.append_path(h, i, 1, shares);
    longest = std::max(longest, told);
    Duration sum;
    std::set<DeviceId> met{net.device_of(h.from)};
    DeviceId at = net.device_of(h.from);
    std::vector<LinkId> links;
    for (const LinkShare& s : shares) {
      RC_ASSERT(net.link(s.link).from == at);
      at = net.link(s.link).to;
      RC_ASSERT(met.insert(at).second || net.kind(at) == DeviceKind::kPcieSwitch);
      sum += net.link(s.link).latency;
      links.push_back(s.link);
    }
    RC_ASSERT(at == net.device_of(h.to));
    RC_ASSERT(told == sum);
    distinct.insert(links);
  }
  RC_ASSERT(distinct.size() == static_cast<std::size_t>(paths));
  std::vector<LinkShare> shares;
  RC_ASSERT(net.append_spray(h, net.spray_weight(), shares) == longest);
}

// Tori and custom graphs take shortest ways; a torus as many links as its ring distances add up to, and 2^ties ways. A custom
// graph has all shortest ways as paths, up to 16. A dragonfly goes local, global, local at most, over one global cable between
// groups.
RC_GTEST_PROP(GraphFabricProperty, PathsAreAsLongAsTheFabricSays, ()) {
  const Network net = random_graph_network();
  RC_PRE(net.endpoint_count() > 1);
  const Hop h = random_hop(net);
  RC_PRE(leaves_node(net, h));
  const Search search(net);
  const SwitchLayout& layout = graph(net).shape().layout;
  for (std::int64_t i = 0; i < net.path_count(h); ++i) {
    const Crossing c = crossing(net, test::path_links(net, h, i));
    const auto links = static_cast<int>(c.trunks.size());
    const std::uint32_t a = c.from.value() - net.first_switch().value();
    const std::uint32_t b = c.to.value() - net.first_switch().value();
    if (const auto* d = std::get_if<Dragonfly>(&layout)) {
      std::string tiers;
      for (const LinkId l : c.trunks) tiers += net.link(l).tier == LinkTier::kGlobal ? 'g' : 'l';
      const bool is_near = d->pod_of(a) == d->pod_of(b);
      const std::set<std::string> expected =
          is_near ? std::set<std::string>{a == b ? "" : "l"} : std::set<std::string>{"g", "lg", "gl", "lgl"};
      RC_ASSERT(expected.count(tiers) == 1);
      RC_ASSERT(net.path_count(h) == (is_near ? 1 : d->global_cables()));
      continue;
    }
    RC_ASSERT(links == search.distance(c.from, c.to));
    if (const auto* t = std::get_if<Torus>(&layout)) {
      std::uint32_t rest_a = a;
      std::uint32_t rest_b = b;
      int sum = 0;
      std::int64_t ways = 1;
      for (auto size = t->dimensions().rbegin(); size != t->dimensions().rend(); ++size) {
        const auto apart = static_cast<int>((rest_a % *size + *size - rest_b % *size) % *size);
        const auto round = static_cast<int>(*size) - apart;
        sum += std::min(apart, round);
        if (apart == round && *size > 2) ways *= 2;
        rest_a /= *size;
        rest_b /= *size;
      }
      RC_ASSERT(links == sum);
      RC_ASSERT(net.path_count(h) == ways);
    } else {
      RC_ASSERT(net.path_count(h) == std::min<std::int64_t>(16, search.count(c.from, c.to, links)));
    }
  }
}

// W leaves the source, W reaches the destination, what enters any other device leaves it: so every cut between them carries W.
// Shares are those of all paths added up.
RC_GTEST_PROP(GraphFabricProperty, SprayIsConservedAndTheSumOfItsPaths, ()) {
  const Network net = random_graph_network();
  RC_PRE(net.endpoint_count() > 1);
  const Router spray(net, RoutingPolicy::kSpray, 0);
  const Router single(net, RoutingPolicy::kStatic, 0);
  const Hop h = random_hop(net);
  Route route;
  spray.add(h, 0, route);
  const std::size_t shares = route.shares.size();
  Router::finish(route);
  RC_ASSERT(route.shares.size() == shares);  // no link twice
  assert_conserved(net, h, route, spray.weight());
  Route expected;
  for (std::int64_t i = 0; i < net.path_count(h); ++i) single.add_on_path(h, i, expected);
  Router::finish(expected);
  for (LinkShare& s : expected.shares) s.coefficient *= spray.weight() / net.path_count(h);
  RC_ASSERT(route.shares == expected.shares);
}

// Ids of links: each in the row of the device where it starts and in no other, the directions of a cable next to each other, no
// name twice.
RC_GTEST_PROP(GraphFabricProperty, LinksHaveTheirIdsAndNames, ()) {
  const Network net = random_graph_network();
  const LinkRows rows(net);
  std::set<LinkId> met;
  std::set<std::string> names;
  for (std::size_t d = 0; d < net.device_count(); ++d) {
    for (const LinkId id : rows.from(DeviceId::from_index(d))) {
      const Link l = net.link(id);
      RC_ASSERT(l.from == DeviceId::from_index(d));
      RC_ASSERT(net.link(LinkId(id.value() ^ 1u)).from == l.to);
      RC_ASSERT(net.link(LinkId(id.value() ^ 1u)).to == l.from);
      RC_ASSERT(met.insert(id).second);
      RC_ASSERT(names.insert(net.name(id)).second);
    }
  }
  RC_ASSERT(met.size() == net.link_count());
  RC_ASSERT(analyze_graph(net).is_connected);
}

// `global_cables` between each two groups, and every router of a group has its even part of them.
RC_GTEST_PROP(GraphFabricProperty, GlobalCablesAreSpreadEvenly, ()) {
  const int groups = between(2, 7);
  const int routers = between(1, 5);
  const int cables = between(1, 6);
  const Dragonfly d({.groups = groups, .routers_per_group = routers, .global_cables = cables}, test::kUnitWire,
                    test::kUnitWire);
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> between_groups;
  std::map<std::uint32_t, int> of_router;
  for (const SwitchCable& c : d.cables()) {
    if (c.sort == 0) continue;
    ++between_groups[std::minmax(d.pod_of(c.from), d.pod_of(c.to))];
    ++of_router[c.from];
    ++of_router[c.to];
  }
  RC_ASSERT(between_groups.size() == static_cast<std::size_t>(groups * (groups - 1) / 2));
  for (const auto& [pair, count] : between_groups) RC_ASSERT(count == cables);
  // (groups - 1) x cables ends of a group over its routers, as evenly as whole cables go.
  const int ends = (groups - 1) * cables;
  for (std::uint32_t s = 0; s < d.switches(); ++s) {
    RC_ASSERT(of_router[s] == ends / routers || of_router[s] == ends / routers + 1);
  }
}

}  // namespace
}  // namespace lockstep
