// SPDX-License-Identifier: Apache-2.0
// Runs a list of flows on a network: each starts at its time or when the rows it waits for have completed, whichever is later.
// Fails rather than lose one: SimulationError names what never ends.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/experiment/traffic_table.h"
#include "sim/network/network_model.h"
#include "topology/routing/router.h"

namespace lockstep {

// The routes of all rows, in one array. Rows that must take the same way share it.
class TrafficRoutes {
 public:
  // Hashing routes by row: flow i has the key i.
  TrafficRoutes(const TrafficTable& table, const Router& router);
  [[nodiscard]] std::span<const LinkShare> shares(std::size_t row) const {
    const Span& s = spans_[of_row_[row]];
    return {shares_.data() + s.begin, s.count};
  }
  [[nodiscard]] Duration latency(std::size_t row) const { return spans_[of_row_[row]].latency; }
  [[nodiscard]] std::int64_t weight() const { return weight_; }

 private:
  struct Span {
    std::size_t begin = 0;
    std::uint32_t count = 0;
    Duration latency;
  };
  std::uint32_t append(const Route& route);

  std::int64_t weight_;
  std::vector<LinkShare> shares_;
  std::vector<Span> spans_;
  std::vector<std::uint32_t> of_row_;
};

struct TrafficResult {
  std::vector<Instant> start;  // by row: when it really started
  std::vector<Instant> end;
  Instant makespan;               // the last end
  std::int64_t events = 0;        // starts and completions
  std::uint64_t fingerprint = 0;  // order-free: sum over completions of hash(row, bytes, tick)
  double solver_cpu_s = 0;        // CPU time of the simulation itself, without reading and routing
};

// `network` is fresh and knows the links of `routes`. PRE: `after` of the table has been checked.
[[nodiscard]] TrafficResult run_traffic(const TrafficTable& table, const TrafficRoutes& routes, NetworkModel& network);

}  // namespace lockstep
