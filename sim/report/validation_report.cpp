// SPDX-License-Identifier: Apache-2.0
#include "sim/report/validation_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "sim/report/size_statistics_report.h"

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

// Of neighbouring rows of a source with one remark.
struct Remark {
  std::string source;
  std::string rows;
  std::string text;
};

std::vector<Remark> remarks(const SuiteResult& r) {
  std::vector<Remark> out;
  const auto add = [&out](const std::string& source, int row, const std::string& text) {
    if (text.empty()) return;
    if (!out.empty() && out.back().text == text && out.back().source == source) {
      out.back().rows += fmt::format(", {}", row);
    } else {
      out.push_back({source, std::to_string(row), text});
    }
  };
  for (const Prediction& p : r.predictions) add(p.source, p.row, p.remark);
  for (const SignTest& s : r.signs) add(s.source, s.row, s.remark);
  return out;
}

struct Reason {
  std::string source;
  std::string reason;
  std::size_t rows = 0;
};

// How many rows of each source were skipped and why, in order of first appearance.
std::vector<Reason> reasons(const SuiteResult& r) {
  std::vector<Reason> out;
  std::map<std::pair<std::string, std::string>, std::size_t> index;
  for (const SkippedRow& s : r.skipped) {
    const auto [it, is_new] = index.try_emplace({s.source, s.reason}, out.size());
    if (is_new) out.push_back({s.source, s.reason, 0});
    ++out[it->second].rows;
  }
  return out;
}

// ", 12 of them eligible: ..."
std::string eligible_text(const SuiteResult& r) {
  const auto eligible = std::count_if(r.skipped.begin(), r.skipped.end(), [](const SkippedRow& s) { return s.is_eligible; });
  if (eligible == 0) return {};
  return fmt::format(", {} of them eligible; {} eligible in all", eligible,
                     static_cast<std::size_t>(eligible) + r.predictions.size());
}

// More rows than anyone reads: people see the worst, programs see all.
constexpr std::size_t kMostRowsShown = 100;
constexpr std::size_t kWorstShown = 20;

// The rows that a rendering for people lists: all, or those with the largest factor between prediction and measurement.
std::vector<Prediction> shown(const SuiteResult& r) {
  if (r.predictions.size() <= kMostRowsShown) return r.predictions;
  std::vector<Prediction> rows = r.predictions;
  const auto factor = [](const Prediction& p) { return std::max(p.predicted / p.measured, p.measured / p.predicted); };
  std::stable_sort(rows.begin(), rows.end(), [&](const Prediction& a, const Prediction& b) { return factor(a) > factor(b); });
  rows.resize(kWorstShown);
  return rows;
}

std::string place(const std::string& source, int row) { return fmt::format("{}:{}", source, row); }

std::string signs_table(const SuiteResult& r) {
  if (r.signs.empty()) return {};
  std::size_t source = 40;
  std::size_t what = 40;
  for (const SignTest& s : r.signs) {
    source = std::max(source, place(s.source, s.row).size());
    what = std::max(what, s.what.size());
  }
  const auto line = [&](const std::string& from, const std::string& text, const std::string& measured,
                        const std::string& expected, const std::string& predicted) {
    return fmt::format("{:<{}}{:<{}}{:>14}{:>14}{:>12}", from, source + 2, text, what + 2, measured, expected, predicted);
  };
  std::string out = "\n" + line("sign test", "what", "measured", "expected", "predicted") + "\n";
  for (const SignTest& s : r.signs) {
    out += line(place(s.source, s.row), s.what, s.measured, s.expected, fmt::format("{:.4g}", s.predicted));
    out += s.holds ? "\n" : "  DOES NOT HOLD\n";
  }
  return out;
}

std::string signs_markdown(const SuiteResult& r) {
  if (r.signs.empty()) return {};
  std::string out = "\n| sign test | what | measured | expected | predicted | holds |\n|---|---|---:|---:|---:|---|\n";
  for (const SignTest& s : r.signs) {
    out += fmt::format("| {}:{} | {} | {} | {} | {:.4g} | {} |\n", s.source, s.row, s.what, s.measured, s.expected, s.predicted,
                       s.holds ? "yes" : "NO");
  }
  return out;
}

Json sign_json(const SignTest& s) {
  Json j = {{"source", s.source},       {"row", s.row},    {"what", s.what}, {"metric", s.metric}, {"expected", s.expected},
            {"predicted", s.predicted}, {"holds", s.holds}};
  if (!s.measured.empty()) j["measured"] = s.measured;
  if (!s.remark.empty()) j["remark"] = s.remark;
  return j;
}

