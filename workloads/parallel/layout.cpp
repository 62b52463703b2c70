// SPDX-License-Identifier: Apache-2.0
#include "workloads/parallel/layout.h"

#include <array>

#include "base/check.h"

namespace lockstep {
namespace {

constexpr std::array kFamilies{CommFamily::kTp, CommFamily::kDpGather, CommFamily::kDpReduce, CommFamily::kTie};

}  // namespace

ParallelLayout::ParallelLayout(Sizes sizes) : sizes_(sizes) {
  const std::uint64_t pairs[2] = {std::uint64_t{sizes.tp} * sizes.cp, std::uint64_t{sizes.dp} * sizes.pp};
  LOCKSTEP_CHECK(pairs[0] > 0 && pairs[1] > 0, "a parallel size is 0");
  LOCKSTEP_CHECK(pairs[0] <= (1u << 31) / pairs[1], "{} x {} ranks are more than 2^31", pairs[0], pairs[1]);
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
      return sizes_.dp * sizes_.cp;
    case CommFamily::kTie:
      return sizes_.pp > 1 ? 2 : 1;
  }
  return 1;
}

std::uint32_t ParallelLayout::base_of(CommFamily family) const {
  std::uint32_t base = 0;
  for (const CommFamily f : kFamilies) {
    if (f == family) break;
    base += f == CommFamily::kTp ? world_size() / sizes_.tp : sizes_.tp * sizes_.pp;
  }
  return base;
}

std::uint32_t ParallelLayout::communicator_count() const { return base_of(CommFamily::kTie) + world_size() / sizes_.pp; }

CommId ParallelLayout::comm(CommFamily family, const Coordinates& c) const {
  const std::uint32_t base = base_of(family);
  switch (family) {
    case CommFamily::kTp:
      return CommId(base + (c.pp * sizes_.dp + c.dp) * sizes_.cp + c.cp);
    case CommFamily::kDpGather:
    case CommFamily::kDpReduce:
      return CommId(base + c.pp * sizes_.tp + c.tp);
    case CommFamily::kTie:
      LOCKSTEP_CHECK(c.pp == 0 || c.pp == sizes_.pp - 1, "stage {} ties no embedding", c.pp);
      return CommId(base + (c.dp * sizes_.cp + c.cp) * sizes_.tp + c.tp);
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
  switch (f) {
    case CommFamily::kTp:
      for (std::uint32_t i = 0; i < sizes_.tp; ++i) out.push_back(Rank(group * sizes_.tp + i));
      break;
    case CommFamily::kDpGather:
    case CommFamily::kDpReduce: {
      const std::uint32_t replicas = sizes_.dp * sizes_.cp;
      const std::uint32_t first = (group / sizes_.tp) * replicas * sizes_.tp + group % sizes_.tp;
      for (std::uint32_t i = 0; i < replicas; ++i) out.push_back(Rank(first + i * sizes_.tp));
      break;
    }
    case CommFamily::kTie:
      out.push_back(Rank(group));
      if (sizes_.pp > 1) out.push_back(Rank(group + (sizes_.pp - 1) * (world_size() / sizes_.pp)));
      break;
  }
}

}  // namespace lockstep
