// SPDX-License-Identifier: Apache-2.0
#include "workloads/parallel/placement.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "base/random.h"
#include "base/wide.h"

namespace lockstep {
namespace {

enum Draw : std::uint32_t { kOrder, kTaken };

std::vector<NodeId> by_random_number(std::vector<NodeId> nodes, std::uint64_t seed, Draw draw) {
  const auto key = [=](NodeId n) { return std::pair(random_u64(seed, RandomStream::kPlacement, n.value(), draw), n.value()); };
  std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) { return key(a) < key(b); });
  return nodes;
}

std::vector<NodeId> free_nodes(const PlacementSpec& spec, const Network& network, std::uint64_t seed,
                               const NodeMask& occupied) {
  std::vector<NodeId> all;
  for (std::size_t n = 0; n < network.node_count(); ++n) all.push_back(NodeId::from_index(n));
  NodeMask busy = occupied;
  busy.resize(all.size());
  const auto taken = static_cast<std::size_t>(taken_nodes(spec.taken, std::ssize(all)));
  if (taken > 0) {
    const std::vector<NodeId> drawn = by_random_number(all, seed, kTaken);
    for (std::size_t i = 0; i < taken; ++i) busy[drawn[i].index()] = true;
  }
  std::erase_if(all, [&](NodeId n) { return busy[n.index()]; });
  return all;
}

// Racks and pods of a network; a node without one is in the first of both.
std::size_t racks_of(const Network& network) { return std::max<std::size_t>(1, network.rack_count()); }
std::size_t pods_of(const Network& network) { return std::max<std::size_t>(1, network.pod_count()); }

std::vector<NodeId> spread(const std::vector<NodeId>& nodes, const Network& network) {
  // Turns of a node within its rack, then of its rack's node within the pod.
  struct Turn {
    NodeId node;
    std::uint32_t in_rack = 0;
    std::uint32_t in_pod = 0;
  };
  std::vector<std::uint32_t> of_rack(racks_of(network), 0);
  std::vector<std::uint32_t> of_pod(pods_of(network), 0);
  std::vector<Turn> turns;
  for (const NodeId n : nodes) turns.push_back({n, of_rack[network.rack_of(n)]++});
  std::stable_sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) { return a.in_rack < b.in_rack; });
  // Of equal turns nodes are still in order, and so are their racks.
  for (Turn& t : turns) t.in_pod = of_pod[network.pod_of(t.node)]++;
  std::stable_sort(turns.begin(), turns.end(), [&](const Turn& a, const Turn& b) {
    return std::pair(a.in_pod, network.pod_of(a.node)) < std::pair(b.in_pod, network.pod_of(b.node));
  });
  std::vector<NodeId> out;
  for (const Turn& t : turns) out.push_back(t.node);
  return out;
}

struct Rack {
  std::uint32_t id = 0;
  std::uint32_t pod = 0;
  std::int64_t free = 0;
};

// PRE: together they have room.
std::vector<Rack> fewest_racks(std::vector<Rack> racks, std::int64_t count) {
  std::sort(racks.begin(), racks.end(),
            [](const Rack& a, const Rack& b) { return std::tuple(-a.free, a.id) < std::tuple(-b.free, b.id); });
  std::vector<Rack> out;
  std::size_t next = 0;
  while (racks[next].free < count) {
    count -= racks[next].free;
    out.push_back(racks[next++]);
  }
  // The rest fits into one; the last one that holds it has the least room left over, and of equals the first is taken.
  std::size_t best = next;
  for (std::size_t i = next; i < racks.size() && racks[i].free >= count; ++i) {
    if (racks[i].free < racks[best].free) best = i;
  }
  out.push_back(racks[best]);
  return out;
}

