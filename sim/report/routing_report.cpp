// SPDX-License-Identifier: Apache-2.0
#include "sim/report/routing_report.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

// Five digits, in the unit that suits.
std::string duration(double s) {
  if (s >= 1) return fmt::format("{:.3f} s", s);
  if (s >= 1e-3) return fmt::format("{:.3f} ms", s * 1e3);
  return fmt::format("{:.2f} us", s * 1e6);
}

bool is_collective(const RoutingReport& r) { return !r.collective.empty(); }

nlohmann::ordered_json columns_of(const RoutingReport& r, const RoutingRow& row) {
  nlohmann::ordered_json j;
  if (is_collective(r)) j["size_bytes"] = row.size_bytes;
  j["routing"] = row.routing;
  j["seeds"] = row.seeds;
  if (is_collective(r)) {
    j["algorithm"] = row.algorithm;
    j["time_s"] = row.time_s;
    j["worst_time_s"] = row.worst_time_s;
    j["busbw_gb_per_s"] = row.busbw_gb_per_s;
    j["worst_busbw_gb_per_s"] = row.worst_busbw_gb_per_s;
  } else {
    j["makespan_s"] = row.time_s;
    j["worst_makespan_s"] = row.worst_time_s;
    j["mean_fct_s"] = row.mean_fct_s;
    j["slowest_fct_s"] = row.slowest_fct_s;
  }
  j["collision_factor"] = row.collision ? nlohmann::ordered_json(*row.collision) : nlohmann::ordered_json(nullptr);
  j["loss_against_spray"] = row.loss;
  return j;
}

}  // namespace

std::string to_table(const RoutingReport& r) {
  std::string out =
      is_collective(r) ? fmt::format("# {} on {} GPUs", r.collective, r.count) : fmt::format("# {} flows", r.count);
  out += fmt::format(" of {}, network model {}, ", r.cluster, r.network);
  out += r.seeds == 1 ? fmt::format("hash seed {}\n", r.first_seed)
                      : fmt::format("medians over hash seeds {} to {} where paths are hashed\n", r.first_seed,
                                    r.first_seed + static_cast<std::uint64_t>(r.seeds) - 1);
  out +=
      "# hottest link: load of the busiest link between switches over what spray puts there; loss: time over that under "
      "spray\n";
  out += fmt::format("# {:<13}", "routing");
  if (is_collective(r)) out += fmt::format("{:>14}  {:<17}", "size (B)", "algorithm");
  out += fmt::format("{:>12}{:>12}", is_collective(r) ? "time" : "makespan", "worst seed");
  out += is_collective(r) ? fmt::format("{:>14}{:>12}", "busbw (GB/s)", "worst seed")
                          : fmt::format("{:>12}{:>14}", "mean flow", "slowest flow");
  out += fmt::format("{:>14}{:>10}\n", "hottest link", "loss");
  for (const RoutingRow& row : r.rows) {
    out += fmt::format("  {:<13}", row.routing);
    if (is_collective(r)) out += fmt::format("{:>14}  {:<17}", row.size_bytes, row.algorithm);
    out += fmt::format("{:>12}{:>12}", duration(row.time_s), duration(row.worst_time_s));
    out += is_collective(r) ? fmt::format("{:>14.2f}{:>12.2f}", row.busbw_gb_per_s, row.worst_busbw_gb_per_s)
                            : fmt::format("{:>12}{:>14}", duration(row.mean_fct_s), duration(row.slowest_fct_s));
    out += fmt::format("{:>14}{:>8.1f} %\n", row.collision ? fmt::format("{:.2f} x", *row.collision) : "-", 100 * row.loss);
  }
  return out;
}

std::string to_csv(const RoutingReport& r) {
  std::string out;
  for (const RoutingRow& row : r.rows) {
    const nlohmann::ordered_json columns = columns_of(r, row);
    std::string names;
    std::string values;
    for (const auto& [name, value] : columns.items()) {
      const char* comma = names.empty() ? "" : ",";
      names += comma + name;
      values += comma;
      if (value.is_string()) values += value.get<std::string>();
      if (value.is_number()) values += value.is_number_float() ? fmt::format("{}", value.get<double>()) : value.dump();
    }
    if (out.empty()) out = names + "\n";
    out += values + "\n";
  }
  return out;
}

std::string to_json(const RoutingReport& r) {
  nlohmann::ordered_json j;
  if (is_collective(r)) j["collective"] = r.collective;
  j["cluster"] = r.cluster;
  j[is_collective(r) ? "gpus" : "flows"] = r.count;
  j["network"] = r.network;
  j["seed"] = r.first_seed;
  j["seeds"] = r.seeds;
  j["rows"] = nlohmann::ordered_json::array();
  for (const RoutingRow& row : r.rows) j["rows"].push_back(columns_of(r, row));
  j["measured"] = {{"wall_s", r.wall_s}, {"peak_rss_bytes", r.peak_rss_bytes}};
  return j.dump(2) + "\n";
}

}  // namespace lockstep
