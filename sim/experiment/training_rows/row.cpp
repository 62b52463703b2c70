// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/training_rows/row.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>

#include "base/csv.h"
#include "base/quantity.h"

namespace lockstep {
namespace {

constexpr std::string_view kNeeded[] = {"source", "gpu_type", "n_gpus"};
constexpr std::string_view kColumns =
    "source model params_B layers hidden heads kv_heads ffn vocab seq_len gpu_type n_gpus gpus_per_node fabric tp pp vpp cp ep "
    "dp zero_stage micro_batch global_batch dtype recompute seq_parallel iteration_time_s tokens_per_s_per_gpu tflops_per_gpu "
    "mfu_pct notes framework released";
constexpr std::string_view kBlankWords[] = {"n/a", "NA", "None", "N/A", "not stated"};
// What makes two lines one run, the measured values last.
constexpr std::string_view kIdentity[] = {"model",       "layers",       "hidden", "heads",     "seq_len",     "gpu_type",
                                          "n_gpus",      "tp",           "pp",     "vpp",       "cp",          "ep",
                                          "micro_batch", "global_batch", "dtype",  "recompute", "seq_parallel"};
// ... of which a blank is not whatever another line says.
constexpr std::string_view kStated[] = {"model", "n_gpus", "recompute"};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter_or_digit(char c) { return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z'); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// "a (b)" -> a, b.
std::optional<std::array<std::string_view, 2>> two_values(std::string_view text) {
  const std::size_t open = text.find(" (");
  if (open == std::string_view::npos || open == 0 || text.back() != ')') return {};
  const std::string_view second = text.substr(open + 2, text.size() - open - 3);
  if (second.empty() || second.find('(') != std::string_view::npos) return {};
  return std::array<std::string_view, 2>{text.substr(0, open), second};
}

// The longest number text begins with.
std::string_view leading_number(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
  while (end > 0 && text[end - 1] == '.') --end;
  return text.substr(0, end);
}

// "FSDP=64 (0); GA=1 (16)" -> "FSDP=64; GA=1" or "FSDP=0; GA=16".
std::string cut_notes(std::string_view notes, int part) {
  std::string out;
  for (std::size_t at = 0; at < notes.size(); ++at) {
    out += notes[at];
    if (notes[at] != '=') continue;
    const std::string_view first = leading_number(notes.substr(at + 1));
    const std::string_view rest = notes.substr(at + 1 + first.size());
    if (first.empty() || !rest.starts_with(" (")) continue;
    const std::string_view second = leading_number(rest.substr(2));
    if (second.empty() || !rest.substr(2 + second.size()).starts_with(")")) continue;
    out += part == 1 ? first : second;
    at += first.size() + second.size() + 3;
  }
  return out;
}

void warn_of_unknown(const CsvReader& reader, Diagnostics& d) {
  constexpr std::size_t kMost = 10;
  std::istringstream words{std::string(kColumns)};
  const std::vector<std::string> known(std::istream_iterator<std::string>(words), {});
  std::size_t unknown = 0;
  for (std::size_t i = 0; i < reader.columns().size(); ++i) {
    const std::string& column = reader.columns()[i];
    if (column.starts_with("job.") || std::find(known.begin(), known.end(), column) != known.end()) continue;
    if (++unknown > kMost) continue;
    const std::string near = closest(column, known);
    d.warning(reader.position(i), {}, fmt::format("the column '{}' means nothing and is not read", column),
              near.empty() ? "a column job.KEY sets a key of the job" : fmt::format("did you mean '{}'?", near));
  }
  if (unknown > kMost) d.warning({reader.name(), 1, 1}, {}, fmt::format("nor are {} more columns", unknown - kMost));
}

}  // namespace

std::string_view TrainingRow::text(std::string_view column) const {
  const auto it = cells_.find(column);
  if (it == cells_.end()) return {};
  const std::string_view text = trimmed(it->second);
  for (const std::string_view word : kBlankWords) {
    if (text == word) return {};
  }
  return text.starts_with("not stated") && column != "fabric" ? std::string_view() : text;
}

std::optional<std::int64_t> TrainingRow::integer(std::string_view column) const {
  const std::string_view cell = text(column);
  const std::size_t dash = cell.find('-', 1);
  const std::string_view last = dash == std::string_view::npos ? cell : cell.substr(dash + 1);
  return parse_int(last).value;
}

std::optional<double> TrainingRow::number(std::string_view column) const {
  const std::string_view cell = text(column);
  if (const std::optional<double> exact = parse_double(cell).value) return exact;
  const std::string_view first = leading_number(cell);
  const std::string_view rest = trimmed(cell.substr(first.size()));
  const bool is_remark = rest.starts_with('(') || rest.starts_with('[');  // "338 (330)", "661[^note]"
  return is_remark ? parse_double(first).value : std::nullopt;
}

std::optional<double> TrainingRow::noted(std::string_view key) const {
  const std::string_view notes = text("notes");
  const std::string begin = fmt::format("{}=", key);
  for (std::size_t at = notes.find(begin); at != std::string_view::npos; at = notes.find(begin, at + 1)) {
    if (at > 0 && (is_letter_or_digit(notes[at - 1]) || notes[at - 1] == '_')) continue;
    return parse_double(leading_number(notes.substr(at + begin.size()))).value;
  }
  return {};
}

std::vector<TrainingRow> read_training_rows(std::istream& csv, const std::string& file, Diagnostics& d) {
  std::vector<TrainingRow> rows;
  CsvReader reader(csv, file, d);
  for (const std::string_view column : kNeeded) {
    if (reader.column(column) == CsvReader::npos) d.error({file, 1, 1}, {}, fmt::format("the column '{}' is missing", column));
  }
  if (d.has_errors()) return rows;
  warn_of_unknown(reader, d);
  while (reader.next()) {
    TrainingRow row;
    row.source = source_name(file);
    row.line = reader.line();
    for (std::size_t i = 0; i < reader.columns().size(); ++i) {
      if (!reader[i].empty()) row.set(reader.columns()[i], reader[i]);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<TrainingRow> split_cells(const TrainingRow& row) {
  if (!two_values(row.text("tokens_per_s_per_gpu")) && !two_values(row.text("iteration_time_s"))) return {row};
  std::vector<TrainingRow> out(2, row);
  for (const int part : {1, 2}) {
    TrainingRow& one = out[static_cast<std::size_t>(part - 1)];
    one.part = part;
    for (const auto& [column, value] : row.cells()) {
      if (column == "model" || column == "source" || column == "fabric" || column == "gpu_type") continue;
      if (column == "notes") {
        one.set(column, cut_notes(value, part));
      } else if (const auto values = two_values(trimmed(value))) {
        one.set(column, (*values)[static_cast<std::size_t>(part - 1)]);
      }
    }
  }
  return out;
}

bool is_repeat(const TrainingRow& a, const TrainingRow& b) {
  for (const std::string_view column : kMeasuredColumns) {
    if (a.text(column) != b.text(column)) return false;
  }
  const auto is_stated = [](std::string_view column) {
    return std::find(std::begin(kStated), std::end(kStated), column) != std::end(kStated);
  };
  return std::all_of(std::begin(kIdentity), std::end(kIdentity), [&](std::string_view column) {
    if (a.text(column) == b.text(column)) return true;
    return !is_stated(column) && (a.is_blank(column) || b.is_blank(column));
  });
}

std::string source_name(const std::string& file) {
  std::string name = file.substr(file.find_last_of('/') + 1);
  if (name.ends_with(".csv")) name.resize(name.size() - 4);
  return name;
}

std::string squeezed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_letter_or_digit(c)) out += lower(c);
  }
  return out;
}

bool contains(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(), [](char a, char b) { return lower(a) == lower(b); }) !=
         text.end();
}

}  // namespace lockstep
