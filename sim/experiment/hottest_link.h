// SPDX-License-Identifier: Apache-2.0
// The busiest link between switches, which is where paths collide.
#pragma once

#include <algorithm>

#include "sim/network/network_model.h"
#include "topology/network.h"

namespace lockstep {

[[nodiscard]] constexpr bool joins_switches(LinkTier tier) { return tier > LinkTier::kHost; }

// Seconds for which it would be busy at full rate; 0 where none is used. `model` has the links 0 to `links` - 1, and link_of(l) is that of the
// network which its link l stands for.
template <class LinkOf>
[[nodiscard]] double hottest_link_s(const NetworkModel& model, Instant now, const Network& network, std::size_t links,
                                    const LinkOf& link_of) {
  double hottest = 0;
  for (std::size_t l = 0; l < links; ++l) {
    const LinkId link = LinkId::from_index(l);
    if (joins_switches(network.link(link_of(link)).tier)) hottest = std::max(hottest, model.usage(link, now).busy_s);
  }
  return hottest;
}

}  // namespace lockstep
