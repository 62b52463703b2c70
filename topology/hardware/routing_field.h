// SPDX-License-Identifier: Apache-2.0
// The keys about routing, which networks and clusters share.
#pragma once

#include <cmath>

#include "base/field_table.h"
#include "topology/routing/routing.h"

namespace lockstep {

template <class T, class V>
FieldRef<RoutingPolicy> routing_field(FieldTable<T>& table, V T::*member) {
  return table.choice("routing", member,
                      {{"ecmp", RoutingPolicy::kEcmp, "one path per queue pair, by a seeded hash"},
                       {"spray", RoutingPolicy::kSpray, "all equal-cost paths evenly, packet by packet"},
                       {"static", RoutingPolicy::kStatic, "path (source + destination) modulo their number"},
                       {"flowlet", RoutingPolicy::kFlowlet, "evenly what follows a gap in a flow, the rest as ecmp"},
                       {"adaptive", RoutingPolicy::kAdaptive, "the least loaded port for each packet: as spray, at 95 %"}});
}

template <class T, class V>
FieldRef<int> queue_pairs_field(FieldTable<T>& table, V T::*member) {
  return table.field("queue_pairs", member).range(1, kMostQueuePairs);
}

template <class T, class V>
FieldRef<Fraction> flowlet_share_field(FieldTable<T>& table, V T::*member) {
  return table.field("flowlet_share", member).range({0}, {1});
}
// Routes count parts of a flow in hundredths (topology/routing/routing.h).
inline void check_flowlet_share(Fraction share, Section& at) {
  const double percent = share.value * 100;
  if (std::abs(percent - std::round(percent)) < 1e-9) return;
  at.error("flowlet_share", fmt::format("{:g} % is no whole number of percent", percent),
           fmt::format("{:g} %", std::round(percent)));
}

}  // namespace lockstep
