// SPDX-License-Identifier: Apache-2.0
#include "workloads/collectives/hierarchical.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"
#include "workloads/collectives/ring.h"

namespace lockstep {
namespace {

// Many equal rings as one flow.
class RingsBuilder {
 public:
  explicit RingsBuilder(const Router& router) : router_(router) {}

  void add(RingShape ring) {
    if (rings_++ == 0) first_ = ring;
    LOCKSTEP_CHECK(ring.ranks == first_.ranks && ring.channels == first_.channels,
                   "rings of {} and {} ranks, {} and {} channels", first_.ranks, ring.ranks, first_.channels, ring.channels);
    route_.shares.insert(route_.shares.end(), ring.closed.shares.begin(), ring.closed.shares.end());
    latency_ = std::max(latency_, ring.network_latency);
    uses_pcie_ |= ring.uses_pcie;
  }

  // A node sends on `rings_per_node` of them at a time: together they are one sharer (FlowBuilder::finish).
  FlowShape finish(std::int64_t rings_per_node, Route& out) {
    Router::finish(route_);
    const std::int64_t was = first_.weight / router_.weight();
    const std::int64_t factor = std::max<std::int64_t>(1, kSharerWeight / (rings_per_node * first_.channels));
    for (LinkShare& s : route_.shares) s.coefficient = checked_mul(s.coefficient / was, factor);
    FlowShape shape{.weight = checked_mul(router_.weight(), factor),
                    .members = checked_mul(std::int64_t{first_.ranks} * first_.channels, rings_),
                    .network_latency = latency_,
                    .has_nvlink_hop = first_.nodes == 1 && !uses_pcie_,
                    .has_pcie_hop = uses_pcie_,
                    .has_network_hop = first_.nodes > 1};
    shape.rate = undisturbed_rate(router_.network(), route_, shape.weight);
    out = std::move(route_);
    return shape;
  }
  [[nodiscard]] const RingShape& first() const { return first_; }

 private:
  const Router& router_;
  RingShape first_;
  Route route_;
  Duration latency_;
  bool uses_pcie_ = false;
  std::int64_t rings_ = 0;
};

void add_stage(RouteForm form, const RingShape& ring, const FlowShape& flow, const CollectiveTuning& tuning,
               CollectiveKind kind, std::int64_t bytes, Protocol protocol, std::vector<Stage>& out) {
  const LoweredRing c = lower_ring(ring, tuning, kind, bytes, flow.rate, &protocol);
  out.push_back({.form = form,
                 .weight = flow.weight,
                 .bytes = c.bytes,
                 .members = flow.members,
                 .latency = c.latency,
                 .rate_cap = c.rate_cap,
                 .rate = flow.rate});
}

}  // namespace

bool has_levels(const std::vector<NodeGroup>& groups) {
  const std::size_t n = groups.front().members.size();
  return groups.size() > 1 && n > 1 &&
         std::all_of(groups.begin(), groups.end(), [n](const NodeGroup& g) { return g.members.size() == n; });
}

HierarchicalShape shape_hierarchical(const Router& router, const std::vector<NodeGroup>& groups, std::uint64_t channel_key,
                                     MeshRings& known, Route& inside, Route& across) {
  LOCKSTEP_CHECK(has_levels(groups), "{} nodes, {} members on the first", groups.size(), groups.front().members.size());
  HierarchicalShape shape;
  shape.nodes = static_cast<int>(groups.size());
  shape.per_node = static_cast<int>(groups.front().members.size());
  const auto key = [channel_key](RouteForm form, std::uint64_t i) {
    return hash_words({channel_key, static_cast<std::uint64_t>(form), i});
  };

  RingsBuilder rings_inside(router);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    rings_inside.add(shape_ring(router, groups[g].members, key(RouteForm::kInside, g), rings_inside.first().channels, &known));
  }
  shape.inside_channels = rings_inside.first().channels;
  shape.inside = rings_inside.finish(1, inside);

  RingsBuilder rings_across(router);
  std::vector<EndpointId> members;
  shape.across_channels = nics_per_gpu(router.network());
  for (std::size_t i = 0; i < groups.front().members.size(); ++i) {
    members.clear();
    for (const NodeGroup& g : groups) members.push_back(g.members[i]);
    rings_across.add(shape_ring(router, members, key(RouteForm::kAcross, i), shape.across_channels, &known));
  }
  shape.across = rings_across.finish(shape.per_node, across);
  return shape;
}

void lower_hierarchical(const HierarchicalShape& shape, std::span<const CollectiveTuning, 3> tunings, CollectiveKind kind,
                        std::int64_t bytes, Protocol protocol, std::vector<Stage>& out) {
  LOCKSTEP_CHECK(applies(Algorithm::kHierarchical, kind), "nothing hierarchical does {}", to_text(kind));
  const auto inside = [&](CollectiveKind k) {
    RingShape ring;
    ring.ranks = shape.per_node;
    ring.nodes = 1;
    ring.channels = shape.inside_channels;
    ring.nvlink_channels = shape.inside.has_nvlink_hop ? shape.inside_channels : 0;
    ring.uses_pcie = shape.inside.has_pcie_hop;
    add_stage(RouteForm::kInside, ring, shape.inside, tunings[0], k, bytes, protocol, out);
  };
  const auto across = [&] {
    RingShape ring;
    ring.ranks = ring.nodes = shape.nodes;
    ring.channels = shape.across_channels;
    ring.network_latency = shape.across.network_latency;
    const CollectiveTuning& tuning = tunings[shape.nodes > 2 ? 2 : 1];
    add_stage(RouteForm::kAcross, ring, shape.across, tuning, kind, ceil_div(bytes, std::int64_t{shape.per_node}), protocol,
              out);
  };
  if (kind != CollectiveKind::kAllGather) inside(CollectiveKind::kReduceScatter);
  across();
  if (kind != CollectiveKind::kReduceScatter) inside(CollectiveKind::kAllGather);
}

}  // namespace lockstep
