// SPDX-License-Identifier: Apache-2.0
// Which rank plays which part, by arithmetic: rank = tp fastest, then cp, then dp, pp slowest (Megatron's default order), so
// tensor-parallel partners are neighbours and pipeline stages are far apart. Communicators are numbered by structure, never
// stored. Expert groups will be carved out of dp x cp and need no axis of their own.
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
enum class CommFamily : std::uint8_t { kTp, kDpGather, kDpReduce, kTie, kDpReplicate };

class ParallelLayout {
 public:
  struct Sizes {
    std::uint32_t tp = 1;
    std::uint32_t cp = 1;
    std::uint32_t dp = 1;
    std::uint32_t pp = 1;
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
  // Members in rank order. kDpGather and kDpReduce span a shard group of dp x cp, over which weights are replicated.
  void members(CommId comm, std::vector<Rank>& out) const;
  [[nodiscard]] std::uint32_t comm_size(CommFamily family) const;
  [[nodiscard]] std::uint32_t communicator_count() const;
  [[nodiscard]] std::uint32_t replicas() const { return sizes_.dp * sizes_.cp; }
  [[nodiscard]] std::uint32_t shard_group() const { return sizes_.shard_group == 0 ? replicas() : sizes_.shard_group; }
  [[nodiscard]] std::uint32_t shard_groups() const { return replicas() / shard_group(); }

 private:
  [[nodiscard]] std::uint32_t family_count(CommFamily family) const;
  [[nodiscard]] std::uint32_t base_of(CommFamily family) const;
  Sizes sizes_;
};

}  // namespace lockstep