std::vector<NodeId> rack_aware(const std::vector<NodeId>& nodes, std::int64_t count, const Network& network) {
  std::vector<Rack> racks(racks_of(network));
  for (const NodeId n : nodes) {
    Rack& r = racks[network.rack_of(n)];
    r = {network.rack_of(n), network.pod_of(n), r.free + 1};
  }
  std::erase_if(racks, [](const Rack& r) { return r.free == 0; });
  std::vector<Rack> chosen = fewest_racks(racks, count);
  // The pod with the least room of those in which it takes no more racks.
  std::vector<std::vector<Rack>> pods(pods_of(network));
  for (const Rack& r : racks) pods[r.pod].push_back(r);
  std::int64_t least = nodes.empty() ? 0 : std::ssize(nodes) + 1;
  const std::size_t fewest = chosen.size();
  for (const std::vector<Rack>& pod : pods) {
    const std::int64_t room =
        std::accumulate(pod.begin(), pod.end(), std::int64_t{0}, [](std::int64_t sum, const Rack& r) { return sum + r.free; });
    if (room < count || room >= least) continue;
    std::vector<Rack> inside = fewest_racks(pod, count);
    if (inside.size() > fewest) continue;
    least = room;
    chosen = std::move(inside);
  }
  // The rack filled last may stay partly free.
  std::vector<std::int64_t> quota(racks_of(network), 0);
  for (const Rack& r : chosen) {
    quota[r.id] = std::min(r.free, count);
    count -= quota[r.id];
  }
  std::vector<NodeId> out;
  for (const NodeId n : nodes) {
    if (quota[network.rack_of(n)]-- > 0) out.push_back(n);
  }
  return out;
}

}  // namespace

std::int64_t taken_nodes(const Fraction& share, std::int64_t nodes) {
  constexpr double kRoundingError = 1e-9;  // 0.29 x 100 is 28.999999999999996
  return static_cast<std::int64_t>(std::floor(share.value * static_cast<double>(nodes) + kRoundingError));
}

std::vector<NodeId> choose_nodes(const PlacementSpec& spec, std::int64_t count, const Network& network, std::uint64_t seed,
                                 const NodeMask& occupied) {
  const std::uint64_t draws = spec.seed ? static_cast<std::uint64_t>(*spec.seed) : seed;
  std::vector<NodeId> nodes = free_nodes(spec, network, draws, occupied);
  if (std::ssize(nodes) < count) {
    throw UserError(fmt::format("the job needs {} nodes, but {} of {} are free", count, nodes.size(), network.node_count()),
                    "fewer gpus, a larger cluster, or a smaller share taken");
  }
  switch (spec.policy) {
    case PlacementPolicy::kPacked:
      break;
    case PlacementPolicy::kSpread:
      nodes = spread(nodes, network);
      break;
    case PlacementPolicy::kRandom:
      nodes = by_random_number(std::move(nodes), draws, kOrder);
      break;
    case PlacementPolicy::kRackAware:
    case PlacementPolicy::kRailAligned:
      nodes = rack_aware(nodes, count, network);
      break;
  }
  nodes.resize(static_cast<std::size_t>(count));
  return nodes;
}

std::uint32_t slot_of(const ParallelLayout& layout, const RankOrder& order, Rank rank) {
  const Coordinates at = layout.coordinates(rank);
  const ParallelLayout::Sizes& sizes = layout.sizes();
  const std::uint32_t at_axis[] = {at.tp, at.cp, at.dp, at.pp};
  const std::uint32_t size_of_axis[] = {sizes.tp, sizes.cp, sizes.dp, sizes.pp};
  std::uint32_t slot = 0;
  for (std::size_t i = order.axes.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order.axes[i]);
    slot = slot * size_of_axis[axis] + at_axis[axis];
  }
  return slot;
}

std::vector<EndpointId> place_ranks(const TrainingPlan& plan, const Network& network, std::uint64_t seed,
                                    const NodeMask& occupied) {
  const PlacementSpec& spec = plan.job.placement;
  const std::uint32_t ranks = plan.layout.world_size();
  std::vector<EndpointId> slots;
  for (const std::int64_t e : all_indices(spec.endpoints)) slots.push_back(EndpointId(static_cast<std::uint32_t>(e)));
  if (slots.empty()) {
    std::vector<NodeId> nodes;
    for (const std::int64_t n : all_indices(spec.hosts)) nodes.push_back(NodeId(static_cast<std::uint32_t>(n)));
    const auto per_node = static_cast<std::uint32_t>(network.endpoints_per_node());
    if (nodes.empty())
      nodes = choose_nodes(spec, ceil_div(std::int64_t{ranks}, std::int64_t{per_node}), network, seed, occupied);
    for (const NodeId n : nodes) {
      for (std::uint32_t i = 0; i < per_node && slots.size() < ranks; ++i) {
        slots.push_back(network.endpoint(n, static_cast<int>(i)));
      }
    }
  }
  LOCKSTEP_CHECK(slots.size() == ranks, "{} GPUs for {} ranks", slots.size(), ranks);
  std::vector<EndpointId> out;
  for (std::uint32_t r = 0; r < ranks; ++r) out.push_back(slots[slot_of(plan.layout, plan.rank_order(), Rank(r))]);
  return out;
}

}  // namespace lockstep
