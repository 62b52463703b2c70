// SPDX-License-Identifier: Apache-2.0
#include "topology/routing/router.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"

namespace lockstep {

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
      weight_(policy == RoutingPolicy::kSpray ? network.max_path_count() : 1),
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
  std::sort(s.begin(), s.end());
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

}  // namespace lockstep
