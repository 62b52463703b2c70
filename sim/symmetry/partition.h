// SPDX-License-Identifier: Apache-2.0
// Which ranks, activities and links of a placed job behave alike: its coarsest equitable partition, found by colour refinement.
//
// Colours begin with what is known of each alone (a rank's role and slow-down, an activity's kind, size, shape and rates, a link's
// capacity and when it changes) and are refined by those of the neighbours until nothing splits any more:
//
//   activity   multiset of (colour of rank, port number), multiset of (colour of link, fault state, form, coefficient)
//   rank       list over its ports of the colour of the activity
//   link       multiset of (colour of activity, fault state, form, coefficient)
//
// Then every member of a class has equally many neighbours of every other class, in every role. The max-min allocation is unique and
// progressive filling treats the members of a class alike in every round, so equals stay equal for the whole run and one of them
// stands for all: same ticks, same integers. Whatever makes ranks differ (a path chosen by a hash, a slow GPU, an odd
// placement) is in a colour and makes classes finer, never wrong.
//
// Signatures are sums of 128-bit hashes: order-free, and equal for different multisets with a probability of about 1e-25 for ten million
// elements. Cost: O(ports + shares) a round; a job on a regular fabric needs two rounds over its shares.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/symmetry/placed_job.h"

namespace lockstep {

// Classes of one sort of element. Numbered by their first member, which represents them.
struct Classes {
  static constexpr std::uint32_t kNone = 0xffff'ffffu;
  std::vector<std::uint32_t> class_of;        // by element; kNone: belongs to none (a link that nothing uses)
  std::vector<std::uint32_t> representative;  // by class: its first member
  std::vector<std::int64_t> size;             // by class

  [[nodiscard]] std::size_t count() const { return representative.size(); }
};

struct Partition {
  Classes ranks;
  Classes activities;
  Classes links;

  // Classes of ranks when only the plan counts; the plan and slow GPUs; and everything (placement, fabric and routing too).
  std::size_t rank_classes_by_plan = 0;
  std::size_t rank_classes_with_slowdowns = 0;
};

// Ways to leave something out on purpose: tests prove with them that comparing runs notices.
enum class SymmetryFault : std::uint8_t { kNone, kIgnoreSlowdowns, kIgnoreLinks, kIgnoreCoefficients, kIgnorePeers };

[[nodiscard]] Partition coarsest_partition(const PlacedJob& job, SymmetryFault fault = SymmetryFault::kNone);
// Everybody stands for himself; links that nothing uses are left out.
[[nodiscard]] Partition finest_partition(const PlacedJob& job);
// Compares neighbours member by member, without hashes. For tests: O(shares x log).
[[nodiscard]] bool is_equitable(const PlacedJob& job, const Partition& partition);

}  // namespace lockstep
