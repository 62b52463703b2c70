// SPDX-License-Identifier: Apache-2.0
// The order that `after` asks for: who waits for whom, and that nobody waits for himself.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "sim/experiment/traffic_table.h"

namespace lockstep {

// Where the `after` cells were written.
struct AfterPosition {
  std::uint32_t row = 0;
  int line = 0;
  int column = 0;
};
using TrafficPositions = std::vector<AfterPosition>;  // by ascending row

// Adds an error for every `after` that names a row which does not exist, and for one circle, named row by row. O(rows + `after`s).
void check_order(const TrafficTable& table, const TrafficPositions& positions, const std::string& file, Diagnostics& d);

// The rows that wait for each row, as flat lists.
class Successors {
 public:
  explicit Successors(const TrafficTable& table);
  [[nodiscard]] std::span<const std::uint32_t> of(std::size_t row) const {
    return {rows_.data() + begin_[row], begin_[row + 1] - begin_[row]};
  }

 private:
  std::vector<std::size_t> begin_;
  std::vector<std::uint32_t> rows_;
};

}  // namespace lockstep
