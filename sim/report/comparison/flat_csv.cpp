// SPDX-License-Identifier: Apache-2.0
// Tables of results.
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "base/csv.h"
#include "base/quantity.h"
#include "base/text_file.h"
#include "sim/report/comparison/flat_result.h"
#include "sim/report/comparison/metric.h"

namespace lockstep {
namespace {

struct KindOfTable {
  std::vector<std::string> has;   // columns that tell it
  std::vector<std::string> keys;  // columns that name a row
  std::string kind;
};

const std::vector<KindOfTable>& kinds_of_tables() {
  static const std::vector<KindOfTable> kinds = {
      {{"jobs.0.name"}, {}, "run of several jobs"},
      {{"size_bytes", "routing", "seeds"}, {"size_bytes", "routing"}, "routings"},
      {{"routing", "seeds", "makespan_s"}, {"routing"}, "routings"},
      {{"step_time_s"}, {}, "run"},
      {{"size_bytes", "time_s"}, {"size_bytes"}, "collective"},
      {{"src", "dst", "fct_s"}, {"src", "dst"}, "flows"},
      {{"source", "row", "metric", "predicted"}, {"source", "row", "metric"}, "validation"},
  };
  return kinds;
}

// "jobs.3.memory.stages.0.total": the entries of lists it belongs to, and the metric as JSON results call it.
struct EntryOfList {
  std::string list;         // "stages"
  std::string name_column;  // "jobs.3.memory.stages.0.stage"
};
struct ColumnOfLists {
  std::vector<EntryOfList> entries;  // outermost first
  std::string metric;                // "jobs.memory.stages.total"
};

// A number counts entries where a column names the entry, or else belongs to the metric.
ColumnOfLists column_of_lists(const std::string& column, const std::function<bool(const std::string&)>& has) {
  ColumnOfLists of;
  std::string last;
  for (std::size_t at = 0; at <= column.size();) {
    const std::size_t end = std::min(column.find('.', at), column.size());
    const std::string word = column.substr(at, end - at);
    const std::string name = column.substr(0, end) + (last == "jobs" ? ".name" : ".stage");
    const bool is_place = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
    if (is_place && (last == "jobs" || last == "stages") && has(name)) {
      of.entries.push_back({last, name});
    } else {
      of.metric += (of.metric.empty() ? "" : ".") + word;
    }
    last = word;
    at = end + 1;
  }
  return of;
}

class CsvFlattener {
 public:
  CsvFlattener(CsvReader& csv, FlatResult& result, Diagnostics& d) : csv_(csv), result_(result), d_(d) {}

  // False when no rows can be told apart.
  bool find_keys(const std::vector<std::string>& asked) {
    const std::vector<std::string>& columns = csv_.columns();
    const auto has = [&](const std::string& c) { return csv_.column(c) != CsvReader::npos; };
    std::vector<std::string> keys = asked;
    result_.kind = asked.empty() ? "" : "table";
    if (asked.empty() && has("point") && has("status")) {
      result_.kind = "sweep";
      keys.assign(columns.begin() + static_cast<std::ptrdiff_t>(csv_.column("point")) + 1,
                  columns.begin() + static_cast<std::ptrdiff_t>(std::max(csv_.column("status"), csv_.column("point") + 1)));
      ignored_.push_back(csv_.column("point"));
    }
    for (const KindOfTable& k : kinds_of_tables()) {
      if (!result_.kind.empty() || !std::all_of(k.has.begin(), k.has.end(), has)) continue;
      result_.kind = k.kind;
      keys = k.keys;
    }
    if (result_.kind.empty()) {
      d_.error({csv_.name(), 1, 1}, {}, "is no table of lockstep",
               "--key COLUMN says which column names a row; JSON results begin with {");
      return false;
    }
    for (const std::string& key : keys) {
      if (!has(key)) {
        const std::string guess = closest(key, columns);
        d_.error({csv_.name(), 1, 1}, {}, fmt::format("there is no column '{}'", key),
                 guess.empty() ? "--key names a column of every file" : fmt::format("did you mean '{}'?", guess));
        return false;
      }
      keys_.push_back(csv_.column(key));
      result_.row_is += (result_.row_is.empty() ? "" : ", ") + key;
    }
    return true;
  }

  void read_rows() {
    constexpr std::size_t kMostErrors = 20;
    plan_columns();
    while (csv_.next() && d_.error_count() < kMostErrors) read_row();
  }

