// SPDX-License-Identifier: Apache-2.0
#include "sim/report/size_statistics_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace lockstep {
namespace {

// 10^k of bytes; the decade of 1 to 10 MB begins within 5 % of 1 MiB.
int decade_of(std::int64_t bytes) {
  int k = 0;
  for (; bytes >= 10; bytes /= 10) ++k;
  return k;
}

std::string decade_name(int k) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  const int power = k % 3 == 0 ? 1 : k % 3 == 1 ? 10 : 100;
  const char* unit = kUnits[k / 3];
  if (k % 3 == 2) return fmt::format("{} {} to 1 {}", power, unit, kUnits[k / 3 + 1]);
  return fmt::format("{} to {} {}", power, power * 10, unit);
}

std::string percent(double v) { return fmt::format("{:.1f} %", 100 * v); }

// The cells behind the name.
std::vector<std::string> cells(const SizeStatistics& s) {
  std::vector<std::string> out(7);
  if (s.large.rows > 0) {
    out[0] = std::to_string(s.large.rows);
    out[1] = percent(s.large.median_abs_error);
    out[2] = percent(s.large.p90_abs_error);
    out[3] = fmt::format("{:+.1f} %", 100 * s.large.bias);
  }
  if (s.small_rows > 0) {
    out[4] = std::to_string(s.small_rows);
    out[5] = percent(s.within_two_share());
    out[6] = fmt::format("{:.2f}", s.small_median_ratio);
  }
  return out;
}

struct Section {
  const char* title;
  const std::vector<SizeGroup>* groups;
};

std::vector<Section> sections(const SizeGroups& g) {
  return {{"published by", &g.publishers}, {"table", &g.tables}, {"size", &g.decades}};
}

}  // namespace

bool has_sizes(const SuiteResult& r) {
  return !r.predictions.empty() &&
         std::all_of(r.predictions.begin(), r.predictions.end(), [](const Prediction& p) { return p.size_bytes > 0; });
}

SizeGroups size_groups(const SuiteResult& r) {
  SizeGroups groups;
  const auto add = [&](std::vector<SizeGroup>& list, const std::string& name, auto key, const auto& value) {
    const auto same = [&](const Prediction& p) { return key(p) == value; };
    list.push_back({name, size_statistics(r, same)});
  };
  const auto is_listed = [](const std::vector<SizeGroup>& list, const std::string& name) {
    return std::any_of(list.begin(), list.end(), [&](const SizeGroup& g) { return g.name == name; });
  };
  const auto publisher = [](const Prediction& p) { return p.publisher; };
  const auto table = [](const Prediction& p) { return p.source; };
  const auto decade = [](const Prediction& p) { return decade_of(p.size_bytes); };
  int last_decade = 0;
  for (const Prediction& p : r.predictions) {
    if (!is_listed(groups.publishers, p.publisher)) add(groups.publishers, p.publisher, publisher, p.publisher);
    if (!is_listed(groups.tables, p.source)) add(groups.tables, p.source, table, p.source);
    last_decade = std::max(last_decade, decade(p));
  }
  for (int k = 0; k <= last_decade; ++k) {
    add(groups.decades, decade_name(k), decade, k);
    const SizeStatistics& s = groups.decades.back().s;
    if (s.large.rows + s.small_rows == 0) groups.decades.pop_back();
  }
  groups.all = size_statistics(r, [](const Prediction&) { return true; });
  return groups;
}

std::string to_table(const SizeGroups& groups) {
  const auto line = [](const std::string& name, const std::vector<std::string>& c) {
    return fmt::format("{:<40}{:>6}{:>10}{:>10}{:>11}{:>9}{:>10}{:>8}\n", name, c[0], c[1], c[2], c[3], c[4], c[5], c[6]);
  };
  std::string out = fmt::format("{:<40}{:<37}{:>27}\n", "", "  from 1 MiB up: error of busbw", "below 1 MiB: time");
  for (const Section& section : sections(groups)) {
    out += line(section.title, {"rows", "median", "p90", "bias", "rows", "within 2", "ratio"});
    for (const SizeGroup& g : *section.groups) out += line(g.name, cells(g.s));
    out += '\n';
  }
  return out + line("all rows", cells(groups.all));
}

std::string to_markdown(const SizeGroups& groups) {
  std::string out;
  const auto line = [&out](const std::string& name, const std::vector<std::string>& c) {
    out += fmt::format("| {} |", name);
    for (const std::string& cell : c) out += fmt::format(" {} |", cell);
    out += '\n';
  };
  for (const Section& section : sections(groups)) {
    line(section.title,
         {"rows from 1 MiB", "median", "90th percentile", "bias", "rows below", "within a factor of 2", "ratio"});
    out += "|---|---:|---:|---:|---:|---:|---:|---:|\n";
    for (const SizeGroup& g : *section.groups) line(g.name, cells(g.s));
    line("all rows", cells(groups.all));
    out += '\n';
  }
  return out;
}

}  // namespace lockstep
