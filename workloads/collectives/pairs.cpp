// SPDX-License-Identifier: Apache-2.0
#include "workloads/collectives/pairs.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/check.h"
#include "base/hash.h"
#include "base/wide.h"
#include "workloads/collectives/ring.h"

namespace lockstep {
namespace {

// Of its links' payload that a deduplicated exchange fills. DeepEP, normal kernels with configuration V3 (README @dd758ca and
// docs/legacy.md): what leaves a GPU by its NIC, (N - 1)/N of the published logical rate over N nodes, is 43.5 to 45.8 GB/s (dispatch) and 40.5 to
// 45.8 (combine) of 48 on CX-7 400G; over NVLink, 7/8 of it, 134 to 138 of 165 GB/s on H800 and 635 to 648 of 722 on SM100.
constexpr double kNicShare = 0.93;
constexpr double kNvlinkShare = 0.86;

// Messages of equal bytes between nodes and inside them, on two routes.
class PairRoutes {
 public:
  PairRoutes(const Router& router, std::uint64_t channel_key)
      : router_(router), key_(hash_words({channel_key, static_cast<std::uint64_t>(RouteForm::kPairs)})) {}

  void add(EndpointId from, EndpointId to) {
    if (from == to) return;
    const HopKind kind = hop_kind(router_.network(), from, to);
    shape_.has_nvlink_hop |= kind == HopKind::kNvlink;
    shape_.has_pcie_hop |= kind == HopKind::kPcie;
    shape_.has_network_hop |= kind == HopKind::kNetwork;
    Route& route = kind == HopKind::kNetwork ? between_ : inside_;
    router_.add({.from = from, .to = to}, hash_words({key_, from.value(), to.value()}), route);
    ++shape_.members;
  }

  // Messages inside nodes carry `inside_share` of what those between nodes do; a member sends `messages` of the latter.
  FlowShape finish(double inside_share, std::int64_t messages, Route& out) {
    Router::finish(inside_);
    Router::finish(between_);
    const std::int64_t factor = std::max<std::int64_t>(1, kSharerWeight / std::max<std::int64_t>(1, messages));
    for (LinkShare& s : between_.shares) s.coefficient = checked_mul(s.coefficient, factor);
    for (LinkShare& s : inside_.shares) {
      const double scaled = static_cast<double>(checked_mul(s.coefficient, factor)) * inside_share;
      s.coefficient = std::max<std::int64_t>(1, static_cast<std::int64_t>(scaled + 0.5));
    }
    shape_.network_latency = between_.latency;
    shape_.weight = checked_mul(router_.weight(), factor);
    out = Router::sum(inside_, between_);
    shape_.rate = undisturbed_rate(router_.network(), out, shape_.weight);
    return shape_;
  }

  // What kernels reach of it. PRE: finish() has been called.
  [[nodiscard]] Rate reached() const {
    const auto rate_of = [this](const Route& route, double share) {
      if (route.shares.empty()) return Rate::units(0);
      return undisturbed_rate(router_.network(), route, shape_.weight).scaled(share);
    };
    return lower_of(rate_of(between_, kNicShare), rate_of(inside_, kNvlinkShare));
  }

