// SPDX-License-Identifier: Apache-2.0
// Comma-separated values as RFC 4180 has them, streamed row by row: quoted fields with "" inside, quoted line breaks, CRLF, a UTF-8
// byte-order mark, blank lines (skipped), a last line without newline. Fields keep their line and column for messages.
// Memory: one row. No size limit.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"

namespace lockstep {

class CsvReader {
 public:
  // Reads the header row. `name` is the file's name in messages. Adds errors: no header, an empty or repeated column name.
  CsvReader(std::istream& in, std::string name, Diagnostics& diagnostics);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  // Index of a column, or npos.
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  [[nodiscard]] std::size_t column(std::string_view name) const;

  // Moves to the next row; false at the end. A row of another width than the header is an error (and is skipped).
  bool next();
  [[nodiscard]] std::string_view operator[](std::size_t column) const;
  [[nodiscard]] Position position(std::size_t column) const;
  [[nodiscard]] int line() const { return row_line_; }

 private:
  struct Field {
    std::size_t begin;  // into text_
    std::size_t end;
    int line;
    int column;
  };
  // Splits the next non-blank record into fields_; false at the end.
  bool read_record();
  bool refill();
  // The next byte without taking it, or -1 at the end.
  int peek() {
    if (at_ == buffer_size_ && !refill()) return -1;
    return static_cast<unsigned char>(buffer_[at_]);
  }
  void take() { ++at_; }

  std::istream& in_;
  std::string name_;
  Diagnostics& diagnostics_;
  std::vector<std::string> columns_;
  std::vector<char> buffer_;
  std::size_t buffer_size_ = 0;
  std::size_t at_ = 0;
  std::string text_;  // the fields of the row, unquoted, back to back
  std::vector<Field> fields_;
  int line_ = 1;
  int row_line_ = 0;
};

// A field as a row needs it: in quotes where it has a comma, a quote or a line break.
[[nodiscard]] std::string csv_quoted(std::string_view text);
// Fields joined to a row with its line end.
[[nodiscard]] std::string csv_row(const std::vector<std::string>& fields);

}  // namespace lockstep
