// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/pair_flows.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/diagnostics.h"
#include "base/hash.h"
#include "base/wide.h"
#include "sim/experiment/hottest_link.h"
#include "sim/network/link_capacities.h"
#include "sim/symmetry/partition.h"
#include "sim/symmetry/reduced_job.h"
#include "sim/symmetry/route_writer.h"

namespace lockstep {
namespace {

// About a kilobyte each on a fabric with a few hops.
constexpr std::size_t kMostPairs = std::size_t{1} << 23;

void check_pairs(const CollectiveRequest& request) {
  const std::size_t n = request.members.size();
  if (request.kind != CollectiveKind::kAllToAll || n * (n - 1) <= kMostPairs) return;
  throw UserError(fmt::format("an all_to_all of {} GPUs has {} pairs, more than {}", n, n * (n - 1), kMostPairs),
                  "fewer GPUs, like --gpus 2048; all GPUs of a cluster whose racks are full, under spray, need not be listed");
}

// visit(from, to, route) for every flow, by number of rank; the route is finished and may be taken.
template <class Visit>
void for_each_pair(const CollectiveRequest& request, const Router& router, const Visit& visit) {
  const std::size_t n = request.members.size();
  const std::size_t farthest = request.kind == CollectiveKind::kAllToAll ? n - 1 : 1;
  Route route;
  for (std::size_t from = 0; from < n; ++from) {
    for (std::size_t distance = 1; distance <= farthest; ++distance) {
      const std::size_t to = (from + distance) % n;
      const Hop hop{.from = request.members[from], .to = request.members[to]};
      route.shares.clear();
      route.latency = {};
      router.add(hop, hash_words({hop.from.value(), hop.to.value()}), route);
      visit(from, to, route);
    }
  }
}

HopKind kind_between(const CollectiveRequest& request, const Network& net, std::size_t from, std::size_t to) {
  return hop_kind(net, request.members[from], request.members[to]);
}

}  // namespace

PairFlows::PairFlows(const CollectiveRequest& request, const Router& router, const CollectiveTuning& tuning)
    : tuning_(tuning), weight_(router.weight()) {
  count_peers(request, router.network());
  std::optional<AlikePairs> pairs;
  if (request.uses_symmetry && request.kind == CollectiveKind::kAllToAll) pairs = alike_pairs(router, request.members);
  if (!pairs) check_pairs(request);
  if (pairs) {
    add_alike(request, router, *pairs);
  } else if (request.uses_symmetry && !router.routing().is_hashed()) {
    add_classes(request, router);
  } else {
    add_everyone(request, router);
  }
}

void PairFlows::count_peers(const CollectiveRequest& request, const Network& net) {
  const std::vector<EndpointId>& members = request.members;
  if (request.kind != CollectiveKind::kAllToAll) {
    for (std::size_t r = 0; r < members.size(); ++r) {
      if (kind_between(request, net, r, (r + 1) % members.size()) == HopKind::kNetwork) peers_elsewhere_ = 1;
    }
    return;
  }
  peers_ = std::ssize(members) - 1;
  std::vector<std::int64_t> on_node(net.node_count(), 0);
  for (const EndpointId e : members) ++on_node[net.node_of(e).index()];
  std::int64_t fewest = std::ssize(members);
  for (const std::int64_t n : on_node) {
    if (n > 0) fewest = std::min(fewest, n);
  }
  peers_elsewhere_ = std::ssize(members) - fewest;
}

void PairFlows::add_everyone(const CollectiveRequest& request, const Router& router) {
  const Network& net = router.network();
  capacities_ = lockstep::link_capacities(net);
  for_each_pair(request, router, [&](std::size_t from, std::size_t to, Route& route) {
    Router::finish(route);
    const HopKind hop = kind_between(request, net, from, to);
    classes_.push_back({.all = route.shares, .alone = {}, .latency = send_latency(tuning_, hop, route.latency), .hop = hop});
  });
}

void PairFlows::add_alike(const CollectiveRequest& request, const Router& router, const AlikePairs& pairs) {
  for (const AlikePairs::Flows& f : pairs.flows) {
    const HopKind hop = f.leaves_node ? HopKind::kNetwork : hop_kind(router.network(), request.members.front(), f.to);
    classes_.push_back(
        {.all = f.all, .alone = f.alone, .latency = send_latency(tuning_, hop, f.latency), .hop = hop, .size = f.count});
  }
  capacities_ = pairs.capacities;
  links_ = pairs.links;
}

void PairFlows::add_classes(const CollectiveRequest& request, const Router& router) {
  const Network& net = router.network();
  const std::size_t n = request.members.size();
  PlacedJob job;
  job.network = &net;
  job.roles.assign(n, 0);
  for (std::size_t r = 0; r < n; ++r) job.ports.end_row();
  RouteWriter writer(job.routes[1]);
  for_each_pair(request, router, [&](std::size_t from, std::size_t to, const Route& route) {
    writer.add(route, RouteForm::kClosed);  // one hop names no link twice
    writer.end();
    job.channels.push_back({.from = Rank(static_cast<std::uint32_t>(from)),
                            .to = Rank(static_cast<std::uint32_t>(to)),
                            .hop = kind_between(request, net, from, to),
                            .path_latency = route.latency});
  });
  const Partition partition = coarsest_partition(job);
  const ReducedJob reduced(job, partition);
  for (const ActivityClass& a : reduced.activities()) {
    const ReducedShares& shares = a.routes[static_cast<std::size_t>(RouteForm::kClosed)];
    classes_.push_back({.all = shares.all,
                        .alone = shares.alone,
                        .latency = send_latency(tuning_, a.channel->hop, a.channel->path_latency),
                        .hop = a.channel->hop,
                        .size = a.size});
  }
  capacities_.assign(reduced.link_capacities().begin(), reduced.link_capacities().end());
  for (std::size_t l = 0; l < capacities_.size(); ++l) links_.push_back(reduced.representative(LinkId::from_index(l)));
  // Of a class with links between switches one of these is shown.
  for (std::size_t l = net.first_fabric_link().index(); l < net.link_count(); ++l) {
    const std::uint32_t c = partition.links.class_of[l];
    const LinkId link = LinkId::from_index(l);
    if (c != Classes::kNone && joins_switches(net.link(link).tier)) links_[c] = link;
  }
}

std::int64_t PairFlows::chunk_left_behind(HopKind hop, std::int64_t bytes) const {
  const PairTuning& t = tuning_.pairs;
  const std::int64_t chunk = hop == HopKind::kNetwork ? t.network_chunk : hop == HopKind::kPcie ? t.pcie_chunk : t.nvlink_chunk;
  const Int128 of_all = static_cast<Int128>(std::min(bytes, chunk)) * std::min<std::int64_t>(peers_, t.peers_at_once);
  return narrow_int64(of_all / peers_);
}

Rate PairFlows::rate_cap(HopKind hop, std::int64_t bytes) const {
  if (hop != HopKind::kNetwork) return Rate::units(0);
  const Rate cap = lower_of(tuning_.network_channel_rate, tuning_.network_peer_rate);
  const Int128 handing_over = static_cast<Int128>(tuning_.pairs.message_cost.picos()) * peers_elsewhere_;
  if (handing_over == 0) return cap;
  // bytes in the time that handing over takes, in Rate units: 2^-16 byte a second.
  constexpr Int128 kUnitsPerBytePerPico = (Int128{1} << 16) * 1'000'000'000'000;
  const Int128 pace = std::max<Int128>(bytes, 1) * kUnitsPerBytePerPico / handing_over;
  if (pace >= std::numeric_limits<std::int64_t>::max()) return cap;  // no link is that fast
  return lower_of(cap, Rate::units(std::max<std::int64_t>(narrow_int64(pace), 1)));
}

void PairFlows::start(NetworkModel& network, std::int64_t bytes) const {
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const FlowClass& c = classes_[i];
    const std::int64_t moved = checked_add(bytes, chunk_left_behind(c.hop, bytes));
    network.start(Instant(), {.shares = c.all,
                              .alone = c.alone,
                              .weight = weight_,
                              .bytes = moved,
                              .latency = c.latency,
                              .rate_cap = rate_cap(c.hop, moved),
                              .members = c.size,
                              .token = i});
  }
}

}  // namespace lockstep
