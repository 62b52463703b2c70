// SPDX-License-Identifier: Apache-2.0
#include "topology/routing/router.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/hash.h"
#include "topology/link_shares.h"

namespace lockstep {
namespace {

// Where shares are many for the range of links they fall in, counting by link beats sorting.
constexpr std::size_t kLeastDense = 256;
constexpr std::size_t kMostLinksPerShare = 8;

// WHY no function: sorting inlines this one.
constexpr auto kByLink = [](const LinkShare& a, const LinkShare& b) { return a.link < b.link; };

void finish_dense(std::vector<LinkShare>& s, std::size_t first, std::size_t last) {
  std::vector<std::int64_t> sums(last - first + 1, 0);
  for (const LinkShare& x : s) {
    std::int64_t& sum = sums[x.link.index() - first];
    sum = checked_add(sum, x.coefficient);
  }
  s.clear();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] != 0) s.push_back({LinkId::from_index(first + i), sums[i]});
  }
}

}  // namespace

std::string_view to_text(RoutingPolicy policy) {
  switch (policy) {
    case RoutingPolicy::kEcmp:
      return "ecmp";
    case RoutingPolicy::kSpray:
      return "spray";
    case RoutingPolicy::kStatic:
      return "static";
    case RoutingPolicy::kFlowlet:
      return "flowlet";
    case RoutingPolicy::kAdaptive:
      return "adaptive";
  }
  LOCKSTEP_CHECK(false, "unknown routing policy {}", static_cast<int>(policy));
}

std::string to_text(const Routing& routing) {
  const std::string_view policy = to_text(routing.policy);
  return routing.queue_pairs == 1 ? std::string(policy) : fmt::format("{}:{}", policy, routing.queue_pairs);
}

Router::Router(const Network& network, const Routing& routing, std::uint64_t seed, Bundling bundling)
    : network_(&network), routing_(routing), seed_(seed) {
  const std::int64_t pairs = routing.queue_pairs;
  LOCKSTEP_CHECK(pairs >= 1 && pairs <= kMostQueuePairs, "{} queue pairs", pairs);
  switch (routing.policy) {
    case RoutingPolicy::kStatic:
      routing_.queue_pairs = 1;
      break;
    case RoutingPolicy::kEcmp:
      weight_ = pairs;
      break;
    case RoutingPolicy::kSpray:
      weight_ = spread_ = network.spray_weight();
      break;
    case RoutingPolicy::kAdaptive:
      weight_ = spread_ = checked_mul(network.spray_weight(), kAdaptiveUseful);
      break;
    case RoutingPolicy::kFlowlet: {
      const std::int64_t percent = routing.flowlet_percent;
      LOCKSTEP_CHECK(percent >= 0 && percent <= 100, "{} % of flowlets", percent);
      const std::int64_t whole = 100 / std::gcd(percent, std::int64_t{100});
      const std::int64_t step = std::lcm(network.spray_weight(), pairs);
      weight_ = checked_mul(step, whole);
      spread_ = weight_ * percent / 100;
      pinned_ = (weight_ - spread_) / pairs;
      break;
    }
  }
  is_bundling_ = bundling == Bundling::kOn && routing.is_spread();
}

std::int64_t Router::choose(const Hop& hop, std::uint64_t flow_key, int queue_pair) const {
  const std::int64_t count = network_->path_count(hop);
  if (count <= 1) return 0;
  if (routing_.policy == RoutingPolicy::kStatic) return (std::int64_t{hop.from.value()} + hop.to.value()) % count;
  // The ports are part of what a switch hashes: each NIC has its own address.
  const auto nic = [this](EndpointId e, int chosen) {
    return static_cast<std::uint64_t>(chosen == Hop::kNearestNic ? network_->nearest_nic(e) : chosen);
  };
  std::uint64_t h =
      hash_words({seed_, flow_key, hop.from.value(), hop.to.value(), nic(hop.from, hop.from_nic), nic(hop.to, hop.to_nic)});
  if (queue_pair > 0) h = hash_words({h, static_cast<std::uint64_t>(queue_pair)});
  return static_cast<std::int64_t>((static_cast<UInt128>(h) * static_cast<std::uint64_t>(count)) >> 64);
}

Duration Router::append_spread(const Hop& hop, std::vector<LinkShare>& out) const {
  const std::size_t first = out.size();
  const Duration latency =
      is_bundling_ ? network_->append_bundles(hop, spread_, out) : network_->append_spray(hop, spread_, out);
  if (routing_.policy != RoutingPolicy::kAdaptive) return latency;
  for (std::size_t i = first; i < out.size(); ++i) {
    std::int64_t& share = out[i].coefficient;  // a multiple of kAdaptiveUseful
    if (share < spread_) share = std::min(share / kAdaptiveUseful * kAdaptiveWhole, spread_);
  }
  return latency;
}

void Router::add(const Hop& hop, std::uint64_t flow_key, Route& route) const {
  const bool is_split = routing_.queue_pairs > 1 || spread_ > 0;
  if (!is_split || (routing_.is_hashed() && network_->path_count(hop) <= 1)) {
    return add_on_path(hop, choose(hop, flow_key, 0), route);
  }
  const std::size_t first = route.shares.size();
  if (spread_ > 0) route.latency = std::max(route.latency, append_spread(hop, route.shares));
  if (!routing_.is_hashed() || pinned_ == 0) return;
  for (int q = 0; q < routing_.queue_pairs; ++q) {
    const Duration latency = network_->append_path(hop, choose(hop, flow_key, q), pinned_, route.shares);
    route.latency = std::max(route.latency, latency);
  }
  merge_shares(route.shares, first);
}

void Router::add_on_path(const Hop& hop, std::int64_t path, Route& route) const {
  LOCKSTEP_CHECK(!is_bundling_, "a transfer on path {} would load the links of a bundle unevenly", path);
  route.latency = std::max(route.latency, network_->append_path(hop, path, weight_, route.shares));
}

void Router::finish(Route& route) {
  std::vector<LinkShare>& s = route.shares;
  if (s.size() >= kLeastDense) {
    const auto [first, last] = std::minmax_element(s.begin(), s.end(), kByLink);
    const std::size_t range = last->link.index() - first->link.index();
    if (range < kMostLinksPerShare * s.size()) return finish_dense(s, first->link.index(), last->link.index());
  }
  merge_shares(s);
}

Route Router::sum(const Route& a, const Route& b) {
  Route out{.latency = std::max(a.latency, b.latency)};
  out.shares.reserve(a.shares.size() + b.shares.size());
  auto next = b.shares.begin();
  for (const LinkShare& s : a.shares) {
    while (next != b.shares.end() && next->link < s.link) out.shares.push_back(*next++);
    out.shares.push_back(s);
    if (next == b.shares.end() || next->link != s.link) continue;
    out.shares.back().coefficient = checked_add(s.coefficient, next->coefficient);
    ++next;
  }
  out.shares.insert(out.shares.end(), next, b.shares.end());
  return out;
}

}  // namespace lockstep
