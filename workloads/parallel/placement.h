// SPDX-License-Identifier: Apache-2.0
// Which GPU each rank runs on. A policy chooses nodes, whole ones unless the job is smaller than a node; their GPUs in order are slots, and
// the rank order deals the ranks to slots.
//
//   packed        nodes by number
//   spread        pods in turn, in a pod its racks in turn, in a rack nodes by number: consecutive nodes are as far apart as can be
//   random        nodes by a random number each, drawn by (seed, node)
//   rack_aware    the fewest racks: the emptiest ones whole, for what is left the rack it fills best; in one pod where that takes no more
//                 racks. Nodes by number
//   rail_aligned  nodes as rack_aware, rank order tp-cp-pp-dp: the members of a data-parallel group have equal GPU numbers in all of its nodes
//
// A rack is what the network says it is: the nodes that share their first switches (wired by rail, the unit of rails). Nodes that others occupy (`taken`) are
// those with the smallest random numbers, so that of two shares the larger contains the smaller, and every job that
// draws with the same seed sees the same ones.
//
// Cost: O(nodes log nodes + ranks).
#pragma once

#include <cstdint>
#include <vector>

#include "topology/network.h"
#include "workloads/parallel/plan.h"

namespace lockstep {

// By node: somebody else is there. Empty: nobody is.
using NodeMask = std::vector<bool>;

// Nodes that others take of `nodes`: the share, rounded down.
[[nodiscard]] std::int64_t taken_nodes(const Fraction& share, std::int64_t nodes);

// `count` nodes that are neither taken nor occupied, in the order of slots. `seed` is the run's. Throws UserError when too few are free.
[[nodiscard]] std::vector<NodeId> choose_nodes(const PlacementSpec& spec, std::int64_t count, const Network& network,
                                               std::uint64_t seed, const NodeMask& occupied = {});

// Number of the slot that a rank takes.
[[nodiscard]] std::uint32_t slot_of(const ParallelLayout& layout, const RankOrder& order, Rank rank);

// The endpoint of every rank. PRE: the plan was resolved for a cluster of the network's size.
[[nodiscard]] std::vector<EndpointId> place_ranks(const TrainingPlan& plan, const Network& network, std::uint64_t seed,
                                                  const NodeMask& occupied = {});

}  // namespace lockstep
