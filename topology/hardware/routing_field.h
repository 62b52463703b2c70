// SPDX-License-Identifier: Apache-2.0
// The key `routing`, which networks and clusters share.
#pragma once

#include "base/field_table.h"
#include "topology/routing/router.h"

namespace lockstep {

template <class T, class V>
FieldRef<RoutingPolicy> routing_field(FieldTable<T>& table, V T::*member) {
  return table.choice("routing", member,
                      {{"ecmp", RoutingPolicy::kEcmp, "one path per flow, by a seeded hash"},
                       {"spray", RoutingPolicy::kSpray, "all equal-cost paths evenly, as adaptive routing at its best"},
                       {"static", RoutingPolicy::kStatic, "path (source + destination) modulo their number"}});
}

}  // namespace lockstep
