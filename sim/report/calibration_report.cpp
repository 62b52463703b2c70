// SPDX-License-Identifier: Apache-2.0
#include "sim/report/calibration_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/field_table.h"
#include "base/median.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

// What the tables say of a constant.
std::string_view verdict(const FittedConstant& f) {
  constexpr double kWell = 0.9;
  constexpr double kHalf = 0.5;
  if (f.is_at_bound) return "at its bound: check the hardware";
  if (f.determined >= kWell) return "determined";
  if (f.determined >= kHalf) return "partly determined";
  return std::abs(f.offset) < f.prior ? "the tables cannot tell: kept near what it was"
                                      : "hardly determined, yet moved: measure more";
}

void add_errors(const std::vector<TableError>& tables, std::string& out) {
  const bool has_fitted = std::any_of(tables.begin(), tables.end(), [](const TableError& t) { return t.is_fitted; });
  std::size_t width = 5;
  for (const TableError& t : tables) width = std::max(width, t.table.size());
  out += fmt::format("{:<{}}  {:>5} {:>9} {:>9}  {:>7} {:>9} {:>9}\n", "median error of time", width, "rows", "before", "after",
                     "1 MiB up", "before", "after");
  for (const TableError& t : tables) {
    out += fmt::format("{:<{}}  {:>5} {:>9} {:>9}  {:>8}", t.table, std::max<std::size_t>(width, 20), t.rows, percent(t.before),
                       percent(t.after), t.large_rows);
    if (t.large_rows > 0) out += fmt::format(" {:>9} {:>9}", percent(t.large_before), percent(t.large_after));
    out += t.is_fitted || !has_fitted ? "\n" : "  not fitted to\n";
  }
}

Json to_json(const TableError& t) {
  Json j = {{"table", t.table},
            {"is_fitted", t.is_fitted},
            {"rows", t.rows},
            {"median_abs_error_before", t.before},
            {"median_abs_error_after", t.after},
            {"rows_from_1_mib", t.large_rows}};
  if (t.large_rows > 0) {
    j["median_abs_error_before_from_1_mib"] = t.large_before;
    j["median_abs_error_after_from_1_mib"] = t.large_after;
  }
  return j;
}

}  // namespace

std::string to_table(const Calibration& c) {
  std::string out = fmt::format("{:<36}{:<24}{:>11}{:>11}{:>11}  {}\n", "constant", "of", "before", "after", "+/-", "");
  for (const FittedConstant& f : c.constants) {
    out += fmt::format("{:<36}{:<24}{:>11}{:>11}{:>11}  {}\n", f.constant.path, f.constant.doc, f.constant.text(c.before),
                       f.constant.text(c.after), f.constant.deviation_text(f.offset, f.deviation, c.before), verdict(f));
  }
  out += '\n';
  add_errors(c.tables, out);
  return out;
}

std::string to_json(const Calibration& c) {
  Json j;
  j["schema_version"] = 1;
  j["constants"] = Json::array();
  for (const FittedConstant& f : c.constants) {
    j["constants"].push_back({{"path", f.constant.path},
                              {"unit", f.constant.is_duration ? "s" : "share"},
                              {"before", f.constant.value(c.before)},
                              {"after", f.constant.value(c.after)},
                              {"determined", f.determined},
                              {"is_at_bound", f.is_at_bound}});
  }
  j["tables"] = Json::array();
  for (const TableError& t : c.tables) j["tables"].push_back(to_json(t));
  return j.dump(2) + "\n";
}

std::string to_tuning_file(const Calibration& c, const std::string& name, const std::vector<std::string>& files) {
  const auto quoted = [](const std::string& text) { return Codec<std::string>::print(text); };
  std::size_t rows = 0;
  for (const TableError& t : c.tables) rows += t.is_fitted ? t.rows : 0;
  std::string out = "kind: tuning\n";
  out += fmt::format("what: {}\n", quoted(fmt::format("constants of {}, calibrated", c.before.name)));
  out += fmt::format("source: {}\n", quoted(fmt::format("lockstep calibrate: {} rows of {}; the rest as in {}", rows,
                                                        fmt::join(files, ", "), c.before.name)));
  out += "sources:\n";
  for (const FittedConstant& f : c.constants) {
    out += fmt::format(
        "  {}: {}\n", f.constant.path,
        quoted(fmt::format("{} before; fitted to {} +/- {}, {}", f.constant.text(c.before), f.constant.text(c.after),
                           f.constant.deviation_text(f.offset, f.deviation, c.before), verdict(f))));
  }
  TuningSpec tuning = c.after;
  tuning.name = name;
  ConfigPrinter printer;
  tuning_fields().print(tuning, printer);
  return out + printer.text();
}

std::string leave_one_out_table(const std::vector<TableError>& errors) {
  std::string out =
      "Each table with the constants as they are (before), and with constants fitted to the other tables (after).\n"
      "Errors after are optimistic where the constants as they are were fitted with the table: the fit without it starts "
      "there.\n\n";
  add_errors(errors, out);
  const auto middle = [&](double TableError::*error, bool large_only) {
    std::vector<double> values;
    for (const TableError& t : errors) {
      if (!large_only || t.large_rows > 0) values.push_back(t.*error);
    }
    return values.empty() ? std::string("-") : percent(median(std::move(values)));
  };
  return out + fmt::format("\nThe median of these: {} before, {} after; from 1 MiB up {} before, {} after.\n",
                           middle(&TableError::before, false), middle(&TableError::after, false),
                           middle(&TableError::large_before, true), middle(&TableError::large_after, true));
}

std::string leave_one_out_json(const std::vector<TableError>& errors) {
  Json j;
  j["schema_version"] = 1;
  j["leave_one_out"] = Json::array();
  for (const TableError& t : errors) j["leave_one_out"].push_back(to_json(t));
  return j.dump(2) + "\n";
}

std::string leave_one_out_markdown(const std::vector<TableError>& errors) {
  std::string out =
      "| table | rows | constants as they are | fitted to the others | rows from 1 MiB up | as they are | fitted to the others "
      "|\n"
      "|---|---:|---:|---:|---:|---:|---:|\n";
  for (const TableError& t : errors) {
    out += fmt::format("| {} | {} | {} | {} | {} |", t.table, t.rows, percent(t.before), percent(t.after), t.large_rows);
    out += t.large_rows > 0 ? fmt::format(" {} | {} |\n", percent(t.large_before), percent(t.large_after)) : " | |\n";
  }
  return out;
}

}  // namespace lockstep
