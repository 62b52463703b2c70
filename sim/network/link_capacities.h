// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "topology/network.h"

namespace lockstep {

// Payload capacities by link, as network models take them.
[[nodiscard]] inline std::vector<Rate> link_capacities(const Network& network) {
  std::vector<Rate> capacities;
  capacities.reserve(network.link_count());
  for (std::size_t i = 0; i < network.link_count(); ++i) capacities.push_back(network.link(LinkId::from_index(i)).capacity);
  return capacities;
}

}  // namespace lockstep
