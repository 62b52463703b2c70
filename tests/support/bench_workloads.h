// SPDX-License-Identifier: Apache-2.0
// The flow workloads of the benchmarks and of the completion times in tests/data/oracle, written after their definition in the README
// there. Needs nothing but the standard library, so that scripts/bench can use it without the project.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace lockstep::test {

struct BenchFlow {
  std::uint32_t src = 0;
  std::uint32_t dst = 0;
  std::int64_t bytes = 0;
  std::int64_t after = -1;  // row that must complete first, or -1
};

inline constexpr std::uint32_t kBenchSpines = 16;
inline constexpr std::uint32_t kBenchHostsPerLeaf = 32;
inline std::uint32_t bench_spine(std::uint32_t src, std::uint32_t dst) { return (31 * src + dst) % kBenchSpines; }

// SplitMix64, the generator of the workloads.
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
inline std::vector<BenchFlow> permutation_flows(std::uint32_t hosts) {
  std::vector<std::uint32_t> to(hosts);
  for (std::uint32_t i = 0; i < hosts; ++i) to[i] = i;
  BenchRandom random(1);
  for (std::uint32_t i = hosts - 1; i > 0; --i) std::swap(to[i], to[random.below(i + 1)]);
  for (std::uint32_t i = 0; i < hosts; ++i) {
    if (to[i] == i) std::swap(to[i], to[(i + 1) % hosts]);
  }
  std::vector<BenchFlow> flows;
  for (std::uint32_t i = 0; i < hosts; ++i) flows.push_back({i, to[i], 100'000'000});
  return flows;
}

// W3: every ordered pair, `bytes` each.
inline std::vector<BenchFlow> all_to_all_flows(std::uint32_t hosts, std::int64_t bytes = 1 << 20) {
  std::vector<BenchFlow> flows;
  for (std::uint32_t src = 0; src < hosts; ++src) {
    for (std::uint32_t dst = 0; dst < hosts; ++dst) {
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
inline std::vector<BenchFlow> permutation_distinct_flows(std::uint32_t hosts) {  // W1H
  return with_distinct_sizes(permutation_flows(hosts), 50'000'000, 100'000'001);
}
inline std::vector<BenchFlow> all_to_all_distinct_flows(std::uint32_t hosts) {  // W3H
  return with_distinct_sizes(all_to_all_flows(hosts), 500'000, 1'000'001);
}

// W2: row k x N + r is step k of rank r, which waits for step k - 1 of rank r - 1.
inline std::vector<BenchFlow> ring_all_reduce_flows(std::uint32_t ranks) {
  std::vector<BenchFlow> flows;
  for (std::uint32_t step = 0; step < 2 * (ranks - 1); ++step) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const std::int64_t after = std::int64_t{step - 1} * ranks + (rank + ranks - 1) % ranks;
      flows.push_back({rank, (rank + 1) % ranks, (std::int64_t{1} << 30) / ranks, step > 0 ? after : -1});
    }
  }
  return flows;
}

}  // namespace lockstep::test
