// SPDX-License-Identifier: Apache-2.0
// User errors as collected values: what is wrong, where, and what to do. Libraries add to a Diagnostics and go on, so one
// run reports everything; only sim/cli prints and exits.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// Where a value was written. line and column count from 1; 0 means "no position" (a whole file, say).
struct Position {
  std::string file;
  int line = 0;
  int column = 0;
};

enum class Severity { kError, kWarning };

struct Diagnostic {
  Severity severity = Severity::kError;
  Position position;
  std::string path;     // the key, `fabric.spines`; empty where there is none
  std::string message;  // what is wrong
  std::string hint;     // what to do; may be empty
};

// "file:line:column: error: path: message (hint)"
[[nodiscard]] std::string to_text(const Diagnostic& d);

class Diagnostics {
 public:
  void add(Diagnostic d);
  void error(Position position, std::string path, std::string message, std::string hint = {});
  void warning(Position position, std::string path, std::string message, std::string hint = {});
  [[nodiscard]] bool has_errors() const { return error_count() > 0; }
  [[nodiscard]] std::size_t error_count() const { return error_count_; }
  [[nodiscard]] const std::vector<Diagnostic>& items() const { return items_; }
  // In the order people read: by file as first mentioned, then by line and column.
  [[nodiscard]] std::vector<Diagnostic> in_reading_order() const;

 private:
  std::vector<Diagnostic> items_;
  std::size_t error_count_ = 0;
};

// Thrown where nothing sensible can follow; carries everything collected so far. Exit code 2.
class UserError : public std::runtime_error {
 public:
  explicit UserError(Diagnostics d);
  explicit UserError(std::string message, std::string hint = {});
  [[nodiscard]] const Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  Diagnostics diagnostics_;
};

// Throws UserError when `d` holds an error.
void throw_if_errors(const Diagnostics& d);

// "did you mean": the candidate that differs in case only, or the closest one (edit distance with swaps, at most a third of the length
// away and at least 1), or empty.
[[nodiscard]] std::string closest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace lockstep
