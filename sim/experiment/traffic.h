// SPDX-License-Identifier: Apache-2.0
// Runs a list of flows on a network: each starts at its time or when the rows it waits for have completed, whichever is later.
// Fails rather than lose one: SimulationError names what never ends.
//
// Where faults come and go, routes are those of the present state of the network, and flows under way change over with it.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/experiment/detours.h"
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
  std::vector<FaultEffect> faults = {};
  double solver_cpu_s = 0;  // CPU time of the simulation itself, without reading and routing
};

// The routes of all rows in every state of the network.
class TrafficDetours {
 public:
  // `detours` must outlive it. A copy of all routes for every state.
  TrafficDetours(const TrafficTable& table, const Detours& detours);
  [[nodiscard]] FaultClock& clock() { return clock_; }
  // In the present state; `usual` are those of the first.
  [[nodiscard]] const TrafficRoutes& present(const TrafficRoutes& usual) const {
    return clock_.state() == 0 ? usual : routes_[clock_.state() - 1];
  }

 private:
  std::vector<TrafficRoutes> routes_;
  FaultClock clock_;
};

// `network` is fresh and knows the links of `routes`. PRE: `after` of the table has been checked. link_name: for messages.
[[nodiscard]] TrafficResult run_traffic(const TrafficTable& table, const TrafficRoutes& routes, NetworkModel& network,
                                        TrafficDetours* detours = nullptr, const LinkNames& link_name = number_of);

}  // namespace lockstep
