// SPDX-License-Identifier: Apache-2.0
// The ways round what is broken for a time: a router for every network of FaultStates beyond the first, and when they count.
// Nothing for a cluster without faults that come and go.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/network/fault_timeline.h"
#include "topology/cluster_spec.h"

namespace lockstep {

class Detours {
 public:
  // PRE: the spec passed its validation.
  Detours(const ClusterSpec& cluster, std::uint64_t seed, Bundling bundling);

  [[nodiscard]] const FaultTimeline& timeline() const { return timeline_; }
  // Of the states 1, 2, ...; they live as long as this, wherever it is moved.
  [[nodiscard]] std::span<const Router* const> routers() const { return pointers_; }

 private:
  FaultTimeline timeline_;
  std::vector<std::unique_ptr<const Network>> networks_;
  std::vector<std::unique_ptr<const Router>> routers_;
  std::vector<const Router*> pointers_;
};

}  // namespace lockstep