 private:
  const Router& router_;
  std::uint64_t key_;
  Route inside_;
  Route between_;
  FlowShape shape_;
};

void add_all(const std::vector<NodeGroup>& groups, PairRoutes& routes) {
  for (const NodeGroup& a : groups) {
    for (const EndpointId from : a.members) {
      for (const NodeGroup& b : groups) {
        for (const EndpointId to : b.members) routes.add(from, to);
      }
    }
  }
}

// To every other node once, and from there on to every GPU of it.
void add_once_per_node(const std::vector<NodeGroup>& groups, PairRoutes& routes) {
  for (const NodeGroup& a : groups) {
    for (std::size_t i = 0; i < a.members.size(); ++i) {
      for (const NodeGroup& b : groups) {
        const EndpointId relay = &a == &b ? a.members[i] : b.members[i % b.members.size()];
        if (&a != &b) routes.add(a.members[i], relay);
        for (const EndpointId to : b.members) routes.add(relay, to);
      }
    }
  }
}

std::int64_t left_behind(const PairTuning& t, const FlowShape& flow, std::int64_t bytes, std::int64_t peers) {
  std::int64_t chunk = 0;
  if (flow.has_nvlink_hop) chunk = std::max(chunk, t.nvlink_chunk);
  if (flow.has_pcie_hop) chunk = std::max(chunk, t.pcie_chunk);
  if (flow.has_network_hop) chunk = t.network_chunk;  // these are the last to end
  const Int128 of_all = static_cast<Int128>(std::min(bytes, chunk)) * std::min<std::int64_t>(peers, t.peers_at_once);
  return narrow_int64(of_all / peers);
}

// What the proxy lets through: messages one after the other.
Rate proxy_cap(const CollectiveTuning& tuning, std::int64_t messages, std::int64_t bytes) {
  const Rate cap = lower_of(tuning.network_channel_rate, tuning.network_peer_rate);
  const Int128 handing_over = static_cast<Int128>(tuning.pairs.message_cost.picos()) * messages;
  if (handing_over == 0) return cap;
  constexpr Int128 kUnitsPerBytePerPico = (Int128{1} << 16) * 1'000'000'000'000;  // Rate units: 2^-16 byte a second
  const Int128 pace = std::max<Int128>(bytes, 1) * kUnitsPerBytePerPico / handing_over;
  if (pace >= std::numeric_limits<std::int64_t>::max()) return cap;  // no link is that fast
  return lower_of(cap, Rate::units(std::max<std::int64_t>(narrow_int64(pace), 1)));
}

}  // namespace

double hit_probability(const TokenRouting& routing, std::int64_t held) {
  LOCKSTEP_CHECK(held >= 0 && held <= routing.experts && routing.top_k >= 1 && routing.top_k <= routing.experts,
                 "{} of {} experts, {} per token", held, routing.experts, routing.top_k);
  double missed = 1;
  for (std::int64_t i = 0; i < routing.top_k; ++i) {
    const std::int64_t others = routing.experts - held - i;
    if (others <= 0) return 1;
    missed *= static_cast<double>(others) / static_cast<double>(routing.experts - i);
  }
  return 1 - missed;
}

std::uint64_t PairsShape::hash() const {
  return hash_words({flow.hash(), static_cast<std::uint64_t>(ranks), static_cast<std::uint64_t>(peers_elsewhere),
                     std::bit_cast<std::uint64_t>(share), static_cast<std::uint64_t>(rate_cap.units())});
}

PairsShape shape_pairs(const Router& router, const std::vector<NodeGroup>& groups, std::uint64_t channel_key,
                       const TokenRouting& routing, Route& out) {
  PairsShape shape;
  std::size_t fewest = groups.front().members.size();
  std::size_t most = fewest;
  for (const NodeGroup& g : groups) {
    shape.ranks += std::ssize(g.members);
    fewest = std::min(fewest, g.members.size());
    most = std::max(most, g.members.size());
  }
  PairRoutes routes(router, channel_key);
  if (routing.top_k == 0) {
    add_all(groups, routes);
    shape.peers_elsewhere = shape.ranks - static_cast<std::int64_t>(fewest);
    shape.flow = routes.finish(1, shape.ranks - 1, out);
    return shape;
  }
  const std::int64_t of_rank = std::max<std::int64_t>(1, routing.experts / shape.ranks);
  const std::int64_t of_node = std::min(routing.experts, of_rank * static_cast<std::int64_t>(most));
  const double to_rank = hit_probability(routing, of_rank);
  const double to_node = groups.size() == 1 ? to_rank : hit_probability(routing, of_node);
  add_once_per_node(groups, routes);
  const std::int64_t messages = groups.size() == 1 ? shape.ranks - 1 : std::ssize(groups) - 1;
  shape.flow = routes.finish(to_rank / to_node, messages, out);
  shape.share = to_node / static_cast<double>(routing.top_k);
  shape.rate_cap = routes.reached();
  return shape;
}

Stage lower_pairs(const PairsShape& shape, const CollectiveTuning& tuning, std::int64_t bytes) {
  Stage stage{.form = RouteForm::kPairs, .weight = shape.flow.weight, .members = shape.flow.members, .rate = shape.flow.rate};
  const FlowShape& flow = shape.flow;
  if (flow.has_nvlink_hop) stage.latency = send_latency(tuning, HopKind::kNvlink, {});
  if (flow.has_pcie_hop) stage.latency = std::max(stage.latency, send_latency(tuning, HopKind::kPcie, {}));
  if (flow.has_network_hop) {
    stage.latency = std::max(stage.latency, send_latency(tuning, HopKind::kNetwork, flow.network_latency));
  }
  if (shape.share > 0) {
    stage.bytes = static_cast<std::int64_t>(static_cast<double>(bytes) * shape.share + 0.5);
    stage.rate_cap = shape.rate_cap;
    return stage;
  }
  const std::int64_t message = ceil_div(bytes, shape.ranks);
  stage.bytes = checked_add(message, left_behind(tuning.pairs, flow, message, shape.ranks - 1));
  if (flow.has_network_hop) stage.rate_cap = proxy_cap(tuning, shape.peers_elsewhere, stage.bytes);
  return stage;
}

}  // namespace lockstep
