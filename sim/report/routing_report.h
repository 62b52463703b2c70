// SPDX-License-Identifier: Apache-2.0
// Renderings of a comparison of routings: a table for people, csv and json for programs with the same columns (docs/output.md).
#pragma once

#include <span>
#include <string>

#include "sim/experiment/routing_comparison.h"

namespace lockstep {

struct RoutingReport {
  std::string collective;  // "all_reduce"; empty: a list of flows
  std::int64_t count = 0;  // of GPUs, or of flows
  std::string cluster;
  std::string network;  // analytic | flow
  std::uint64_t first_seed = 0;
  int seeds = 1;
  std::span<const RoutingRow> rows;
  double wall_s = 0;
  std::int64_t peak_rss_bytes = 0;
};

[[nodiscard]] std::string to_table(const RoutingReport& r);
[[nodiscard]] std::string to_csv(const RoutingReport& r);
[[nodiscard]] std::string to_json(const RoutingReport& r);

}  // namespace lockstep