 private:
  struct Column {
    std::size_t at = 0;
    std::vector<std::pair<std::string, std::size_t>> entries;  // of lists: their name, and the column of the entry's
    std::string metric;
    std::uint32_t index = 0;
  };

  void plan_columns() {
    // Points of a sweep have different stages: theirs stay columns.
    const auto has_column = [&](const std::string& c) {
      return csv_.column(c) != CsvReader::npos && !(result_.kind == "sweep" && c.ends_with(".stage"));
    };
    for (std::size_t i = 0; i < csv_.columns().size(); ++i) {
      const bool is_taken = std::find(keys_.begin(), keys_.end(), i) != keys_.end() ||
                            std::find(ignored_.begin(), ignored_.end(), i) != ignored_.end();
      if (is_taken) continue;
      const ColumnOfLists of = column_of_lists(csv_.columns()[i], has_column);
      Column column{.at = i, .metric = of.metric};
      for (const EntryOfList& entry : of.entries) column.entries.emplace_back(entry.list, csv_.column(entry.name_column));
      if (!column.entries.empty() && column.entries.back().second == i) continue;
      column.index = result_.metric_index(column.metric);
      columns_.push_back(std::move(column));
    }
  }

  void read_row() {
    std::string key;
    for (const std::size_t k : keys_) {
      if (!key.empty()) key += ", ";
      if (result_.kind == "sweep" && keys_.size() > 1) key += csv_.columns()[k] + "=";
      key += csv_[k];
    }
    const std::size_t first = result_.rows.size();
    result_.rows.push_back({.key = key, .is_sample = false, .cells = {}});
    for (const Column& c : columns_) {
      if (csv_[c.at].empty()) continue;
      std::optional<ResultValue> v = csv_value(csv_[c.at], c.metric, csv_.position(c.at), d_);
      if (v) row_of(c, key, first).cells.push_back({c.index, *std::move(v)});
    }
  }

  ResultRow& row_of(const Column& c, const std::string& key, std::size_t first) {
    if (c.entries.empty()) return result_.rows[first];
    std::string own = key;
    for (const auto& [list, name] : c.entries) own += (own.empty() ? "" : " ") + list + " " + std::string(csv_[name]);
    for (std::size_t i = first; i < result_.rows.size(); ++i) {
      if (result_.rows[i].key == own) return result_.rows[i];
    }
    return result_.rows.emplace_back(ResultRow{.key = own, .is_sample = false, .cells = {}});
  }

  CsvReader& csv_;
  FlatResult& result_;
  Diagnostics& d_;
  std::vector<std::size_t> keys_;
  std::vector<std::size_t> ignored_;
  std::vector<Column> columns_;
};

bool looks_infinite(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  if (text.starts_with('-') || text.starts_with('+')) text.erase(0, 1);
  return text == "nan" || text == "inf" || text == "infinity";
}

}  // namespace

std::optional<ResultValue> csv_value(std::string_view text, const std::string& metric, const Position& position,
                                     Diagnostics& d) {
  ResultValue v{.text = std::string(text), .line = position.line, .column = position.column};
  if (text == "true" || text == "false") {
    v.kind = ValueKind::kFlag;
    v.number = text == "true" ? 1 : 0;
    return v;
  }
  const bool is_name = metric_facts(metric).aspect == Aspect::kQuestion || metric == "fingerprint";
  if (is_name) return v;
  if (looks_infinite(v.text)) {
    d.error(position, metric, fmt::format("'{}' is not a finite number", v.text));
    return std::nullopt;
  }
  if (const Parsed<double> number = parse_double(text)) {
    v.kind = ValueKind::kNumber;
    v.number = *number.value;
  }
  return v;
}

std::optional<FlatResult> flatten_csv(std::string_view text, const std::string& source, const std::vector<std::string>& keys,
                                      Diagnostics& d) {
  const std::size_t before = d.error_count();
  std::optional<std::string> clean = clean_text(text, source, d);
  if (!clean) return std::nullopt;
  std::istringstream in(*std::move(clean));
  CsvReader csv(in, source, d);
  if (d.error_count() > before) return std::nullopt;
  FlatResult result;
  CsvFlattener flattener(csv, result, d);
  if (!flattener.find_keys(keys)) return std::nullopt;
  flattener.read_rows();
  if (d.error_count() > before) return std::nullopt;
  return result;
}

}  // namespace lockstep
