// SPDX-License-Identifier: Apache-2.0
#include "workloads/collectives/in_switch.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"
#include "workloads/collectives/aggregation.h"
#include "workloads/collectives/tree.h"

namespace lockstep {
namespace {

class InSwitchBuilder {
 public:
  InSwitchBuilder(const Router& router, const std::vector<NodeGroup>& groups, std::uint64_t key, InSwitchShape& shape)
      : router_(router), groups_(groups), key_(key), shape_(shape), flow_(router, key) {}

  FlowShape build(Route& out) {
    for (const NodeGroup& g : groups_) {
      if (shape_.algorithm == Algorithm::kCollnetDirect) {
        add_direct(g);
      } else if (shape_.algorithm == Algorithm::kCollnetChain) {
        add_chain(g);
      } else {
        add_nvls(g);
      }
    }
    if (groups_.size() > 1) {
      for (int c = 0; c < shape_.channels; ++c) {
        if (shape_.algorithm == Algorithm::kNvlsTree) {
          for (const bool is_second : {false, true}) add_tree(is_second, c);
        } else {
          add_sums(c);
        }
      }
    }
    shape_.network_rate = flow_.between_rate();
    return flow_.finish(crossings(), out);
  }

 private:
  [[nodiscard]] bool is_alone() const { return groups_.size() == 1; }
  // Position in the group of a channel's head.
  [[nodiscard]] std::size_t head(const NodeGroup& g, int channel) const {
    const auto c = static_cast<std::size_t>(channel);
    if (is_alone() || g.nics.empty()) return c % g.members.size();
    const EndpointId gpu = g.on_channel(c, 0, false);
    return static_cast<std::size_t>(std::find(g.members.begin(), g.members.end(), gpu) - g.members.begin());
  }
  [[nodiscard]] EndpointId head_gpu(const NodeGroup& g, int channel) const { return g.members[head(g, channel)]; }
  [[nodiscard]] int nic(const NodeGroup& g, int channel) const { return g.nic_of(static_cast<std::size_t>(channel)); }

  void add_nvls(const NodeGroup& g) {
    std::vector<std::int64_t> headed(g.members.size(), 0);  // parts
    const int parts_per_channel = shape_.parts / shape_.channels;
    for (int c = 0; c < shape_.channels; ++c) headed[head(g, c)] += parts_per_channel;
    const bool gathers = shape_.kind != CollectiveKind::kReduceScatter;
    const bool reduces = shape_.kind != CollectiveKind::kAllGather;
    std::vector<LinkShare> path;
    for (std::size_t i = 0; i < g.members.size(); ++i) {
      const std::size_t next = (i + 1) % g.members.size();
      path.clear();
      router_.network().append_path({.from = g.members[i], .to = g.members[next]}, 0, 1, path);
      // Up to the NVSwitch: what is to be added up, and what is multicast. Down from it: what is multicast, and the sums.
      flow_.add_nvlink(path.front().link, (reduces ? shape_.parts : 0) + (gathers ? headed[i] : 0));
      flow_.add_nvlink(path.back().link, (gathers ? shape_.parts : 0) + (reduces ? headed[next] : 0));
    }
  }

  void add_direct(const NodeGroup& g) {
    for (int c = 0; c < shape_.channels; ++c) {
      const EndpointId to = head_gpu(g, c);
      for (const EndpointId from : g.members) {
        if (from == to) continue;
        flow_.add({.from = from, .to = to}, c);
        flow_.add({.from = to, .to = from}, c);
      }
    }
  }

  void add_chain(const NodeGroup& g) {
    for (int c = 0; c < shape_.channels; ++c) {
      const auto at = [&](std::size_t i) { return g.on_channel(static_cast<std::size_t>(c), i, false); };
      for (std::size_t i = 0; i + 1 < g.members.size(); ++i) {
        flow_.add({.from = at(i), .to = at(i + 1)}, c);
        flow_.add({.from = at(i + 1), .to = at(i)}, c);
      }
    }
  }

  void add_tree(bool is_second, int c) {
    const std::vector<std::uint32_t> parents = binary_tree(static_cast<std::uint32_t>(groups_.size()), is_second);
    for (std::size_t i = 0; i < parents.size(); ++i) {
      if (parents[i] == parents.size()) continue;
      const NodeGroup& a = groups_[i];
      const NodeGroup& b = groups_[parents[i]];
      const Hop up{.from = head_gpu(a, c), .to = head_gpu(b, c), .from_nic = nic(a, c), .to_nic = nic(b, c)};
      flow_.add(up, c);
      flow_.add({.from = up.to, .to = up.from, .from_nic = up.to_nic, .to_nic = up.from_nic}, c);
    }
  }

  void add_sums(int c) {
    std::vector<AggregationPort> ports;
    for (const NodeGroup& g : groups_) ports.push_back({head_gpu(g, c), nic(g, c)});
    Route sums;
    add_aggregation(router_, ports, hash_words({key_, static_cast<std::uint64_t>(c)}), sums);
    flow_.add_between(sums, 2 * static_cast<std::int64_t>(ports.size()));
  }

