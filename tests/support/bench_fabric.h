// SPDX-License-Identifier: Apache-2.0
// The fabric and the flow workloads that the completion-time oracles in tests/data/oracle were made with, written down again from
// their definition (tests/data/oracle/README.md), independent of the topology floor.
//
// Fabric: 32 hosts a leaf, 16 spines, every link 100 Gbit/s a direction. Same leaf: host up, host down. Otherwise: host
// up, leaf up, leaf down, host down over spine (31 src + dst) mod 16.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "topology/routing/router.h"

namespace lockstep::test {

class BenchFabric {
 public:
  static constexpr int kHostsPerLeaf = 32;
  static constexpr int kSpines = 16;

  explicit BenchFabric(int hosts) : hosts_(hosts), leaves_((hosts + kHostsPerLeaf - 1) / kHostsPerLeaf) {}

  [[nodiscard]] std::vector<Rate> capacities() const {
    return std::vector<Rate>(static_cast<std::size_t>(2 * hosts_ + 2 * leaves_ * kSpines), Rate::gbps(100));
  }

  // Sorted by link.
  [[nodiscard]] std::vector<LinkShare> path(int src, int dst) const {
    const int from = src / kHostsPerLeaf;
    const int to = dst / kHostsPerLeaf;
    const int spine = spine_of(src, dst);
    std::vector<LinkShare> shares{share(src), share(hosts_ + dst)};
    if (from != to) {
      shares.push_back(share(2 * hosts_ + from * kSpines + spine));
      shares.push_back(share(2 * hosts_ + (leaves_ + to) * kSpines + spine));
    }
    return shares;
  }
  [[nodiscard]] static int spine_of(int src, int dst) { return (31 * src + dst) % kSpines; }

 private:
  [[nodiscard]] static LinkShare share(int link) { return {LinkId(static_cast<std::uint32_t>(link)), 1}; }
  int hosts_;
  int leaves_;
};

struct BenchFlow {
  int src = 0;
  int dst = 0;
  std::int64_t bytes = 0;
};

// SplitMix64, the generator of the workload definition.
class BenchRandom {
 public:
  explicit BenchRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t n) {
    state_ += 0x9E3779B97F4A7C15ull;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return (z ^ (z >> 31)) % n;
  }

 private:
  std::uint64_t state_;
};

// W1: a permutation without fixed points, 100 MB a flow.
inline std::vector<BenchFlow> permutation_flows(int hosts) {
  const auto n = static_cast<std::size_t>(hosts);
  std::vector<int> to(n);
  for (int i = 0; i < hosts; ++i) to[static_cast<std::size_t>(i)] = i;
  BenchRandom random(1);
  for (std::size_t i = n - 1; i > 0; --i) std::swap(to[i], to[random.below(i + 1)]);
  for (std::size_t i = 0; i < n; ++i) {
    if (to[i] == static_cast<int>(i)) std::swap(to[i], to[(i + 1) % n]);
  }
  std::vector<BenchFlow> flows;
  for (std::size_t i = 0; i < n; ++i) flows.push_back({static_cast<int>(i), to[i], 100'000'000});
  return flows;
}

// W3: every ordered pair, `bytes` each.
inline std::vector<BenchFlow> all_to_all_flows(int hosts, std::int64_t bytes = 1 << 20) {
  std::vector<BenchFlow> flows;
  for (int src = 0; src < hosts; ++src) {
    for (int dst = 0; dst < hosts; ++dst) {
      if (src != dst) flows.push_back({src, dst, bytes});
    }
  }
  return flows;
}

// The H variants: flow i carries base + (i-th draw mod range) bytes.
inline std::vector<BenchFlow> with_distinct_sizes(std::vector<BenchFlow> flows, std::int64_t base, std::uint64_t range) {
  BenchRandom random(2);
  for (BenchFlow& f : flows) f.bytes = base + static_cast<std::int64_t>(random.below(range));
  return flows;
}
inline std::vector<BenchFlow> permutation_distinct_flows(int hosts) {  // W1H
  return with_distinct_sizes(permutation_flows(hosts), 50'000'000, 100'000'001);
}
inline std::vector<BenchFlow> all_to_all_distinct_flows(int hosts) {  // W3H
  return with_distinct_sizes(all_to_all_flows(hosts), 500'000, 1'000'001);
}

}  // namespace lockstep::test
