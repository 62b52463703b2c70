// SPDX-License-Identifier: Apache-2.0
// Builds a Network from a plan.
#pragma once

#include <utility>

#include "topology/network.h"

namespace lockstep {

class NetworkBuilder {
 public:
  explicit NetworkBuilder(NetworkPlan plan) : plan_(std::move(plan)) {}
  [[nodiscard]] Network build() const { return Network(plan_); }

 private:
  NetworkPlan plan_;
};

}  // namespace lockstep
