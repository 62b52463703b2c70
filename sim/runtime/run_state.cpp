// SPDX-License-Identifier: Apache-2.0
#include "sim/runtime/run_state.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/hash.h"

namespace lockstep {

void open_logs(RunState& state, const Program& program, const ReducedJob& job) {
  std::unordered_map<std::uint32_t, std::uint32_t> known;  // never iterated
  for (std::size_t r = 0; r < state.ranks.size(); ++r) {
    const Rank representative = job.ranks()[r].representative;
    const auto [it, is_new] = known.try_emplace(program.role(representative), static_cast<std::uint32_t>(known.size()));
    if (is_new) state.logs.emplace_back(program, representative);
    state.ranks[r].log = it->second;
    state.ranks[r].job = program.job_of(representative);
  }
  state.job_ends.resize(program.job_count());
}

void shorten(RunState& state, std::uint32_t log) {
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
  std::int64_t slot = kFar;
  std::array<std::int64_t, kStreamCount> positions;
  positions.fill(kFar);
  for (const RankState& rank : state.ranks) {
    if (rank.log != log) continue;
    slot = std::min(slot, rank.slot);
    for (std::size_t s = 0; s < kStreamCount; ++s) positions[s] = std::min(positions[s], rank.streams[s].completed);
  }
  state.logs[log].forget_before(slot, positions.data());
}

std::vector<JobTimes> job_times(RunState& state, const ReducedJob& job) {
  std::vector<JobTimes> out(state.job_ends.size());
  std::vector<std::array<Int128, kTimeClassCount>> sums(out.size());
  std::vector<std::int64_t> ranks(out.size(), 0);
  for (std::size_t r = 0; r < state.ranks.size(); ++r) {
    RankState& rank = state.ranks[r];
    rank.account(state.job_ends[rank.job]);
    ranks[rank.job] += job.ranks()[r].size;
    for (std::size_t c = 0; c < kTimeClassCount; ++c) {
      sums[rank.job][c] += Int128{rank.spent_ps[c]} * job.ranks()[r].size;
    }
  }
  for (std::size_t j = 0; j < out.size(); ++j) {
    out[j].end = state.job_ends[j];
    for (std::size_t c = 0; c < kTimeClassCount; ++c) {
      out[j].breakdown_s[c] = static_cast<double>(sums[j][c]) / static_cast<double>(ranks[j]) / 1e12;
    }
  }
  return out;
}

std::uint64_t operation_hash(Stream stream, std::int64_t position, std::int64_t bytes, Instant tick) {
  return hash_words({static_cast<std::uint64_t>(stream), static_cast<std::uint64_t>(position),
                     static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(tick.picos())});
}

}  // namespace lockstep
