// SPDX-License-Identifier: Apache-2.0
// A measured training run as a CSV has it: cells of text by column, blank where nothing was published. What cells say is read here once:
//
//   n/a, NA, None, "not stated ..."   blank
//   "128-512"                         the larger number
//   "a (b)"                           two runs that share the other cells (a line of rows, see split_cells)
//   KEY=VALUE in `notes`              a fact the source has no column for (FSDP=64, GA=16, grad_accum=4)
//
// Rows are plain data; which job they mean is said in job_of_row.h.
#pragma once

#include <istream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"

namespace lockstep {

// In the order of preference. tflops_per_gpu counts as its source does: see measured_step.h.
inline constexpr std::string_view kMeasuredColumns[] = {"iteration_time_s", "tokens_per_s_per_gpu", "tflops_per_gpu"};

class TrainingRow {
 public:
  std::string source;  // the CSV's name without folder and ending
  int line = 0;        // in the CSV, the header being 1
  int part = 0;        // of a line with two values in its cells: 1 and 2; otherwise 0
  std::string remark;  // corrections that were made

  [[nodiscard]] std::string_view text(std::string_view column) const;
  [[nodiscard]] bool is_blank(std::string_view column) const { return text(column).empty(); }
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view column) const;
  [[nodiscard]] std::optional<double> number(std::string_view column) const;
  // The number behind KEY= in the notes.
  [[nodiscard]] std::optional<double> noted(std::string_view key) const;
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& cells() const { return cells_; }
  void set(std::string_view column, std::string_view value) { cells_[std::string(column)] = value; }

 private:
  std::map<std::string, std::string, std::less<>> cells_;
};

// Errors in the CSV (no header, missing columns) and columns that mean nothing go to the diagnostics. `source` is the name the rows carry.
[[nodiscard]] std::vector<TrainingRow> read_training_rows(std::istream& csv, const std::string& file, Diagnostics& d);

// The one or two runs of a line: two where tokens_per_s_per_gpu or iteration_time_s is "a (b)"; then every cell and note "a (b)" is cut.
[[nodiscard]] std::vector<TrainingRow> split_cells(const TrainingRow& row);

// Whether two rows are one measurement printed twice: no cell of plan, model, batch and hardware contradicts and the measured values are equal.
[[nodiscard]] bool is_repeat(const TrainingRow& a, const TrainingRow& b);

// "/path/bloom.csv" -> "bloom".
[[nodiscard]] std::string source_name(const std::string& file);

// In lower case, letters and digits only: "Qwen3_30B_a3B (tokendrop)" -> "qwen330ba3btokendrop".
[[nodiscard]] std::string squeezed(std::string_view text);
[[nodiscard]] bool contains(std::string_view text, std::string_view part);  // letters of either case

}  // namespace lockstep
