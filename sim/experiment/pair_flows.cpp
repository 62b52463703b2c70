// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/pair_flows.h"

#include <fmt/core.h>

#include "base/diagnostics.h"
#include "base/hash.h"
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
                  "fewer GPUs, like --gpus 2048");
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
    : weight_(router.weight()) {
  check_pairs(request);
  if (request.uses_symmetry && !router.routing().is_hashed()) {
    add_classes(request, router, tuning);
  } else {
    add_everyone(request, router, tuning);
  }
}

void PairFlows::add_everyone(const CollectiveRequest& request, const Router& router, const CollectiveTuning& tuning) {
  const Network& net = router.network();
  capacities_ = lockstep::link_capacities(net);
  for_each_pair(request, router, [&](std::size_t from, std::size_t to, Route& route) {
    Router::finish(route);
    classes_.push_back({.all = route.shares,
                        .alone = {},
                        .latency = send_latency(tuning, kind_between(request, net, from, to), route.latency)});
  });
}

void PairFlows::add_classes(const CollectiveRequest& request, const Router& router, const CollectiveTuning& tuning) {
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
                        .latency = send_latency(tuning, a.channel->hop, a.channel->path_latency),
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

void PairFlows::start(NetworkModel& network, std::int64_t bytes) const {
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const FlowClass& c = classes_[i];
    network.start(Instant(), {.shares = c.all,
                              .alone = c.alone,
                              .weight = weight_,
                              .bytes = bytes,
                              .latency = c.latency,
                              .members = c.size,
                              .token = i});
  }
}

}  // namespace lockstep
