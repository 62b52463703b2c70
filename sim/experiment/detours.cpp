// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/detours.h"

namespace lockstep {

Detours::Detours(const ClusterSpec& cluster, std::uint64_t seed, Bundling bundling) {
  if (cluster.faults.empty()) return;
  const Network healthy = build_healthy_network(cluster);
  const FaultStates states(healthy, cluster.faults, cluster.detection_time());
  if (!states.has_timed()) return;
  timeline_ = FaultTimeline(states, healthy, cluster.detection_time());
  for (std::size_t s = 1; s < states.states().size(); ++s) {
    networks_.push_back(std::make_unique<Network>(states.network(healthy, s)));
    routers_.push_back(std::make_unique<Router>(make_router(cluster, *networks_.back(), seed, bundling)));
    pointers_.push_back(routers_.back().get());
  }
}

}  // namespace lockstep
