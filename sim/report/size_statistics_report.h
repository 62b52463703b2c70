// SPDX-License-Identifier: Apache-2.0
// What is said of a suite whose predictions have sizes: statistics per publisher, per table and per decade of size, each from 1 MiB up (errors) and below (factors).
#pragma once

#include <string>
#include <vector>

#include "sim/experiment/validation.h"

namespace lockstep {

struct SizeGroup {
  std::string name;
  SizeStatistics s;
};

// Groups in order of first appearance, decades by size; the last of each list is all rows.
struct SizeGroups {
  std::vector<SizeGroup> publishers;
  std::vector<SizeGroup> tables;
  std::vector<SizeGroup> decades;
  SizeStatistics all;
};
// PRE: every prediction has a size.
[[nodiscard]] SizeGroups size_groups(const SuiteResult& r);

// Whether a suite is about sizes: it has predictions, and all have one.
[[nodiscard]] bool has_sizes(const SuiteResult& r);

[[nodiscard]] std::string to_table(const SizeGroups& groups);
[[nodiscard]] std::string to_markdown(const SizeGroups& groups);

}  // namespace lockstep
