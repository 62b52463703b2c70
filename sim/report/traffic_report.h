// SPDX-License-Identifier: Apache-2.0
// Renderings of a traffic run; the contract is in docs/output.md. The CSV has one row per flow in the order of the input, times with 12
// decimals, which is exact: simulated time is whole picoseconds.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "sim/experiment/traffic.h"

namespace lockstep {

struct TrafficReport {
  std::string cluster;
  std::string network;  // analytic | flow
  std::string version;
  std::vector<std::string> set;  // --set of the command line, in order
  std::uint64_t seed = 0;
  std::int64_t packet_hops = 0;  // of the packet model; fluids have none
  double wall_s = 0;
  std::int64_t peak_rss_bytes = 0;
  std::vector<FaultSpec> faults = {};  // of the cluster
};

// src,dst,bytes,start_s,end_s,fct_s
void write_traffic_csv(const TrafficTable& table, const TrafficResult& result, std::ostream& out);
[[nodiscard]] std::string to_json(const TrafficReport& report, const TrafficResult& result);

}  // namespace lockstep
