// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/traffic_order.h"

#include <fmt/core.h>

#include <algorithm>

namespace lockstep {
namespace {

Position position_of(std::uint32_t row, const TrafficPositions& positions, const std::string& file) {
  const auto at = std::lower_bound(positions.begin(), positions.end(), row,
                                   [](const AfterPosition& p, std::uint32_t r) { return p.row < r; });
  if (at == positions.end() || at->row != row) return {file, 0, 0};
  return {file, at->line, at->column};
}

// How many predecessors each row still waits for when everything that can complete has; all zero unless there is a circle.
std::vector<std::size_t> waits_left(const TrafficTable& table) {
  const Successors successors(table);
  std::vector<std::size_t> waits(table.size());
  std::vector<std::uint32_t> free;
  for (std::size_t row = 0; row < table.size(); ++row) {
    waits[row] = table.after(row).size();
    if (waits[row] == 0) free.push_back(static_cast<std::uint32_t>(row));
  }
  while (!free.empty()) {
    const std::uint32_t row = free.back();
    free.pop_back();
    for (const std::uint32_t next : successors.of(row)) {
      if (--waits[next] == 0) free.push_back(next);
    }
  }
  return waits;
}

// From any row that waits, the first predecessor that waits as well, until a row comes again.
std::vector<std::uint32_t> circle_of(const TrafficTable& table, const std::vector<std::size_t>& waits, std::uint32_t from) {
  std::vector<bool> is_seen(table.size(), false);
  std::vector<std::uint32_t> chain;
  for (std::uint32_t row = from; !is_seen[row];) {
    is_seen[row] = true;
    chain.push_back(row);
    const auto before = table.after(row);
    row = *std::find_if(before.begin(), before.end(), [&](std::uint32_t r) { return waits[r] > 0; });
    if (is_seen[row]) chain.erase(chain.begin(), std::find(chain.begin(), chain.end(), row));
  }
  std::rotate(chain.begin(), std::min_element(chain.begin(), chain.end()), chain.end());
  return chain;
}

}  // namespace

void check_order(const TrafficTable& table, const TrafficPositions& positions, const std::string& file, Diagnostics& d) {
  bool is_complete = true;
  for (const AfterPosition& p : positions) {
    for (const std::uint32_t row : table.after(p.row)) {
      if (row < table.size()) continue;
      d.error({file, p.line, p.column}, "after", fmt::format("there is no row {}", row),
              fmt::format("there are {} rows, counted from 0 without the header", table.size()));
      is_complete = false;
      if (d.error_count() >= kMostTrafficErrors) return;
    }
  }
  if (!is_complete || positions.empty()) return;

  const std::vector<std::size_t> waits = waits_left(table);
  const auto stuck = std::find_if(waits.begin(), waits.end(), [](std::size_t n) { return n > 0; });
  if (stuck == waits.end()) return;
  const std::vector<std::uint32_t> circle = circle_of(table, waits, static_cast<std::uint32_t>(stuck - waits.begin()));
  constexpr std::size_t kMostNamed = 10;
  std::string names;
  for (std::size_t i = 0; i < std::min(circle.size(), kMostNamed); ++i) names += fmt::format("{} after ", circle[i]);
  if (circle.size() > kMostNamed) names += "... after ";
  d.error(position_of(circle.front(), positions, file), "after",
          fmt::format("{} rows wait for each other: row {}{}", circle.size(), names, circle.front()),
          "none of them could ever start");
}

Successors::Successors(const TrafficTable& table) : begin_(table.size() + 1, 0), rows_(table.after_rows.size()) {
  for (const std::uint32_t before : table.after_rows) ++begin_[before + 1];
  for (std::size_t row = 0; row < table.size(); ++row) begin_[row + 1] += begin_[row];
  std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
  for (std::size_t row = 0; row < table.size(); ++row) {
    for (const std::uint32_t before : table.after(row)) rows_[next[before]++] = static_cast<std::uint32_t>(row);
  }
}

}  // namespace lockstep
