// SPDX-License-Identifier: Apache-2.0
#include "workloads/parallel/layout.h"

#include <array>

#include "base/check.h"

namespace lockstep {
namespace {

constexpr std::array kFamilies{CommFamily::kTp,  CommFamily::kDpGather,     CommFamily::kDpReduce,
                               CommFamily::kTie, CommFamily::kDpReplicate,  CommFamily::kCp,
                               CommFamily::kEp,  CommFamily::kExpertGather, CommFamily::kExpertReduce};

}  // namespace

ParallelLayout::ParallelLayout(Sizes sizes) : sizes_(sizes) {
  const std::uint64_t pairs[2] = {std::uint64_t{sizes.tp} * sizes.cp, std::uint64_t{sizes.dp} * sizes.pp};
  LOCKSTEP_CHECK(pairs[0] > 0 && pairs[1] > 0, "a parallel size is 0");
  LOCKSTEP_CHECK(pairs[0] <= (1u << 31) / pairs[1], "{} x {} ranks are more than 2^31", pairs[0], pairs[1]);
  LOCKSTEP_CHECK(replicas() % shard_group() == 0, "{} replicas in groups of {}", replicas(), shard_group());
  LOCKSTEP_CHECK(expert_tp() == 1 || expert_tp() == sizes.tp, "experts cut by {}, the rest by {}", expert_tp(), sizes.tp);
  LOCKSTEP_CHECK(sizes.ep > 0 && stage_ranks() % expert_parts() == 0, "{} parts of experts on {} ranks", expert_parts(),
                 stage_ranks());
}

Rank ParallelLayout::rank_of(const Coordinates& c) const {
  return Rank(((c.pp * sizes_.dp + c.dp) * sizes_.cp + c.cp) * sizes_.tp + c.tp);
}

Coordinates ParallelLayout::coordinates(Rank rank) const {
  std::uint32_t r = rank.value();
  LOCKSTEP_CHECK(r < world_size(), "rank {} of {}", r, world_size());
  Coordinates c;
  c.tp = r % sizes_.tp;
  r /= sizes_.tp;
  c.cp = r % sizes_.cp;
  r /= sizes_.cp;
  c.dp = r % sizes_.dp;
  c.pp = r / sizes_.dp;
  return c;
}

std::uint32_t ParallelLayout::comm_size(CommFamily family) const {
  switch (family) {
    case CommFamily::kTp:
      return sizes_.tp;
    case CommFamily::kDpGather:
    case CommFamily::kDpReduce:
      return shard_group();
    case CommFamily::kTie:
      return sizes_.pp > 1 ? 2 : 1;
    case CommFamily::kDpReplicate:
      return shard_groups();
    case CommFamily::kCp:
      return sizes_.cp;
    case CommFamily::kEp:
      return sizes_.ep;
    case CommFamily::kExpertGather:
    case CommFamily::kExpertReduce:
      return expert_replicas();
  }
  return 1;
}

// Families that join nobody, or the same ranks as another, have no communicators.
std::uint32_t ParallelLayout::family_count(CommFamily family) const {
  switch (family) {
    case CommFamily::kTp:
      return world_size() / sizes_.tp;
    case CommFamily::kDpGather:
    case CommFamily::kDpReduce:
      return sizes_.tp * sizes_.pp * shard_groups();
    case CommFamily::kTie:
      return world_size() / sizes_.pp;
    case CommFamily::kDpReplicate:
      return shard_groups() == 1 ? 0 : sizes_.tp * sizes_.pp * shard_group();
    case CommFamily::kCp:
      return sizes_.cp == 1 ? 0 : world_size() / sizes_.cp;
    case CommFamily::kEp:
      return sizes_.ep == 1 ? 0 : world_size() / sizes_.ep;
    case CommFamily::kExpertGather:
    case CommFamily::kExpertReduce:
      return has_expert_groups() ? sizes_.pp * expert_parts() : 0;
  }
  return 0;
}

std::uint32_t ParallelLayout::base_of(CommFamily family) const {
  std::uint32_t base = 0;
  for (const CommFamily f : kFamilies) {
    if (f == family) break;
    base += family_count(f);
  }
  return base;
}

std::uint32_t ParallelLayout::communicator_count() const { return base_of(kFamilies.back()) + family_count(kFamilies.back()); }

CommId ParallelLayout::comm(CommFamily family, const Coordinates& c) const {
  const std::uint32_t base = base_of(family);
  const std::uint32_t replica = c.dp * sizes_.cp + c.cp;
  const std::uint32_t copy = c.pp * sizes_.tp + c.tp;  // of the ranks that hold the same part of the model
  switch (family) {
    case CommFamily::kTp:
      return CommId(base + c.pp * replicas() + replica);
    case CommFamily::kDpGather:
    case CommFamily::kDpReduce:
      return CommId(base + copy * shard_groups() + replica / shard_group());
    case CommFamily::kTie:
      LOCKSTEP_CHECK(c.pp == 0 || c.pp == sizes_.pp - 1, "stage {} ties no embedding", c.pp);
      return CommId(base + replica * sizes_.tp + c.tp);
    case CommFamily::kDpReplicate:
      LOCKSTEP_CHECK(shard_groups() > 1, "one shard group has nobody to copy to");
      return CommId(base + copy * shard_group() + replica % shard_group());
    case CommFamily::kCp:
      LOCKSTEP_CHECK(sizes_.cp > 1, "nobody shares a sequence");
      return CommId(base + (c.pp * sizes_.dp + c.dp) * sizes_.tp + c.tp);
    case CommFamily::kEp: {
      LOCKSTEP_CHECK(sizes_.ep > 1, "nobody shares experts");
      const std::uint32_t number = replica * sizes_.tp + c.tp;  // in the stage
      const std::uint32_t group = number / expert_parts() * expert_tp() + number % expert_tp();
      return CommId(base + c.pp * (stage_ranks() / sizes_.ep) + group);
    }
    case CommFamily::kExpertGather:
    case CommFamily::kExpertReduce:
      LOCKSTEP_CHECK(has_expert_groups(), "experts have no groups of their own");
      return CommId(base + c.pp * expert_parts() + (replica * sizes_.tp + c.tp) % expert_parts());
  }
  return CommId::none();
}

CommFamily ParallelLayout::family(CommId comm) const {
  LOCKSTEP_CHECK(comm.value() < communicator_count(), "communicator {} of {}", comm.value(), communicator_count());
  CommFamily found = CommFamily::kTp;
  for (const CommFamily f : kFamilies) {
    if (comm.value() >= base_of(f)) found = f;
  }
  return found;
}

void ParallelLayout::members(CommId comm, std::vector<Rank>& out) const {
  out.clear();
  const CommFamily f = family(comm);
  const std::uint32_t group = comm.value() - base_of(f);
  // Replicas first, first + step, ... of the ranks that hold the `copy`-th part of the model.
  const auto add_replicas = [&](std::uint32_t copy, std::uint32_t first, std::uint32_t step) {
    const std::uint32_t base = (copy / sizes_.tp) * replicas() * sizes_.tp + copy % sizes_.tp;
    for (std::uint32_t i = 0; i < comm_size(f); ++i) out.push_back(Rank(base + (first + i * step) * sizes_.tp));
  };
  const auto add_every = [&](std::uint32_t first, std::uint32_t step) {
    for (std::uint32_t i = 0; i < comm_size(f); ++i) out.push_back(Rank(first + i * step));
  };
  switch (f) {
    case CommFamily::kTp:
      for (std::uint32_t i = 0; i < sizes_.tp; ++i) out.push_back(Rank(group * sizes_.tp + i));
      break;
    case CommFamily::kDpGather:
    case CommFamily::kDpReduce:
      add_replicas(group / shard_groups(), group % shard_groups() * shard_group(), 1);
      break;
    case CommFamily::kTie:
      out.push_back(Rank(group));
      if (sizes_.pp > 1) out.push_back(Rank(group + (sizes_.pp - 1) * (world_size() / sizes_.pp)));
      break;
    case CommFamily::kDpReplicate:
      add_replicas(group / shard_group(), group % shard_group(), shard_group());
      break;
    case CommFamily::kCp:
      add_every(group / sizes_.tp * sizes_.cp * sizes_.tp + group % sizes_.tp, sizes_.tp);
      break;
    case CommFamily::kEp: {
      const std::uint32_t per_stage = stage_ranks() / sizes_.ep;
      const std::uint32_t in_stage = group % per_stage;
      add_every(group / per_stage * stage_ranks() + in_stage / expert_tp() * expert_parts() + in_stage % expert_tp(),
                expert_tp());
      break;
    }
    case CommFamily::kExpertGather:
    case CommFamily::kExpertReduce:
      add_every(group / expert_parts() * stage_ranks() + group % expert_parts(), expert_parts());
      break;
  }
}

}  // namespace lockstep
