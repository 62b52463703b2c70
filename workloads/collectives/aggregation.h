// SPDX-License-Identifier: Apache-2.0
// Sums made in the switches of a folded Clos (SHARP: Graham et al., Scalable Hierarchical Aggregation Protocol, COM-HPC 2016). Every
// node sends its part to its leaf; leaves add up what arrives and send one stream on, and so do the switches above; the sum goes back the
// same way and is multicast. So every link between switches carries the stream once each way, whatever the number of nodes behind it:
// the links of all paths between the first node and the others, each once.
//
// Sprayed, the stream is spread over all paths: a tree on every spine, each with an even share. Else one path for all nodes, chosen by the
// key: one tree. NOT modelled: how many trees a switch can hold, the switches' rate of adding up, traffic classes.
#pragma once

#include <span>

#include "topology/routing/router.h"

namespace lockstep {

// Where a node sends and receives.
struct AggregationPort {
  EndpointId gpu;
  int nic = Hop::kNearestNic;
};

// Adds one stream of the router's weight to `out`. PRE: at least two ports, of different nodes.
void add_aggregation(const Router& router, std::span<const AggregationPort> ports, std::uint64_t key, Route& out);

}  // namespace lockstep
