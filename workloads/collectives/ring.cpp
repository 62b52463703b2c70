// SPDX-License-Identifier: Apache-2.0
#include "workloads/collectives/ring.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/hash.h"
#include "workloads/collectives/node_groups.h"

namespace lockstep {
namespace {

// Of the nodes whose members are joined by rings of direct links; 0 when there is none.
int fewest_rings(const std::vector<NodeGroup>& groups) {
  std::size_t fewest = 0;
  for (const NodeGroup& g : groups) {
    if (!g.rings.empty()) fewest = fewest == 0 ? g.rings.size() : std::min(fewest, g.rings.size());
  }
  return static_cast<int>(fewest);
}

// Walks the edges of one channel: inside every node from the entry GPU round to its predecessor, then on to the next node.
class ChannelWalk {
 public:
  ChannelWalk(const Router& router, std::uint64_t key, int channel, bool is_alone)
      : router_(router), key_(key), channel_(static_cast<std::size_t>(channel)), is_alone_(is_alone) {}

  void inside(const NodeGroup& g, Route& out) const {
    for (std::size_t i = 0; i + 1 < g.members.size(); ++i) add({.from = at(g, i), .to = at(g, i + 1)}, out);
  }
  void between(const NodeGroup& a, const NodeGroup& b, Route& out) const {
    add({.from = at(a, a.members.size() - 1), .to = at(b, 0), .from_nic = nic(a), .to_nic = nic(b)}, out);
  }
  // From the last member of the only node back to the first.
  void back(const NodeGroup& g, Route& out) const { add({.from = at(g, g.members.size() - 1), .to = at(g, 0)}, out); }
  [[nodiscard]] bool uses_pcie(const NodeGroup& g, bool is_closed) const {
    const std::size_t n = g.members.size();
    for (std::size_t i = 0; i + (is_closed ? 0 : 1) < n && n > 1; ++i) {
      if (router_.network().inside_tier(at(g, i), at(g, i + 1)) == LinkTier::kPcie) return true;
    }
    return false;
  }

 private:
  [[nodiscard]] EndpointId at(const NodeGroup& g, std::size_t i) const { return g.on_channel(channel_, i, is_alone_); }
  int nic(const NodeGroup& g) const { return g.nic_of(channel_); }
  void add(const Hop& hop, Route& out) const {
    router_.add(hop, hash_words({key_, channel_, hop.from.value(), hop.to.value()}), out);
  }

  const Router& router_;
  std::uint64_t key_;
  std::size_t channel_;
  bool is_alone_;  // one node holds all members
};

void scale(Route& route, std::int64_t factor) {
  for (LinkShare& s : route.shares) s.coefficient = checked_mul(s.coefficient, factor);
}

}  // namespace

void make_whole_sharer(Route& route) { scale(route, kSharerWeight); }

namespace {

RingShape shape_channels(const Router& router, const std::vector<NodeGroup>& groups, std::uint64_t channel_key, int channels) {
  RingShape shape;
  shape.nodes = static_cast<int>(groups.size());
  shape.channels = channels;
  const bool is_alone = groups.size() == 1;
  const bool is_wired =
      std::holds_alternative<WiredServer>(router.network().server());  // no other has GPUs that meet over PCIe
  const bool stays_inside = std::any_of(groups.begin(), groups.end(), [](const NodeGroup& g) { return g.members.size() > 1; });
  Route wrap;
  Route between;  // its latency is the longest of the hops between nodes
  for (int c = 0; c < channels; ++c) {
    const ChannelWalk walk(router, channel_key, c, is_alone);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      walk.inside(groups[g], shape.open);
      shape.uses_pcie = shape.uses_pcie || (is_wired && walk.uses_pcie(groups[g], is_alone));
      if (is_alone) continue;
      const bool last = g + 1 == groups.size();
      between.shares.clear();
      walk.between(groups[g], groups[last ? 0 : g + 1], between);
      Route& target = last ? wrap : shape.open;
      target.shares.insert(target.shares.end(), between.shares.begin(), between.shares.end());
    }
    if (is_alone) walk.back(groups.front(), wrap);
  }
  if (stays_inside && !shape.uses_pcie) shape.nvlink_channels = channels;
  shape.network_latency = between.latency;
  Router::finish(shape.open);
  Router::finish(wrap);
  shape.closed = Router::sum(shape.open, wrap);
  const std::int64_t factor = std::max<std::int64_t>(1, kSharerWeight / channels);
  scale(shape.open, factor);
  scale(shape.closed, factor);
  shape.weight = checked_mul(router.weight(), factor);
  return shape;
}

}  // namespace

RingShape shape_ring(const Router& router, std::span<const EndpointId> members, std::uint64_t channel_key, int channels,
                     MeshRings* known) {
  LOCKSTEP_CHECK(!members.empty(), "a communicator has no members");
  MeshRings unknown;
  const std::vector<NodeGroup> groups = group_by_node(router.network(), members, known != nullptr ? *known : unknown);
  const auto ranks = static_cast<int>(members.size());
  const int wanted = channels > 0 ? channels : channel_count(groups);
  if (ranks == 1) return {.ranks = 1, .nodes = 1, .channels = wanted};
  RingShape shape = shape_channels(router, groups, channel_key, wanted);
  // More NICs than rings: some direct links would carry two channels, and all channels go at their pace.
  const int rings = fewest_rings(groups);
  if (channels == 0 && groups.size() > 1 && rings > 0 && rings < wanted) {
    const auto total = [&](const RingShape& s) {
      return static_cast<Int128>(undisturbed_rate(router.network(), s.closed, s.weight).units()) * s.channels;
    };
    RingShape fewer = shape_channels(router, groups, channel_key, rings);
    if (total(fewer) > total(shape)) shape = std::move(fewer);
  }
  shape.ranks = ranks;
  return shape;
}

