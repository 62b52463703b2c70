// SPDX-License-Identifier: Apache-2.0
// The links that leave each device: what a drawing or a walk along the graph needs and a simulation does not.
// Memory and time to build: O(devices + links), 8 bytes a link at most.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/network.h"

namespace lockstep {

class LinkRows {
 public:
  explicit LinkRows(const Network& network);
  [[nodiscard]] std::span<const LinkId> from(DeviceId id) const& {  // in id order
    return std::span(links_).subspan(begin_[id.index()], begin_[id.index() + 1] - begin_[id.index()]);
  }

 private:
  std::vector<std::uint32_t> begin_;
  std::vector<LinkId> links_;
};

}  // namespace lockstep
