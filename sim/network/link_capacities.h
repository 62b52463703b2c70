// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "topology/network.h"

namespace lockstep {

// Payload capacities by link, as network models take them.
[[nodiscard]] inline std::vector<Rate> link_capacities(const Network& network) {
  std::vector<Rate> capacities;
  capacities.reserve(network.links().size());
  for (const Link& link : network.links()) capacities.push_back(link.capacity);
  return capacities;
}

}  // namespace lockstep
