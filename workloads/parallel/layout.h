// SPDX-License-Identifier: Apache-2.0
// Which rank plays which part, by arithmetic: rank = tp fastest, then cp, then dp, pp slowest (Megatron's default order), so
// tensor-parallel partners are neighbours and pipeline stages are far apart. Communicators are numbered by structure, never
// stored.
//
// The experts of a stage are dealt over the same ranks by a grid of their own, as Megatron Core's (parallel_state.py): in rank order
// expert_tp runs fastest, then ep. With expert_tp 1 the ranks that share a set of experts are ep neighbours, with expert_tp = tp equal parts
// of ep consecutive replicas; what is left of the stage holds copies.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/program.h"

namespace lockstep {

struct Coordinates {
  std::uint32_t tp = 0;
  std::uint32_t cp = 0;
  std::uint32_t dp = 0;
  std::uint32_t pp = 0;
  auto operator<=>(const Coordinates&) const = default;
};

// Families of communicators. Gathers and reductions of one data-parallel group are two communicators, for they run side by
// side on two streams. Replicas that shard weights among themselves are `shard_group` consecutive ones; kDpReplicate joins those that
// hold equal shards, one of each group.
enum class CommFamily : std::uint8_t {
  kTp,
  kDpGather,
  kDpReduce,
  kTie,
  kDpReplicate,
  kCp,            // the ranks that share a sequence
  kEp,            // ... a set of experts
  kExpertGather,  // ... copies of the same experts: the data-parallel group of their weights
  kExpertReduce,
};

class ParallelLayout {
 public:
  struct Sizes {
    std::uint32_t tp = 1;
    std::uint32_t cp = 1;
    std::uint32_t dp = 1;
    std::uint32_t pp = 1;
    std::uint32_t ep = 1;           // divides tp x cp x dp / expert_tp
    std::uint32_t expert_tp = 0;    // 1 or tp; 0: as tp
    std::uint32_t shard_group = 0;  // replicas (dp x cp) of a shard group, a divisor of their number; 0: all of them
  };
  // PRE: tp, cp, dp, pp positive, their product below 2^31.
  explicit ParallelLayout(Sizes sizes);

  [[nodiscard]] const Sizes& sizes() const { return sizes_; }
  [[nodiscard]] std::uint32_t world_size() const { return sizes_.tp * sizes_.cp * sizes_.dp * sizes_.pp; }
  [[nodiscard]] Rank rank_of(const Coordinates& c) const;
  [[nodiscard]] Coordinates coordinates(Rank rank) const;

  // The communicator of `family` that holds the rank at `c`. kTie joins the first and the last stage; PRE: c.pp is one of them.
  [[nodiscard]] CommId comm(CommFamily family, const Coordinates& c) const;
  [[nodiscard]] CommFamily family(CommId comm) const;
  // Members in rank order. kDpGather and kDpReduce span a shard group of dp x cp, over which weights are replicated. Families of one rank
  // each (kCp, kEp where cp, ep are 1), and of experts that are dealt like the rest, have no communicators.
  void members(CommId comm, std::vector<Rank>& out) const;
  [[nodiscard]] std::uint32_t comm_size(CommFamily family) const;
  [[nodiscard]] std::uint32_t communicator_count() const;
  [[nodiscard]] std::uint32_t replicas() const { return sizes_.dp * sizes_.cp; }
  [[nodiscard]] std::uint32_t shard_group() const { return sizes_.shard_group == 0 ? replicas() : sizes_.shard_group; }
  [[nodiscard]] std::uint32_t shard_groups() const { return replicas() / shard_group(); }
  [[nodiscard]] std::uint32_t stage_ranks() const { return sizes_.tp * replicas(); }
  [[nodiscard]] std::uint32_t expert_tp() const { return sizes_.expert_tp == 0 ? sizes_.tp : sizes_.expert_tp; }
  // Parts that the experts of a layer are cut into, and copies of each.
  [[nodiscard]] std::uint32_t expert_parts() const { return sizes_.ep * expert_tp(); }
  [[nodiscard]] std::uint32_t expert_replicas() const { return stage_ranks() / expert_parts(); }
  // Whether the copies of experts are on other ranks than those of the rest.
  [[nodiscard]] bool has_expert_groups() const { return sizes_.ep > 1 || expert_tp() != sizes_.tp; }

 private:
  [[nodiscard]] std::uint32_t family_count(CommFamily family) const;
  [[nodiscard]] std::uint32_t base_of(CommFamily family) const;
  Sizes sizes_;
};

}  // namespace lockstep
