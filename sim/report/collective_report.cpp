// SPDX-License-Identifier: Apache-2.0
#include "sim/report/collective_report.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

constexpr std::int64_t kElementBytes = 4;  // nccl-tests' default type, float

bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter || kind == CollectiveKind::kReduce;
}
bool is_rooted(CollectiveKind kind) { return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce; }

// nccl-tests counts elements per rank of the smaller buffer.
std::int64_t count_of(CollectiveKind kind, std::int64_t size, std::int64_t ranks) {
  const bool is_split = kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter;
  return size / kElementBytes / (is_split ? ranks : 1);
}

// "# ring, LL: 8 B to 4096 B": which algorithm and protocol ran, as a comment, for the table has no column for it.
std::string algorithms_by_size(const CollectiveReport& r) {
  std::string out;
  for (std::size_t first = 0, i = 1; i <= r.rows.size(); ++i) {
    const CollectiveRow& a = r.rows[first];
    if (i < r.rows.size() && r.rows[i].algorithm == a.algorithm && r.rows[i].protocol == a.protocol) continue;
    out += fmt::format("# {}, {}, {} channel{}: {} B", a.algorithm, a.protocol, a.channels, a.channels == 1 ? "" : "s",
                       a.size_bytes);
    if (i - first > 1) out += fmt::format(" to {} B", r.rows[i - 1].size_bytes);
    out += "\n";
    first = i;
  }
  return out;
}

// Times in microseconds with about four digits, as nccl-tests prints them.
std::string micros(double us) {
  if (us >= 10000) return fmt::format("{:.0f}", us);
  if (us >= 100) return fmt::format("{:.1f}", us);
  return fmt::format("{:.2f}", us);
}

// For a row what could have run, with the times that decided; comments, like what ran.
std::string explanation(const CollectiveRow& row) {
  if (row.candidates.empty()) return "";
  std::string out = fmt::format("#\n# {} B: undisturbed times in us\n", row.size_bytes);
  out += fmt::format("#   {:<16}  {:<8}  {:>8}  {:>9}  {:>9}  {:>9}\n", "algorithm", "protocol", "channels", "latency",
                     "transfer", "time");
  for (const RowCandidate& r : row.candidates) {
    const Candidate& c = r.candidate;
    const std::string_view note = r.is_chosen ? "chosen" : std::string_view(c.exclusion);
    if (!c.is_possible) {
      out += fmt::format("#   {:<16}  {:<8}  {:>8}  {:>9}  {:>9}  {:>9}  {}\n", to_text(c.algorithm), "-", "-", "-", "-", "-",
                         note);
      continue;
    }
    const std::string line =
        fmt::format("#   {:<16}  {:<8}  {:>8}  {:>9}  {:>9}  {:>9}", to_text(c.algorithm), to_text(c.protocol), c.channels,
                    micros(c.latency_s * 1e6), micros(c.transfer_s * 1e6), micros((c.latency_s + c.transfer_s) * 1e6));
    out += note.empty() ? line + "\n" : fmt::format("{}  {}\n", line, note);
  }
  return out;
}

nlohmann::ordered_json json_of(const std::vector<RowCandidate>& candidates) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const RowCandidate& r : candidates) {
    const Candidate& c = r.candidate;
    nlohmann::ordered_json j = {{"algorithm", to_text(c.algorithm)}};
    if (c.is_possible) {
      j["protocol"] = to_text(c.protocol);
      j["channels"] = c.channels;
      j["latency_s"] = c.latency_s;
      j["transfer_s"] = c.transfer_s;
      j["time_s"] = c.latency_s + c.transfer_s;
    }
    j["chosen"] = r.is_chosen;
    if (!r.is_chosen && !c.exclusion.empty()) j["excluded"] = c.exclusion;
    out.push_back(std::move(j));
  }
  return out;
}

}  // namespace

std::string to_nccl_table(const CollectiveReport& r) {
  std::string out =
      fmt::format("# lockstep {} on {} GPUs of {}, network model {}\n", to_text(r.kind), r.gpus, r.cluster, r.network);
  out += "#\n";
  out +=
      "#                                                              out-of-place                       in-place          \n";
  out +=
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n";
  out +=
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n";
  double sum = 0;
  for (const CollectiveRow& row : r.rows) {
    const std::string half =
        fmt::format("  {:>7}  {:>6.2f}  {:>6.2f}  {:>5}", micros(row.time_s * 1e6), row.algbw_gb_per_s, row.busbw_gb_per_s, 0);
    out += fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", row.size_bytes, count_of(r.kind, row.size_bytes, r.gpus),
                       "float", reduces(r.kind) ? "sum" : "none", is_rooted(r.kind) ? 0 : -1, half, half);
    sum += row.busbw_gb_per_s;
  }
  out += algorithms_by_size(r);
  for (const CollectiveRow& row : r.rows) out += explanation(row);
  out += "# Out of bounds values : 0 OK\n";
  out += fmt::format("# Avg bus bandwidth    : {:.6g} \n#\n", r.rows.empty() ? 0.0 : sum / static_cast<double>(r.rows.size()));
  return out;
}

std::string to_csv(const CollectiveReport& r) {
  std::string out = "size_bytes,time_s,algbw_gb_per_s,busbw_gb_per_s,algorithm,protocol,channels\n";
  for (const CollectiveRow& row : r.rows) {
    out += fmt::format("{},{},{},{},{},{},{}\n", row.size_bytes, row.time_s, row.algbw_gb_per_s, row.busbw_gb_per_s,
                       row.algorithm, row.protocol, row.channels);
  }
  return out;
}

std::string to_json(const CollectiveReport& r) {
  nlohmann::ordered_json j;
  j["collective"] = to_text(r.kind);
  j["cluster"] = r.cluster;
  j["gpus"] = r.gpus;
  j["network"] = r.network;
  j["version"] = r.version;
  j["seed"] = r.seed;
  if (!r.set.empty()) j["set"] = r.set;
  for (const auto& [option, value] : r.asked) j["asked"][option] = value;
  j["rows"] = nlohmann::ordered_json::array();
  for (const CollectiveRow& row : r.rows) {
    j["rows"].push_back({{"size_bytes", row.size_bytes},
                         {"time_s", row.time_s},
                         {"algbw_gb_per_s", row.algbw_gb_per_s},
                         {"busbw_gb_per_s", row.busbw_gb_per_s},
                         {"algorithm", row.algorithm},
                         {"protocol", row.protocol},
                         {"channels", row.channels}});
    if (!row.candidates.empty()) j["rows"].back()["candidates"] = json_of(row.candidates);
  }
  j["measured"] = {{"wall_s", r.wall_s}, {"peak_rss_bytes", r.peak_rss_bytes}};
  return j.dump(2) + "\n";
}

}  // namespace lockstep