  // What one GPU, or one node of several, sends at a time (FlowBuilder::finish).
  [[nodiscard]] std::int64_t crossings() const {
    if (shape_.algorithm == Algorithm::kNvlsTree) return 4 * std::int64_t{shape_.channels};  // as a tree's
    if (!is_alone()) return shape_.channels;
    return shape_.kind == CollectiveKind::kAllReduce ? shape_.parts + 1 : shape_.parts;
  }

  const Router& router_;
  const std::vector<NodeGroup>& groups_;
  std::uint64_t key_;
  InSwitchShape& shape_;
  FlowBuilder flow_;
};

// What bounds a member inside nodes and by the tuner's limits; 0: nothing does.
Rate cap_of(const InSwitchShape& s, const SwitchTuning& t) {
  const bool is_nvls = s.algorithm == Algorithm::kNvls || s.algorithm == Algorithm::kNvlsTree;
  double share = 1;
  if (is_nvls) share = t.nvls.link_share;
  if (s.algorithm == Algorithm::kCollnetDirect) share = t.collnet.direct_inside_share;
  Rate cap;
  if (share < 1) cap = s.flow.inside_rate.scaled(share);
  if (is_nvls) cap = lower_of(cap, Rate::units(t.nvls.limit.units() / s.parts));
  if (s.algorithm != Algorithm::kNvlsTree) return cap;
  if (t.nvls.tree_network_share < 1) cap = lower_of(cap, s.network_rate.scaled(t.nvls.tree_network_share));
  // Bus bandwidth is 2 (n-1)/n of what is reduced in a second.
  const double reduced = s.ranks / (2.0 * (s.ranks - 1));
  return lower_of(cap, t.nvls.tree_channel_limit.scaled(reduced * s.channels / s.parts));
}

Duration latency_of(const InSwitchShape& s, const SwitchTuning& t) {
  const std::int64_t others = s.most_per_node - 1;
  switch (s.algorithm) {
    case Algorithm::kNvls:
      return s.nodes > 1 ? t.nvls.base + t.nvls.reduction_hop + s.flow.network_latency : t.nvls.base;
    case Algorithm::kNvlsTree:
      return t.nvls.base + (t.nvls.tree_hop + s.flow.network_latency) * (2 * std::int64_t{s.depth});
    case Algorithm::kCollnetDirect:
      return t.collnet.direct_network + s.flow.network_latency + t.collnet.direct_inside * std::min<std::int64_t>(others, 1) +
             t.collnet.direct_per_peer * others;
    default:
      return t.collnet.chain_network + s.flow.network_latency + t.collnet.chain_hop * others;
  }
}

}  // namespace

std::uint64_t InSwitchShape::hash() const {
  const auto word = [](auto v) { return static_cast<std::uint64_t>(v); };
  return hash_words({word(algorithm), word(kind), word(ranks), word(nodes), word(channels), flow.hash()});
}

RouteForm in_switch_form(Algorithm a, CollectiveKind kind) {
  switch (a) {
    case Algorithm::kNvls:
      return kind == CollectiveKind::kAllGather       ? RouteForm::kNvlsGather
             : kind == CollectiveKind::kReduceScatter ? RouteForm::kNvlsScatter
                                                      : RouteForm::kNvls;
    case Algorithm::kNvlsTree:
      return RouteForm::kNvlsTree;
    case Algorithm::kCollnetDirect:
      return RouteForm::kCollnetDirect;
    default:
      LOCKSTEP_CHECK(a == Algorithm::kCollnetChain, "{} adds up in no switch", to_text(a));
      return RouteForm::kCollnetChain;
  }
}

InSwitchShape shape_in_switch(const Router& router, const std::vector<NodeGroup>& groups, std::uint64_t channel_key,
                              Algorithm algorithm, CollectiveKind kind, Route& out) {
  InSwitchShape shape{.algorithm = algorithm, .kind = kind, .nodes = static_cast<int>(groups.size())};
  for (const NodeGroup& g : groups) {
    shape.ranks += static_cast<int>(g.members.size());
    shape.most_per_node = std::max(shape.most_per_node, static_cast<int>(g.members.size()));
  }
  shape.channels = groups.size() == 1 ? shape.ranks : channel_count(groups);
  const bool is_tree = algorithm == Algorithm::kNvlsTree;
  shape.parts = is_tree ? 2 * shape.channels : shape.channels;
  if (is_tree) shape.depth = tree_depth(groups.size());
  const std::uint64_t key = hash_words({channel_key, static_cast<std::uint64_t>(in_switch_form(algorithm, kind))});
  shape.flow = InSwitchBuilder(router, groups, key, shape).build(out);
  return shape;
}

Stage lower_in_switch(const InSwitchShape& s, const CollectiveTuning& tuning, std::int64_t bytes) {
  const std::int64_t sent = ceil_div(bytes, std::int64_t{s.parts});
  Rate cap = cap_of(s, tuning.switches);
  if (s.nodes > 1) cap = lower_of(cap, tuning.network_channel_rate);
  const Duration fill = tuning.fill(s.flow.has_nvlink_hop, s.flow.has_network_hop);
  return {.form = in_switch_form(s.algorithm, s.kind),
          .weight = s.flow.weight,
          .bytes = sent,
          .members = s.flow.members,
          .latency = latency_of(s, tuning.switches) + fill_time(fill, sent, lower_of(s.flow.rate, cap)),
          .rate_cap = cap,
          .rate = s.flow.rate};
}

}  // namespace lockstep
