// SPDX-License-Identifier: Apache-2.0
// How the switches of a fabric that is no folded Clos are named, cabled and routed through. The set is closed: a variant of
// plain classes that all answer the same questions about switches 0, 1, ...:
//
//   switches, name            how many; what one is called
//   rack_of, pod_of           of the nodes on a switch: equal numbers share a rack, or a pod
//   tier_of                   rank in drawings, 0 for switches with nodes
//   cables, sorts             all cables, and what the sorts of them are like
//   path_count                equal-cost paths between two switches with nodes; 1 for a switch to itself, 0 when not connected
//   max_path_count            the largest; spray_weight: a number that all of them divide
//   append_path               the directed links (switch_cable.h) of one path, from the first switch to the second
#pragma once

#include <variant>

#include "topology/fabric/custom_graph.h"
#include "topology/fabric/dragonfly.h"
#include "topology/fabric/torus.h"

namespace lockstep {

using SwitchLayout = std::variant<Dragonfly, Torus, CustomGraph>;

}  // namespace lockstep
