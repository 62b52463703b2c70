// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/explain/kernel_runs.h"

#include <algorithm>
#include <map>

#include "base/wide.h"

namespace lockstep {
namespace {

class Counter final : public OpSink {
 public:
  Counter(const Program& program, Rank rank) : program_(program), rank_(rank), runs_(program.kernels().kernels.size(), 0) {}

  std::vector<std::int64_t> count() {
    std::int64_t lap = 0;
    while (program_.expand(rank_, cursor_, *this)) {
      const std::int64_t at = program_.lap(rank_, cursor_);
      if (at == lap || has_skipped_) continue;
      lap = at;
      skip_repetitions();
    }
    return runs_;
  }

 private:
  struct Mark {
    ProgramCursor cursor;
    std::vector<std::int64_t> runs;
  };

  void push(Stream, const Op& op) override {
    if (op.kind == OpKind::kCompute) ++runs_[op.kernel.index()];
  }

  // Moves on by all repetitions of what came since the last lap began.
  void skip_repetitions() {
    const std::int64_t times = mark_.runs.empty() ? 0 : program_.repetitions(rank_, mark_.cursor, cursor_);
    if (times == 0) {
      mark_ = {cursor_, runs_};
      return;
    }
    const auto grow = [times](std::int64_t& now, std::int64_t then) {
      now = checked_add(now, checked_mul(checked_sub(now, then), times));
    };
    for (std::size_t k = 0; k < runs_.size(); ++k) grow(runs_[k], mark_.runs[k]);
    grow(cursor_.slot, mark_.cursor.slot);
    for (std::size_t s = 0; s < kStreamCount; ++s) grow(cursor_.pushed[s], mark_.cursor.pushed[s]);
    for (std::size_t i = 0; i < std::size(cursor_.scratch); ++i) grow(cursor_.scratch[i], mark_.cursor.scratch[i]);
    has_skipped_ = true;
  }

  const Program& program_;
  Rank rank_;
  ProgramCursor cursor_;
  std::vector<std::int64_t> runs_;
  Mark mark_;
  bool has_skipped_ = false;
};

}  // namespace

double RoleRuns::gpu_seconds(const KernelTable& kernels) const {
  double sum = 0;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    sum += static_cast<double>(runs[k]) * (kernels.kernels[k].time - kernels.kernels[k].host).seconds();
  }
  return sum;
}

double RoleRuns::seconds(const KernelTable& kernels) const {
  double sum = 0;
  for (std::size_t k = 0; k < runs.size(); ++k) sum += static_cast<double>(runs[k]) * kernels.kernels[k].time.seconds();
  return sum;
}

std::vector<RoleRuns> kernel_runs(const Program& program) {
  std::vector<RoleRuns> out;
  std::map<std::uint32_t, std::size_t> known;  // by role
  for (std::uint32_t r = 0; r < program.world_size(); ++r) {
    const auto [at, is_new] = known.emplace(program.role(Rank(r)), out.size());
    if (is_new) out.push_back({.ranks = 0, .runs = Counter(program, Rank(r)).count()});
    ++out[at->second].ranks;
  }
  return out;
}

}  // namespace lockstep
