// SPDX-License-Identifier: Apache-2.0
#include "topology/link_rows.h"

namespace lockstep {

// Counting sort of the links by where they start.
LinkRows::LinkRows(const Network& network) : begin_(network.device_count() + 1, 0), links_(network.link_count()) {
  for (std::size_t i = 0; i < links_.size(); ++i) ++begin_[network.link(LinkId::from_index(i)).from.index() + 1];
  for (std::size_t d = 1; d < begin_.size(); ++d) begin_[d] += begin_[d - 1];
  std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const LinkId id = LinkId::from_index(i);
    links_[next[network.link(id).from.index()]++] = id;
  }
}

}  // namespace lockstep
