// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/pair_symmetry.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/wide.h"

namespace lockstep {
namespace {

bool are_all(const Network& net, std::span<const EndpointId> members) {
  if (members.size() != net.endpoint_count()) return false;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].index() != i) return false;
  }
  return true;
}

bool has_equal_nodes(const Network& net, bool has_rails) {
  if (std::holds_alternative<BareHost>(net.server())) return true;
  if (!std::holds_alternative<NvSwitchServer>(net.server())) return false;
  const int nics = net.nics_per_node();
  if (net.node_count() == 1) return true;
  return nics > 0 && (has_rails ? nics == net.endpoints_per_node() : net.endpoints_per_node() % nics == 0);
}

bool is_full(const Network& net, const FoldedClos& clos) {
  const std::size_t per_rack = static_cast<std::size_t>(clos.shape().nodes_per_leaf);
  if (clos.racks() > 1 && net.node_count() != per_rack * clos.racks()) return false;
  return clos.pods() == 1 || clos.leaves() == static_cast<std::uint32_t>(clos.shape().leaves_per_pod) * clos.pods();
}

// Links of one tier and direction.
class LinkClasses {
 public:
  explicit LinkClasses(const Router& router) : router_(router) {
    const Network& net = router.network();
    for (std::size_t i = 0; i < net.link_count(); ++i) {
      const LinkId id = LinkId::from_index(i);
      if (router.representative(id) != id) continue;
      const Link link = net.link(id);
      Class& c = classes_[key(link)];
      if (c.size++ == 0) c.first = link;
      are_alike_ = are_alike_ && link.capacity == c.first.capacity && link.latency == c.first.latency;
    }
  }
  [[nodiscard]] bool are_alike() const { return are_alike_; }
  [[nodiscard]] std::int64_t size(LinkId link) { return of(link).size; }
  // Numbered as they are met.
  [[nodiscard]] LinkId number(LinkId link, AlikePairs& out) {
    Class& c = of(link);
    if (!c.number) {
      c.number = LinkId::from_index(out.links.size());
      out.links.push_back(link);
      out.capacities.push_back(c.first.capacity);
    }
    return *c.number;
  }

 private:
  struct Class {
    Link first;
    std::int64_t size = 0;
    std::optional<LinkId> number;
  };
  using Key = std::tuple<LinkTier, DeviceKind, DeviceKind>;
  [[nodiscard]] Key key(const Link& l) const { return {l.tier, router_.network().kind(l.from), router_.network().kind(l.to)}; }
  [[nodiscard]] Class& of(LinkId link) { return classes_.at(key(router_.network().link(link))); }

  const Router& router_;
  std::map<Key, Class> classes_;
  bool are_alike_ = true;
};

}  // namespace

std::optional<AlikePairs> alike_pairs(const Router& router, std::span<const EndpointId> members) {
  const Network& net = router.network();
  const auto* clos = std::get_if<FoldedClos>(&net.fabric());
  const RoutingPolicy policy = router.routing().policy;
  const bool is_spread = policy == RoutingPolicy::kSpray || policy == RoutingPolicy::kAdaptive;
  if (!is_spread || clos == nullptr || !are_all(net, members)) return std::nullopt;
  if (!has_equal_nodes(net, clos->has_rails()) || !is_full(net, *clos)) return std::nullopt;
  LinkClasses classes(router);
  if (!classes.are_alike()) return std::nullopt;

  AlikePairs out;
  struct Load {
    std::int64_t sum = 0;  // over the links of the class
    std::int64_t most = 0;
    std::int64_t links = 0;  // in the class
    auto operator<=>(const Load&) const = default;
  };
  using Loads = std::map<LinkId, Load>;
  std::map<std::tuple<Loads, Duration, bool>, std::pair<EndpointId, std::int64_t>> found;  // one of them, how many
  Route route;
  for (const EndpointId to : members.subspan(1)) {
    const Hop hop{.from = members.front(), .to = to};
    route.shares.clear();
    route.latency = {};
    router.add(hop, 0, route);
    Loads loads;
    for (const LinkShare& s : route.shares) {
      Load& load = loads[classes.number(s.link, out)];
      load.sum = checked_add(load.sum, s.coefficient);
      load.most = std::max(load.most, s.coefficient);
      load.links = classes.size(s.link);
    }
    auto& [one, count] = found[{std::move(loads), route.latency, net.node_of(hop.from) != net.node_of(to)}];
    if (count++ == 0) one = to;
  }
  for (const auto& [what, whose] : found) {
    const auto& [loads, latency, leaves_node] = what;
    AlikePairs::Flows& flows = out.flows.emplace_back();
    flows.latency = latency;
    flows.leaves_node = leaves_node;
    flows.to = whose.first;
    flows.count = checked_mul(whose.second, static_cast<std::int64_t>(members.size()));
    for (const auto& [link, load] : loads) {
      const Int128 total = static_cast<Int128>(load.sum) * flows.count;
      LOCKSTEP_CHECK(total % load.links == 0, "{} flows on {} links that are not alike", flows.count, load.links);
      flows.all.push_back({link, narrow_int64(total / load.links)});
      flows.alone.push_back({link, load.most});
    }
  }
  return out;
}

}  // namespace lockstep
