// SPDX-License-Identifier: Apache-2.0
// Adding up what the parts of a transfer put on the same links.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/wide.h"
#include "topology/link.h"

namespace lockstep {

// Of the shares from number `first` on: sorted by link, one for each link, with the sum of its coefficients. Those before stay as they are.
inline void merge_shares(std::vector<LinkShare>& shares, std::size_t first = 0) {
  // WHY no operator<: only the link counts, and sorting inlines this.
  constexpr auto kByLink = [](const LinkShare& a, const LinkShare& b) { return a.link < b.link; };
  std::sort(shares.begin() + static_cast<std::ptrdiff_t>(first), shares.end(), kByLink);
  std::size_t kept = first;
  for (std::size_t i = first; i < shares.size(); ++i) {
    if (kept > first && shares[kept - 1].link == shares[i].link) {
      shares[kept - 1].coefficient = checked_add(shares[kept - 1].coefficient, shares[i].coefficient);
    } else {
      shares[kept++] = shares[i];
    }
  }
  shares.resize(kept);
}

}  // namespace lockstep
