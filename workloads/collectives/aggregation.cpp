// SPDX-License-Identifier: Apache-2.0
#include "workloads/collectives/aggregation.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"

namespace lockstep {

void add_aggregation(const Router& router, std::span<const AggregationPort> ports, std::uint64_t key, Route& out) {
  LOCKSTEP_CHECK(ports.size() > 1, "an aggregation of {} nodes", ports.size());
  const RoutingPolicy policy = router.routing().policy;
  const bool has_one_path = policy == RoutingPolicy::kEcmp || policy == RoutingPolicy::kStatic;
  const auto path = static_cast<std::int64_t>(hash_words({key}) >> 33);
  Route all;
  const auto add = [&](const AggregationPort& from, const AggregationPort& to) {
    const Hop hop{.from = from.gpu, .to = to.gpu, .from_nic = from.nic, .to_nic = to.nic};
    if (has_one_path) {
      router.add_on_path(hop, path, all);
    } else {
      router.add(hop, key, all);
    }
  };
  for (const AggregationPort& p : ports.subspan(1)) {
    add(p, ports.front());
    add(ports.front(), p);
  }
  std::sort(all.shares.begin(), all.shares.end());
  for (std::size_t i = 0; i < all.shares.size(); ++i) {
    // Of the shares of one link the largest, which comes last.
    if (i + 1 < all.shares.size() && all.shares[i + 1].link == all.shares[i].link) continue;
    out.shares.push_back(all.shares[i]);
  }
  out.latency = std::max(out.latency, all.latency);
}

}  // namespace lockstep