std::string limit_text(const Limit& l) {
  return fmt::format("{}: {:.1f} % {} {} {:.1f} %", l.what, 100 * l.found, l.holds() ? "is" : "IS NOT",
                     l.is_least ? "at least" : "at most", 100 * l.asked);
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

bool has_sweeps(const SuiteResult& r) {
  return std::any_of(r.predictions.begin(), r.predictions.end(), [](const Prediction& p) { return !p.sweep.empty(); });
}

std::string correlation(const SuiteResult& r, const std::string& source, std::string Prediction::*group) {
  const std::optional<double> rho = spearman(r, source, group);
  return rho ? fmt::format("{:.2f}", *rho) : std::string("-");
}

std::string headline_text(const SuiteResult& r) {
  const Headline h = headline(r);
  if (h.sources == 0) return fmt::format("no counted source has {} rows", kLeastRows);
  return fmt::format("average over the {} counted sources of at least {} rows: median {:.1f} %, mean {:.1f} %", h.sources,
                     kLeastRows, 100 * h.median_abs_error, 100 * h.mean_abs_error);
}

std::string statistics_table(const SuiteResult& r) {
  const bool ranks = has_sweeps(r);
  std::string out = fmt::format("\n{:<38}{:>6}{:>10}{:>10}{:>10}{:>10}{}\n", "source", "rows", "median", "mean", "p90", "bias",
                                ranks ? "  spearman  of plans" : "");
  for (const Row& row : statistic_rows(r)) {
    out += fmt::format("{:<38}{:>6}{:>8.1f} %{:>8.1f} %{:>8.1f} %{:>10}", row.name, row.s.rows, 100 * row.s.median_abs_error,
                       100 * row.s.mean_abs_error, 100 * row.s.p90_abs_error, percent(row.s.bias));
    if (ranks) {
      out += fmt::format("{:>10}{:>10}", correlation(r, row.name, &Prediction::sweep),
                         correlation(r, row.name, &Prediction::plans));
    }
    out += is_counted(r, row.name) ? "\n" : "  not counted\n";
  }
  if (ranks) out += "\n" + headline_text(r) + "\n";
  return out;
}

std::string statistics_markdown(const SuiteResult& r) {
  const bool ranks = has_sweeps(r);
  std::string out = "| source | rows | median | mean | 90th percentile | bias |";
  out += ranks ? " Spearman in sweeps | of plans |\n|---|---:|---:|---:|---:|---:|---:|---:|\n"
               : "\n|---|---:|---:|---:|---:|---:|\n";
  for (const Row& row : statistic_rows(r)) {
    out += fmt::format("| {}{} | {} | {:.1f} % | {:.1f} % | {:.1f} % | {} |", row.name,
                       is_counted(r, row.name) ? "" : " (not counted)", row.s.rows, 100 * row.s.median_abs_error,
                       100 * row.s.mean_abs_error, 100 * row.s.p90_abs_error, percent(row.s.bias));
    out += ranks ? fmt::format(" {} | {} |\n", correlation(r, row.name, &Prediction::sweep),
                               correlation(r, row.name, &Prediction::plans))
                 : "\n";
  }
  if (ranks) out += "\n" + headline_text(r) + ".\n";
  return out;
}

Json size_statistics_json(const SizeStatistics& s) {
  Json small = {{"rows", s.small_rows}};
  if (s.small_rows > 0) {
    small["within_factor_2"] = s.within_two_share();
    small["median_ratio"] = s.small_median_ratio;
  }
  return {{"from_1_mib", statistics_json(s.large)}, {"below_1_mib", small}};
}

// Adds the statistics of sizes to the object of the suite.
void add_sizes(const SuiteResult& r, Json& j) {
  const SizeGroups groups = size_groups(r);
  const Json all = size_statistics_json(groups.all);
  for (const auto& [key, value] : all.items()) j[key] = value;
  for (const SizeGroup& g : groups.publishers) j["publishers"][g.name] = size_statistics_json(g.s);
  for (const SizeGroup& g : groups.decades) j["size_decades"][g.name] = size_statistics_json(g.s);
}

}  // namespace