namespace {

struct RingSteps {
  std::int64_t numerator = 1;  // of the share of S on an edge, over `denominator`
  std::int64_t denominator = 1;
  std::int64_t steps = 0;       // dependent hops
  std::int64_t primitives = 1;  // operations of a pass, the last of which does not send
  bool is_closed = true;
};

RingSteps steps_of(CollectiveKind kind, std::int64_t n) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return {2 * (n - 1), n, 2 * (n - 1), 2 * n - 1, true};
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
      return {n - 1, n, n - 1, n, true};
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
      return {1, 1, n - 1, n, false};
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kSendRecv:
      break;
  }
  LOCKSTEP_CHECK(false, "{} is not a ring collective", to_text(kind));
  return {};
}

// ceil(bytes x numerator / (denominator x channels)).
std::int64_t edge_bytes(const RingSteps& s, std::int64_t bytes, std::int64_t channels) {
  return narrow_int64(ceil_div(static_cast<Int128>(bytes) * s.numerator, static_cast<Int128>(s.denominator) * channels));
}

}  // namespace

LoweredRing lower_ring(const RingShape& shape, const CollectiveTuning& tuning, CollectiveKind kind, std::int64_t bytes,
                       Rate line_rate, const Protocol* forced) {
  LOCKSTEP_CHECK(shape.ranks > 1, "a collective needs at least two ranks, not {}", shape.ranks);
  LOCKSTEP_CHECK(bytes >= 0, "a collective of {} bytes", bytes);
  const std::int64_t n = shape.ranks;
  const RingSteps s = steps_of(kind, n);
  LoweredRing out;
  out.is_open = !s.is_closed;
  out.bytes = edge_bytes(s, bytes, shape.channels);
  out.members = (s.is_closed ? n : n - 1) * shape.channels;

  Rate drained = Rate::units(0);
  if (shape.nvlink_channels > 0 && tuning.nvlink.units() > 0) {
    const double share = 1.0 - tuning.ring_drain / static_cast<double>(s.primitives);
    drained = Rate::units(tuning.nvlink.scaled(share).units() / shape.nvlink_channels);
  }
  if (shape.nodes > 1) drained = lower_of(drained, tuning.network_channel_rate);
  const std::int64_t passes = s.steps / (n - 1);  // how often the data goes round
  const std::int64_t network_steps = passes * (shape.nodes - 1);

  const Duration fill = tuning.fill(shape.nvlink_channels > 0, shape.nodes > 1);

  double best = 0;
  for (std::size_t p = 0; p < kProtocolCount; ++p) {
    const auto protocol = static_cast<Protocol>(p);
    if (forced != nullptr && *forced != protocol) continue;
    // LL128 needs stores of 128 bytes to arrive whole, which NCCL trusts NVLink with and PCIe not.
    if (forced == nullptr && protocol == Protocol::kLl128 && shape.uses_pcie) continue;
    const ProtocolCost& cost = tuning.ring[p];
    Rate cap = drained;
    if (cost.rate_factor < 1) cap = lower_of(cap, lower_of(line_rate, drained).scaled(cost.rate_factor));
    if (cost.rate_limit.units() > 0) cap = lower_of(cap, Rate::units(cost.rate_limit.units() / shape.channels));
    const Duration inside = shape.uses_pcie ? cost.pcie_hop : cost.nvlink_hop;
    const Rate rate = lower_of(line_rate, cap);
    const Duration latency = cost.base + inside * (s.steps - network_steps) +
                             (cost.network_hop + shape.network_latency) * network_steps + fill_time(fill, out.bytes, rate);
    const double seconds = latency.seconds() + static_cast<double>(out.bytes) / rate.bytes_per_second();
    if (p == 0 || forced != nullptr || seconds < best) {
      best = seconds;
      out.latency = latency;
      out.rate_cap = cap;
      out.protocol = protocol;
    }
  }
  return out;
}

Rate undisturbed_rate(const Network& network, const Route& route, std::int64_t weight) {
  std::int64_t level = std::numeric_limits<std::int64_t>::max();
  for (const LinkShare& s : route.shares) level = std::min(level, network.link(s.link).capacity.units() / s.coefficient);
  return Rate::units(narrow_int64(static_cast<Int128>(level) * weight));
}

HopKind hop_kind(const Network& network, EndpointId from, EndpointId to) {
  if (network.node_of(from) != network.node_of(to)) return HopKind::kNetwork;
  return network.inside_tier(from, to) == LinkTier::kPcie ? HopKind::kPcie : HopKind::kNvlink;
}

Rate send_rate(const CollectiveTuning& tuning, HopKind hop) {
  return hop == HopKind::kNetwork ? tuning.network_channel_rate : Rate::units(0);
}

Duration send_latency(const CollectiveTuning& tuning, HopKind hop, Duration path_latency) {
  const ProtocolCost& cost = tuning.ring[static_cast<std::size_t>(Protocol::kSimple)];
  switch (hop) {
    case HopKind::kNvlink:
      return cost.base + cost.nvlink_hop;
    case HopKind::kPcie:
      return cost.base + cost.pcie_hop;
    case HopKind::kNetwork:
      break;
  }
  return cost.base + cost.network_hop + path_latency;
}

}  // namespace lockstep
