// SPDX-License-Identifier: Apache-2.0
#include "sim/report/validation_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

std::string percent(double v) { return fmt::format("{:+.1f} %", 100 * v); }

Json statistics_json(const ErrorStatistics& s) {
  return {{"rows", s.rows},
          {"median_abs_error", s.median_abs_error},
          {"mean_abs_error", s.mean_abs_error},
          {"p90_abs_error", s.p90_abs_error},
          {"bias", s.bias}};
}

// Equal remarks of neighbouring rows are said once.
std::vector<std::pair<std::string, std::string>> remarks(const SuiteResult& r) {
  std::vector<std::pair<std::string, std::string>> out;  // rows, remark
  for (const Prediction& p : r.predictions) {
    if (p.remark.empty()) continue;
    if (!out.empty() && out.back().second == p.remark) {
      out.back().first += fmt::format(", {}", p.row);
    } else {
      out.emplace_back(std::to_string(p.row), p.remark);
    }
  }
  return out;
}

// How many rows were skipped for each reason, most frequent first.
std::vector<std::pair<std::string, std::size_t>> reasons(const SuiteResult& r) {
  std::map<std::string, std::size_t> counts;
  for (const SkippedRow& s : r.skipped) ++counts[s.reason];
  std::vector<std::pair<std::string, std::size_t>> out(counts.begin(), counts.end());
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

struct Row {
  std::string name;
  ErrorStatistics s;
};

std::vector<Row> statistic_rows(const SuiteResult& r) {
  std::vector<Row> rows;
  for (const std::string& source : sources(r)) rows.push_back({source, statistics(r, source)});
  rows.push_back({"all rows", statistics(r)});
  return rows;
}

}  // namespace

std::string to_table(const SuiteResult& r) {
  std::string out = fmt::format("Suite {}\nEligible: {}\n\n", r.suite, r.rule);
  out += fmt::format("{:<42}{:<46}{:>12}{:>12}{:>10}\n", "source", "what", "measured", "predicted", "error");
  for (const Prediction& p : r.predictions) {
    out += fmt::format("{:<42}{:<46}{:>12.4g}{:>12.4g}{:>10}\n", p.source + ":" + std::to_string(p.row), p.what, p.measured,
                       p.predicted, percent(p.error()));
  }
  out += fmt::format("\n{:<38}{:>6}{:>10}{:>10}{:>10}{:>10}\n", "source", "rows", "median", "mean", "p90", "bias");
  for (const Row& row : statistic_rows(r)) {
    out += fmt::format("{:<38}{:>6}{:>8.1f} %{:>8.1f} %{:>8.1f} %{:>10}\n", row.name, row.s.rows, 100 * row.s.median_abs_error,
                       100 * row.s.mean_abs_error, 100 * row.s.p90_abs_error, percent(row.s.bias));
  }
  for (bool is_first = true; const auto& [rows, remark] : remarks(r)) {
    out += fmt::format("{}{:<10} {}\n", is_first ? "\nrow\n" : "", rows, remark);
    is_first = false;
  }
  if (!r.skipped.empty()) out += fmt::format("\n{} rows skipped\n", r.skipped.size());
  for (const auto& [reason, count] : reasons(r)) out += fmt::format("{:>6}  {}\n", count, reason);
  return out;
}

std::string to_markdown(const SuiteResult& r) {
  std::string out =
      fmt::format("Eligible: {}. {} rows predicted, {} skipped.\n\n", r.rule, r.predictions.size(), r.skipped.size());
  out += "| source | what | measured | predicted | error |\n|---|---|---:|---:|---:|\n";
  for (const Prediction& p : r.predictions) {
    out += fmt::format("| {}:{} | {} | {:.4g} | {:.4g} | {} |\n", p.source, p.row, p.what, p.measured, p.predicted,
                       percent(p.error()));
  }
  out += "\n| source | rows | median | mean | 90th percentile | bias |\n|---|---:|---:|---:|---:|---:|\n";
  for (const Row& row : statistic_rows(r)) {
    out +=
        fmt::format("| {} | {} | {:.1f} % | {:.1f} % | {:.1f} % | {} |\n", row.name, row.s.rows, 100 * row.s.median_abs_error,
                    100 * row.s.mean_abs_error, 100 * row.s.p90_abs_error, percent(row.s.bias));
  }
  if (const auto list = remarks(r); !list.empty()) {
    out += "\n| rows | remark |\n|---|---|\n";
    for (const auto& [rows, remark] : list) out += fmt::format("| {} | {} |\n", rows, remark);
  }
  if (r.skipped.empty()) return out;
  out += "\n| skipped rows | reason |\n|---:|---|\n";
  for (const auto& [reason, count] : reasons(r)) out += fmt::format("| {} | {} |\n", count, reason);
  return out;
}

std::string to_csv(const SuiteResult& r) {
  std::string out = "source,row,what,metric,measured,predicted,error\n";
  for (const Prediction& p : r.predictions) {
    out += fmt::format("{},{},\"{}\",{},{},{},{}\n", p.source, p.row, p.what, p.metric, p.measured, p.predicted, p.error());
  }
  return out;
}

std::string to_json(const SuiteResult& r) {
  Json j;
  j["suite"] = r.suite;
  j["rule"] = r.rule;
  const Json all = statistics_json(statistics(r));
  for (const auto& [key, value] : all.items()) j[key] = value;
  j["skipped"] = Json::array();
  for (const SkippedRow& s : r.skipped) j["skipped"].push_back({{"source", s.source}, {"row", s.row}, {"reason", s.reason}});
  for (const std::string& source : sources(r)) j["sources"][source] = statistics_json(statistics(r, source));
  j["predictions"] = Json::array();
  for (const Prediction& p : r.predictions) {
    j["predictions"].push_back({{"source", p.source},
                                {"row", p.row},
                                {"what", p.what},
                                {"metric", p.metric},
                                {"measured", p.measured},
                                {"predicted", p.predicted},
                                {"error", p.error()}});
    if (!p.remark.empty()) j["predictions"].back()["remark"] = p.remark;
  }
  return j.dump(2) + "\n";
}

}  // namespace lockstep
