// SPDX-License-Identifier: Apache-2.0
// What a network is as a graph, found by graph algorithms and not by knowing how it was built: the check on every structured
// fabric. Boost.Graph stays inside graph_analysis.cpp.
//
//   bisection       max-flow from the ports of the first half of the racks to those of the last half (the middle rack of an odd
//                   number only relays), over line rates. Parallel cables are one edge; the ports of a switch are one edge to
//                   the source or sink, which is exact because a port leads to one switch only. Inside servers nothing limits.
//                   Racks are halved in their order, which need not be the narrowest cut: for a torus it is when its first
//                   dimension is the longest
//   disjoint paths  most paths between the first and the last rack that share no cable: max-flow with one unit per cable
//   diameter        most links on a shortest path between two endpoints, whatever paths routing takes. On a folded Clos found
//                   from the first and the last endpoint: every other one is the image of one of them under a symmetry, as only
//                   the last pod and leaf may be partial. On other fabrics found from one endpoint of every set of switches
//                   that nodes are attached to; where links are broken, from one endpoint of every node
// Failed links do not count, degraded ones with what is left of their rate.
//
// Cost: flows on the switches alone, O(cables) memory; breadth-first searches O(links).
#pragma once

#include <cstdint>
#include <optional>

#include "topology/network.h"

namespace lockstep {

struct GraphReport {
  bool is_connected = false;  // every device reaches every other
  std::size_t components = 0;
  // In links; absent with one endpoint, when endpoints cannot reach each other, and where it would take too many searches.
  std::optional<int> diameter;
  // One direction, line rate, bit/s (a Rate ends at 1.1 Pbit/s, bisections do not); absent with fewer than two racks.
  std::optional<std::int64_t> bisection_bps;
  // What the ports of the first half could send at most; bisection over this is 1 in a non-blocking fabric.
  std::optional<std::int64_t> bisection_ports_bps;
  std::optional<std::int64_t> disjoint_paths;  // absent also when the first and the last rack share a switch
};

[[nodiscard]] GraphReport analyze_graph(const Network& network);

}  // namespace lockstep