std::string to_table(const SuiteResult& r) {
  std::string out = fmt::format("Suite {}\nEligible: {}\n\n", r.suite, r.rule);
  const std::vector<Prediction> rows = shown(r);
  if (rows.size() < r.predictions.size()) {
    out += fmt::format("The {} rows of {} that are farthest off (--format csv and json list all)\n", rows.size(),
                       r.predictions.size());
  }
  std::size_t source = 40;
  std::size_t what = 44;
  for (const Prediction& p : rows) {
    source = std::max(source, place(p.source, p.row).size());
    what = std::max(what, p.what.size());
  }
  out +=
      fmt::format("{:<{}}{:<{}}{:>12}{:>12}{:>13}\n", "source", source + 2, "what", what + 2, "measured", "predicted", "error");
  for (const Prediction& p : rows) {
    out += fmt::format("{:<{}}{:<{}}{:>12.4g}{:>12.4g}{:>13}\n", place(p.source, p.row), source + 2, p.what, what + 2,
                       p.measured, p.predicted, percent(p.error()));
  }
  if (has_sizes(r)) {
    out += "\n" + to_table(size_groups(r));
  } else {
    out += statistics_table(r);
  }
  out += signs_table(r);
  std::string table;
  for (const Remark& remark : remarks(r)) {
    if (remark.source != table) out += fmt::format("\nrow of {}\n", table = remark.source);
    out += fmt::format("{:<10} {}\n", remark.rows, remark.text);
  }
  if (!r.skipped.empty()) out += fmt::format("\n{} rows skipped{}\n", r.skipped.size(), eligible_text(r));
  for (const Reason& reason : reasons(r)) out += fmt::format("{:>6}  {}: {}\n", reason.rows, reason.source, reason.reason);
  for (bool is_first = true; const Limit& l : r.limits) {
    out += fmt::format("{}{}\n", is_first ? "\n" : "", limit_text(l));
    is_first = false;
  }
  return out;
}
std::string to_markdown(const SuiteResult& r) {
  std::string out =
      fmt::format("Eligible: {}. {} rows predicted, {} skipped.\n\n", r.rule, r.predictions.size(), r.skipped.size());
  const std::vector<Prediction> rows = shown(r);
  if (rows.size() < r.predictions.size()) out += fmt::format("The {} that are farthest off:\n\n", rows.size());
  out += "| source | what | measured | predicted | error |\n|---|---|---:|---:|---:|\n";
  for (const Prediction& p : rows) {
    out += fmt::format("| {}:{} | {} | {:.4g} | {:.4g} | {} |\n", p.source, p.row, p.what, p.measured, p.predicted,
                       percent(p.error()));
  }
  out += "\n" + (has_sizes(r) ? to_markdown(size_groups(r)) : statistics_markdown(r)) + signs_markdown(r);
  if (const auto list = remarks(r); !list.empty()) {
    out += "\n| rows | remark |\n|---|---|\n";
    for (const Remark& remark : list) out += fmt::format("| {}:{} | {} |\n", remark.source, remark.rows, remark.text);
  }
  if (!r.skipped.empty()) out += "\n| skipped rows | source | reason |\n|---:|---|---|\n";
  for (const Reason& reason : reasons(r)) out += fmt::format("| {} | {} | {} |\n", reason.rows, reason.source, reason.reason);
  for (bool is_first = true; const Limit& l : r.limits) {
    out += fmt::format("{}- {}\n", is_first ? "\n" : "", limit_text(l));
    is_first = false;
  }
  return out;
}

std::string to_csv(const SuiteResult& r) {
  std::string out = "source,row,what,metric,measured,predicted,error,expected,holds\n";
  for (const Prediction& p : r.predictions) {
    out += csv_row({p.source, std::to_string(p.row), p.what, p.metric, fmt::format("{}", p.measured),
                    fmt::format("{}", p.predicted), fmt::format("{}", p.error()), "", ""});
  }
  for (const SignTest& s : r.signs) {
    out += csv_row({s.source, std::to_string(s.row), s.what, s.metric, s.measured, fmt::format("{}", s.predicted), "",
                    s.expected, s.holds ? "yes" : "no"});
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
  for (const std::string& source : sources(r)) {
    Json& entry = j["sources"][source] = statistics_json(statistics(r, source));
    if (const auto rho = spearman(r, source)) entry["spearman"] = *rho;
    if (const auto rho = spearman(r, source, &Prediction::plans)) entry["spearman_of_plans"] = *rho;
    if (has_sweeps(r)) entry["counted"] = is_counted(r, source);
  }
  if (has_sweeps(r)) {
    const Headline h = headline(r);
    j["eligible"] =
        r.predictions.size() + static_cast<std::size_t>(std::count_if(r.skipped.begin(), r.skipped.end(),
                                                                      [](const SkippedRow& s) { return s.is_eligible; }));
    j["headline"] = {{"sources", h.sources}};
    if (h.sources > 0) {
      j["headline"]["average_median_abs_error"] = h.median_abs_error;
      j["headline"]["average_mean_abs_error"] = h.mean_abs_error;
    }
  }
  if (has_sizes(r)) add_sizes(r, j);
  for (const SignTest& s : r.signs) j["signs"].push_back(sign_json(s));
  for (const Limit& l : r.limits) {
    j["limits"].push_back(
        {{"what", l.what}, {l.is_least ? "at_least" : "at_most", l.asked}, {"found", l.found}, {"holds", l.holds()}});
  }
  j["predictions"] = Json::array();
  for (const Prediction& p : r.predictions) {
    j["predictions"].push_back({{"source", p.source},
                                {"row", p.row},
                                {"what", p.what},
                                {"metric", p.metric},
                                {"measured", p.measured},
                                {"predicted", p.predicted},
                                {"error", p.error()}});
    if (!p.publisher.empty()) j["predictions"].back()["publisher"] = p.publisher;
    if (p.size_bytes > 0) j["predictions"].back()["size_bytes"] = p.size_bytes;
    if (!p.remark.empty()) j["predictions"].back()["remark"] = p.remark;
  }
  return j.dump(2) + "\n";
}

}  // namespace lockstep
