// SPDX-License-Identifier: Apache-2.0
// A list of flows as the user gives it: src,dst,bytes[,start_s][,path][,after], one row a flow, columns by name in any order.
//
//   src, dst   endpoint numbers of the cluster, different from each other
//   bytes      a whole number from 0
//   start_s    not before this time; decimal seconds, whole picoseconds; empty: 0
//   path       index among the equal-cost paths, taken modulo their number; empty or -1: routing decides
//   after      rows (from 0, separated by ;) that must complete first; they may stand further down, but not in a circle
//
// Read as a stream, kept in flat arrays: about 30 bytes a row. There is no limit on the number of rows short of 2^32.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/time.h"
#include "topology/network.h"

namespace lockstep {

struct TrafficTable {
  static constexpr std::int64_t kRouted = -1;  // path: routing decides

  [[nodiscard]] std::size_t size() const { return bytes.size(); }
  // Rows that must complete before `row` starts.
  [[nodiscard]] std::span<const std::uint32_t> after(std::size_t row) const {
    return {after_rows.data() + after_begin[row], after_begin[row + 1] - after_begin[row]};
  }
  void add(EndpointId from, EndpointId to, std::int64_t size, Duration start = {}, std::int64_t fixed_path = kRouted,
           std::span<const std::uint32_t> predecessors = {});

  std::vector<EndpointId> src;
  std::vector<EndpointId> dst;
  std::vector<std::int64_t> bytes;
  std::vector<Duration> not_before;
  std::vector<std::int64_t> path;
  std::vector<std::size_t> after_begin = {0};  // size() + 1 entries into after_rows
  std::vector<std::uint32_t> after_rows;
};

// Everything wrong is added to `d` with its position; after kMostTrafficErrors errors reading stops. `name` is the file's name in
// messages, `endpoints` how many the cluster has.
inline constexpr std::size_t kMostTrafficErrors = 100;
[[nodiscard]] TrafficTable read_traffic(std::istream& in, const std::string& name, std::size_t endpoints, Diagnostics& d);

}  // namespace lockstep
