// SPDX-License-Identifier: Apache-2.0
// How often every kernel of a program runs on a rank, by role, without running it: the operations of one rank of each role are expanded
// and counted. What a program says comes again (Program::repetitions) is counted once and multiplied.
//
// Cost: O(operations of one rank of each role) but for what repeats.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/program.h"

namespace lockstep {

struct RoleRuns {
  std::int64_t ranks = 0;          // of the role
  std::vector<std::int64_t> runs;  // by kernel

  // Of a rank, undisturbed: time on the GPU, and with what the host adds to it.
  [[nodiscard]] double gpu_seconds(const KernelTable& kernels) const;
  [[nodiscard]] double seconds(const KernelTable& kernels) const;
};

// In the order of the first ranks of the roles.
[[nodiscard]] std::vector<RoleRuns> kernel_runs(const Program& program);

}  // namespace lockstep
