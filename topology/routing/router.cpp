// SPDX-License-Identifier: Apache-2.0
#include "topology/routing/router.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"

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
  }
  LOCKSTEP_CHECK(false, "unknown routing policy {}", static_cast<int>(policy));
}

Router::Router(const Network& network, RoutingPolicy policy, std::uint64_t seed, Bundling bundling)
    : network_(&network),
      policy_(policy),
      seed_(seed),
      weight_(policy == RoutingPolicy::kSpray ? network.spray_weight() : 1),
      is_bundling_(bundling == Bundling::kOn && policy == RoutingPolicy::kSpray) {}

std::int64_t Router::choose(const Hop& hop, std::uint64_t flow_key) const {
  const std::int64_t count = network_->path_count(hop);
  if (count <= 1) return 0;
  if (policy_ == RoutingPolicy::kStatic) return (std::int64_t{hop.from.value()} + hop.to.value()) % count;
  // The ports are part of what a switch hashes: each NIC has its own address.
  const auto nic = [this](EndpointId e, int chosen) {
    return static_cast<std::uint64_t>(chosen == Hop::kNearestNic ? network_->nearest_nic(e) : chosen);
  };
  const std::uint64_t h =
      hash_words({seed_, flow_key, hop.from.value(), hop.to.value(), nic(hop.from, hop.from_nic), nic(hop.to, hop.to_nic)});
  return static_cast<std::int64_t>((static_cast<UInt128>(h) * static_cast<std::uint64_t>(count)) >> 64);
}

void Router::add(const Hop& hop, std::uint64_t flow_key, Route& route) const {
  if (policy_ != RoutingPolicy::kSpray) return add_on_path(hop, choose(hop, flow_key), route);
  const Duration latency =
      is_bundling_ ? network_->append_bundles(hop, weight_, route.shares) : network_->append_spray(hop, weight_, route.shares);
  route.latency = std::max(route.latency, latency);
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
  std::sort(s.begin(), s.end(), kByLink);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (kept > 0 && s[kept - 1].link == s[i].link) {
      s[kept - 1].coefficient = checked_add(s[kept - 1].coefficient, s[i].coefficient);
    } else {
      s[kept++] = s[i];
    }
  }
  s.resize(kept);
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
