// SPDX-License-Identifier: Apache-2.0
#include "base/csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <istream>

namespace lockstep {
namespace {

constexpr std::size_t kBufferSize = 1 << 16;

}  // namespace

CsvReader::CsvReader(std::istream& in, std::string name, Diagnostics& diagnostics)
    : in_(in), name_(std::move(name)), diagnostics_(diagnostics), buffer_(kBufferSize) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (refill() && std::string_view(buffer_.data(), buffer_size_).substr(0, 3) == kByteOrderMark) at_ = 3;
  if (!read_record()) {
    diagnostics_.error({name_, 1, 1}, {}, "the file is empty", "the first line must name the columns");
    return;
  }
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    std::string column((*this)[i]);
    if (column.empty()) diagnostics_.error(position(i), {}, "a column has no name");
    if (this->column(column) != npos)
      diagnostics_.error(position(i), {}, fmt::format("the column '{}' is named twice", column));
    columns_.push_back(std::move(column));
  }
}

std::size_t CsvReader::column(std::string_view name) const {
  const auto it = std::find(columns_.begin(), columns_.end(), name);
  return it == columns_.end() ? npos : static_cast<std::size_t>(it - columns_.begin());
}

bool CsvReader::next() {
  while (read_record()) {
    if (fields_.size() == columns_.size()) return true;
    diagnostics_.error({name_, row_line_, 1}, {},
                       fmt::format("the row has {} fields where the header has {}", fields_.size(), columns_.size()),
                       "quote fields that contain commas");
  }
  return false;
}

std::string_view CsvReader::operator[](std::size_t column) const {
  const Field& f = fields_[column];
  return std::string_view(text_).substr(f.begin, f.end - f.begin);
}

Position CsvReader::position(std::size_t column) const { return {name_, fields_[column].line, fields_[column].column}; }

bool CsvReader::refill() {
  in_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  buffer_size_ = static_cast<std::size_t>(in_.gcount());
  at_ = 0;
  return buffer_size_ > 0;
}

bool CsvReader::read_record() {
  text_.clear();
  fields_.clear();
  while (peek() == '\n' || peek() == '\r') {  // blank lines
    if (peek() == '\n') ++line_;
    take();
  }
  if (peek() < 0) return false;
  row_line_ = line_;
  int column = 1;
  bool is_quoted = false;
  fields_.push_back({0, 0, line_, column});
  for (;; take(), ++column) {
    const int c = peek();
    if (c < 0 && is_quoted) {
      diagnostics_.error({name_, fields_.back().line, fields_.back().column}, {}, "a quoted field is not closed");
    }
    if (c < 0) break;
    if (is_quoted) {
      if (c != '"') {
        if (c == '\n') {
          ++line_;
          column = 0;
        }
        text_.push_back(static_cast<char>(c));
        continue;
      }
      take();
      ++column;
      if (peek() == '"') {
        text_.push_back('"');
        continue;
      }
      is_quoted = false;
      if (peek() < 0) break;
    }
    const int d = peek();
    if (d == '\n') break;
    if (d == '"' && text_.size() == fields_.back().begin) {
      is_quoted = true;
    } else if (d == ',') {
      fields_.back().end = text_.size();
      fields_.push_back({text_.size(), 0, line_, column + 1});
    } else if (d != '\r') {
      text_.push_back(static_cast<char>(d));
    }
  }
  fields_.back().end = text_.size();
  if (peek() == '\n') {
    take();
    ++line_;
  }
  return true;
}

std::string csv_quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string csv_row(const std::vector<std::string>& fields) {
  std::string row;
  for (const std::string& f : fields) row += (&f == &fields.front() ? "" : ",") + csv_quoted(f);
  return row + "\n";
}

}  // namespace lockstep
