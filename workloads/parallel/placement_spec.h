// SPDX-License-Identifier: Apache-2.0
// Where a job runs in a cluster, as the user states it. A policy chooses the nodes, all GPUs of them are taken in order, and the rank
// order says which ranks come next to each other on them:
//
//   placement: spread                                a policy
//   placement: [8-15, 0-7]                           GPU by GPU
//   placement: {policy: random, seed: 7, taken: 25%} among the nodes that others left free
//   placement: {hosts: [4-7, 0]}                     these nodes, in this order
//
// What the policies do is in workloads/parallel/placement.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/index_range.h"
#include "base/quantity.h"
#include "base/value_codec.h"

namespace lockstep {

template <class T>
class FieldTable;

enum class PlacementPolicy : std::uint8_t { kPacked, kSpread, kRandom, kRackAware, kRailAligned };

struct PlacementSpec {
  PlacementPolicy policy = PlacementPolicy::kPacked;
  std::optional<std::int64_t> seed;   // of random and taken; absent: the run's
  Fraction taken;                     // of the cluster's nodes, by other jobs
  std::vector<IndexRange> hosts;      // nodes in order, instead of a policy
  std::vector<IndexRange> endpoints;  // GPUs in order, instead of a policy

  bool operator==(const PlacementSpec&) const = default;
};

[[nodiscard]] const FieldTable<PlacementSpec>& placement_fields();

enum class ParallelAxis : std::uint8_t { kTp, kCp, kDp, kPp };

// Over consecutive GPUs the first axis runs fastest.
struct RankOrder {
  std::array<ParallelAxis, 4> axes = {ParallelAxis::kTp, ParallelAxis::kCp, ParallelAxis::kDp, ParallelAxis::kPp};
  auto operator<=>(const RankOrder&) const = default;
};

template <>
struct Codec<RankOrder> {
  static constexpr bool kIsText = true;  // quotes are welcome
  static constexpr std::string_view type = "rank order", unit = "";
  static Parsed<RankOrder> parse(std::string_view text);
  static std::string print(const RankOrder& v);  // "tp-cp-dp-pp"
};

}  // namespace lockstep
