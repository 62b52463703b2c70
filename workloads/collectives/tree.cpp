// SPDX-License-Identifier: Apache-2.0
#include "workloads/collectives/tree.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"

namespace lockstep {
namespace {

// An edge from parent to child, in the directions that the kind uses.
void add_edge(const Hop& down, int channel, CollectiveKind kind, FlowBuilder& flow) {
  if (kind != CollectiveKind::kReduce) flow.add(down, channel);
  if (kind != CollectiveKind::kBroadcast) {
    flow.add({.from = down.to, .to = down.from, .from_nic = down.to_nic, .to_nic = down.from_nic}, channel);
  }
}

}  // namespace

std::vector<std::uint32_t> binary_tree(std::uint32_t n, bool is_second) {
  const auto position = [&](std::uint32_t number) {
    const std::uint32_t p = number - 1;
    if (!is_second) return p;
    return n % 2 == 0 ? n - 1 - p : (p + 1) % n;
  };
  std::vector<std::uint32_t> parent(n, n);
  for (std::uint32_t number = 1; number <= n; ++number) {
    const std::uint32_t lowest = number & (~number + 1);
    const std::uint32_t without = number ^ lowest;
    std::uint32_t above = without | lowest << 1;
    if (above > n) above = without;
    if (above != 0) parent[position(number)] = position(above);
  }
  return parent;
}

const FlowShape& TreeShape::flow(CollectiveKind kind) const {
  return kind == CollectiveKind::kBroadcast ? down : kind == CollectiveKind::kReduce ? up : both;
}

TreeBuilder::TreeBuilder(const Router& router, const std::vector<NodeGroup>& groups, EndpointId root, std::uint64_t channel_key,
                         int channels)
    : router_(router), groups_(groups), root_(root), channel_key_(channel_key) {
  const auto nodes = static_cast<std::uint32_t>(groups.size());
  shape_.nodes = static_cast<int>(nodes);
  shape_.channels = channels > 0 ? channels : channel_count(groups);
  for (const NodeGroup& g : groups) {
    shape_.ranks += static_cast<int>(g.members.size());
    shape_.chain = std::max(shape_.chain, static_cast<int>(g.members.size()) - 1);
  }
  shape_.depth = tree_depth(nodes);
  shape_.rooted_depth = nodes > 1 ? 1 + tree_depth(nodes - 1) : 0;
}

// Along the channel's way round the node, from `root` if it is there.
void TreeBuilder::add_chain(const NodeGroup& group, EndpointId root, int channel, CollectiveKind kind,
                            FlowBuilder& flow) const {
  const std::size_t n = group.members.size();
  std::size_t first = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (at(group, channel, i) == root) first = i;
  }
  for (std::size_t i = first; i + 1 < first + n; ++i) {
    add_edge({.from = at(group, channel, i), .to = at(group, channel, i + 1)}, channel, kind, flow);
  }
}

EndpointId TreeBuilder::at(const NodeGroup& group, int channel, std::size_t i) const {
  return group.on_channel(static_cast<std::size_t>(channel), i, groups_.size() == 1);
}

void TreeBuilder::add_tree(bool is_second, int channel, CollectiveKind kind, FlowBuilder& flow) const {
  const bool is_rooted = kind != CollectiveKind::kAllReduce;
  for (const NodeGroup& g : groups_) add_chain(g, is_rooted ? root_ : EndpointId::none(), channel, kind, flow);
  if (groups_.size() == 1) return;
  // A communicator's first rank is the root, and its node the first group.
  const std::uint32_t first = is_rooted ? 1 : 0;
  const std::vector<std::uint32_t> parents = binary_tree(static_cast<std::uint32_t>(groups_.size()) - first, is_second);
  for (std::uint32_t i = 0; i < parents.size(); ++i) {
    const bool is_top = parents[i] == parents.size();
    if (is_top && !is_rooted) continue;
    const NodeGroup& child = groups_[first + i];
    const NodeGroup& parent = groups_[is_top ? 0 : first + parents[i]];
    const auto c = static_cast<std::size_t>(channel);
    add_edge(
        {.from = at(parent, channel, 0), .to = at(child, channel, 0), .from_nic = parent.nic_of(c), .to_nic = child.nic_of(c)},
        channel, kind, flow);
  }
}

void TreeBuilder::add(CollectiveKind kind, Route& out) {
  LOCKSTEP_CHECK(applies(Algorithm::kTree, kind), "no tree does {}", to_text(kind));
  FlowBuilder flow(router_, hash_words({channel_key_, static_cast<std::uint64_t>(tree_form(kind))}));
  for (int c = 0; c < shape_.channels; ++c) {
    for (const bool is_second : {false, true}) add_tree(is_second, c, kind, flow);
  }
  // Both trees together cross a NIC four times with its channel's data (parent and two children, and the parent of the other tree), one
  // way half as often.
  const int crossings = (kind == CollectiveKind::kAllReduce ? 4 : 2) * shape_.channels;
  FlowShape& mine = kind == CollectiveKind::kBroadcast ? shape_.down
                    : kind == CollectiveKind::kReduce  ? shape_.up
                                                       : shape_.both;
  mine = flow.finish(crossings, out);
}

Stage lower_tree(const TreeShape& shape, const CollectiveTuning& tuning, CollectiveKind kind, std::int64_t bytes,
                 Protocol protocol) {
  const FlowShape& flow = shape.flow(kind);
  LOCKSTEP_CHECK(flow.members > 0, "a tree of {} was not shaped", to_text(kind));
  const bool is_rooted = kind != CollectiveKind::kAllReduce;
  const std::int64_t parts = std::int64_t{2} * shape.channels;
  const ProtocolCost& cost = tuning.tree[static_cast<std::size_t>(protocol)];
  Rate cap;
  if (flow.inside_rate.units() > 0) cap = flow.inside_rate.scaled(tuning.tree_inside_share);
  if (shape.nodes > 1) cap = lower_of(cap, tuning.network_channel_rate);
  if (cost.rate_factor < 1) cap = lower_of(cap, lower_of(flow.rate, cap).scaled(cost.rate_factor));
  // The limit is one of bus bandwidth, which is twice what a tree reduces (the tuner's halving of it): S in 2S / limit.
  if (cost.rate_limit.units() > 0) cap = lower_of(cap, Rate::units(cost.rate_limit.units() / (2 * parts)));
  const std::int64_t passes = is_rooted ? 1 : 2;
  const int depth = is_rooted ? shape.rooted_depth : shape.depth;
  const std::int64_t edge_bytes = ceil_div(bytes, parts);
  return {.form = tree_form(kind),
          .weight = flow.weight,
          .bytes = edge_bytes,
          .members = flow.members,
          .latency = cost.base + flow.inside_hop(cost) * (passes * shape.chain) +
                     (cost.network_hop + flow.network_latency) * (passes * depth) +
                     fill_time(tuning.fill(flow.has_nvlink_hop, flow.has_network_hop), edge_bytes, lower_of(flow.rate, cap)),
          .rate_cap = cap,
          .rate = flow.rate};
}

}  // namespace lockstep
