// SPDX-License-Identifier: Apache-2.0
// A result of lockstep as rows of named values, whatever verb wrote it and in which form, so that two of them can be laid side by side.
//
//   JSON   run (of one job or several), collective, traffic (each also as a comparison of routings), topo, validate, calibrate. Nested keys are joined by dots. Each entry of a list is a row
//          of its own, known by what names it (the link, the job, the size, source and row), not by its place.
//   CSV    run, collective, traffic, validate and the results.csv of a sweep, whose rows are known by the swept keys; any other table by the
//          columns that the user names.
//
// Refused with file, line and column: what is no JSON or CSV, numbers that are not finite or have no double, JSON over 16 MiB, what no
// verb writes. Not read: the tables for people, Markdown, and rows of several files in one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"

namespace lockstep {

enum class ValueKind : std::uint8_t { kNumber, kFlag, kWord };
[[nodiscard]] const char* to_text(ValueKind kind);  // "a number", ...

struct ResultValue {
  ValueKind kind = ValueKind::kWord;
  double number = 0;  // of kNumber; 0 or 1 of kFlag
  std::string text;   // as written
  int line = 0;
  int column = 0;
};

struct ResultCell {
  std::uint32_t metric = 0;  // index into FlatResult::metrics
  ResultValue value;
};

struct ResultRow {
  std::string key;         // "1048576", "links node0.nic0>leaf0", "job.tp=8"; empty: of the whole result
  bool is_sample = false;  // of a list that has its first entries only: absence says nothing
  std::vector<ResultCell> cells;
};

struct FlatResult {
  std::string kind;    // "run", "collective", ...
  std::string source;  // the file, or what was run
  std::string row_is;  // what names its rows: "size_bytes"; may be empty
  std::vector<std::string> metrics;
  std::vector<ResultRow> rows;

  std::uint32_t metric_index(const std::string& name);  // adds it if new
};

inline constexpr std::size_t kMostResultBytes = std::size_t{1} << 30;

// Reads a file; "-" is standard input. `keys`: the columns that name the rows of a CSV; empty: known by its columns. Everything wrong goes to
// `d`, and then there is no result.
[[nodiscard]] std::optional<FlatResult> read_result(const std::string& file, const std::vector<std::string>& keys,
                                                    Diagnostics& d);
// The same of text; `source` is what messages call it.
[[nodiscard]] std::optional<FlatResult> parse_result(std::string_view text, const std::string& source,
                                                     const std::vector<std::string>& keys, Diagnostics& d);

// The two forms. PRE: the text begins as such a form does.
[[nodiscard]] std::optional<FlatResult> flatten_json(std::string_view text, const std::string& source, Diagnostics& d);
[[nodiscard]] std::optional<FlatResult> flatten_csv(std::string_view text, const std::string& source,
                                                    const std::vector<std::string>& keys, Diagnostics& d);

// A cell's value as CSV has it: a number, true or false, or words. Reports numbers that are not finite.
[[nodiscard]] std::optional<ResultValue> csv_value(std::string_view text, const std::string& metric, const Position& position,
                                                   Diagnostics& d);

// Tells rows of equal keys apart by their order: "0, 1", "0, 1 #2".
void number_equal_keys(std::vector<ResultRow>& rows);

}  // namespace lockstep
