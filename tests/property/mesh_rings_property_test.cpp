// SPDX-License-Identifier: Apache-2.0
// Rings of random meshes: what makes them rings, and that no link is promised twice.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "workloads/collectives/mesh_rings.h"

namespace lockstep {
namespace {

int between(int low, int high) { return *rc::gen::inRange(low, high + 1); }

// links[a][b] = links[b][a], 0 to 2 links between two of 2 to 9 GPUs.
std::vector<int> random_mesh(int n) {
  std::vector<int> links(static_cast<std::size_t>(n * n), 0);
  for (int a = 0; a < n; ++a) {
    for (int b = a + 1; b < n; ++b) {
      links[static_cast<std::size_t>(a * n + b)] = links[static_cast<std::size_t>(b * n + a)] = std::max(0, between(-1, 2));
    }
  }
  return links;
}

// By trying every order of the GPUs after the first; n <= 6.
bool has_a_ring(const std::vector<int>& links, int n) {
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  do {
    bool is_ring = true;
    for (std::size_t i = 0; i < order.size(); ++i) {
      is_ring = is_ring && links[static_cast<std::size_t>(order[i] * n + order[(i + 1) % order.size()])] > 0;
    }
    if (is_ring) return true;
  } while (std::next_permutation(order.begin() + 1, order.end()));
  return false;
}

RC_GTEST_PROP(MeshRings, EveryRingVisitsAllAndNoLinkIsUsedTwice, ()) {
  const int n = between(2, 9);
  const std::vector<int> links = random_mesh(n);
  const std::vector<MeshRing> rings = disjoint_rings(links, n);
  std::vector<int> used(links.size(), 0);
  for (const MeshRing& ring : rings) {
    std::vector<int> sorted = ring;
    std::sort(sorted.begin(), sorted.end());
    std::vector<int> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    RC_ASSERT(sorted == all);
    for (std::size_t i = 0; i < ring.size(); ++i) ++used[static_cast<std::size_t>(ring[i] * n + ring[(i + 1) % ring.size()])];
  }
  for (std::size_t i = 0; i < links.size(); ++i) RC_ASSERT(used[i] <= links[i]);
  if (n <= 6) RC_ASSERT(!rings.empty() == has_a_ring(links, n));
  RC_ASSERT(disjoint_rings(links, n) == rings);
}

}  // namespace
}  // namespace lockstep
