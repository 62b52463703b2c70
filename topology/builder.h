// SPDX-License-Identifier: Apache-2.0
// From parts to a Network: so many equal servers on a folded Clos. Cluster files come here through
// topology/cluster_spec.h; tests and studies of a fabric alone may fill a plan by hand:
//
//   const Network net = NetworkBuilder({.nodes = 64, .server = BareHost{},
//                                       .fabric = {.nodes_per_leaf = 32, .spines = 16, .host = wire, .leaf_spine = wire}}).build();
//
// Cost: O(devices + links) time and memory.
#pragma once

#include <cstdint>

#include "topology/network.h"

namespace lockstep {

struct NetworkPlan {
  std::uint32_t nodes = 1;
  Server server = BareHost{};
  FabricShape fabric = {};
};

class NetworkBuilder {
 public:
  explicit NetworkBuilder(NetworkPlan plan) : plan_(std::move(plan)) {}
  // Throws InternalError on a plan that no fabric can have (no nodes, more than 2^32 - 1 links).
  [[nodiscard]] Network build() const;

 private:
  static void index_rows(Network& network, std::size_t devices);
  NetworkPlan plan_;
};

}  // namespace lockstep
