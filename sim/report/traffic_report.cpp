// SPDX-License-Identifier: Apache-2.0
#include "sim/report/traffic_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

namespace lockstep {
namespace {

void append_seconds(fmt::memory_buffer& out, std::int64_t picos) {
  fmt::format_to(std::back_inserter(out), ",{}.{:012}", picos / kPicosPerSecond, picos % kPicosPerSecond);
}

}  // namespace

void write_traffic_csv(const TrafficTable& table, const TrafficResult& result, std::ostream& out) {
  constexpr std::size_t kChunk = 1 << 16;
  fmt::memory_buffer buffer;
  const auto flush = [&] {
    out.write(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    buffer.clear();
  };
  fmt::format_to(std::back_inserter(buffer), "src,dst,bytes,start_s,end_s,fct_s\n");
  for (std::size_t row = 0; row < table.size(); ++row) {
    fmt::format_to(std::back_inserter(buffer), "{},{},{}", table.src[row].value(), table.dst[row].value(), table.bytes[row]);
    append_seconds(buffer, result.start[row].picos());
    append_seconds(buffer, result.end[row].picos());
    append_seconds(buffer, (result.end[row] - result.start[row]).picos());
    buffer.push_back('\n');
    if (buffer.size() > kChunk) flush();
  }
  flush();
}

std::string to_json(const TrafficReport& report, const TrafficResult& result) {
  nlohmann::ordered_json j;
  j["cluster"] = report.cluster;
  j["network"] = report.network;
  j["seed"] = report.seed;
  j["version"] = report.version;
  if (!report.set.empty()) j["set"] = report.set;
  j["makespan_s"] = result.makespan.seconds();
  j["flows"] = result.end.size();
  j["events"] = result.events;
  j["packet_hops"] = report.packet_hops;
  j["fingerprint"] = fmt::format("{:016x}", result.fingerprint);
  for (const FaultEffect& e : result.faults) {
    const FaultSpec& f = report.faults[e.fault];
    j["faults"].push_back({{"what", to_text(f)},
                           {"when", time_text(f)},
                           {"first_s", e.first.seconds()},
                           {"times", e.times},
                           {"rerouted", e.rerouted}});
  }
  j["measured"] = {{"wall_s", report.wall_s}, {"solver_cpu_s", result.solver_cpu_s}, {"peak_rss_bytes", report.peak_rss_bytes}};
  return j.dump(2) + "\n";
}

}  // namespace lockstep
