// SPDX-License-Identifier: Apache-2.0
// The variables of a shell script and the expansion of its words: quotes, $NAME, ${NAME}, ${NAME[@]}, ${NAME:-word} and its relatives,
// ${#NAME[@]}, ${NAME,,}, $((...)) over integers. What only a running shell could know - $1, what the environment holds, $(command) - becomes
// TracedText::kUnknown with the place and name of what is missing. Not modelled: globs, braces, ~, patterns in ${NAME%...}.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/import/shell/traced_text.h"

namespace lockstep {

struct ShellValue {
  std::vector<TracedText> items;
  bool is_array = false;
};

class ShellVariables {
 public:
  // Fixed for the whole run: assignments to it have no effect.
  void fix(const std::string& name, TracedText value);
  void assign(const std::string& name, ShellValue value, bool appends);
  [[nodiscard]] const ShellValue* find(const std::string& name) const;
  [[nodiscard]] const std::map<std::string, ShellValue>& all() const { return values_; }

  // The fields of a word: unquoted expansions are split at white space, "${A[@]}" at its items.
  [[nodiscard]] std::vector<TracedText> fields(const TracedText& word);
  // One text, as in an assignment. `is_quoted`: as inside "..." (a here-document).
  [[nodiscard]] TracedText text(const TracedText& word, bool is_quoted = false);

  // What kUnknown at this place stands for: "$1", "$(date)".
  [[nodiscard]] std::string unknown_at(std::uint32_t place) const;
  // While set, what is not known is empty, as it is to a shell with nothing in its environment.
  void set_unknown_is_empty(bool is_empty) { unknown_is_empty_ = is_empty; }

 private:
  friend class WordExpander;
  std::map<std::string, ShellValue> values_;
  std::map<std::string, ShellValue> fixed_;
  std::map<std::uint32_t, std::string> unknown_;
  bool unknown_is_empty_ = false;
};

// Of + - * / % and brackets over whole numbers; nothing when it is something else, or divides by zero.
[[nodiscard]] std::optional<std::int64_t> shell_arithmetic(std::string_view expression);

}  // namespace lockstep
