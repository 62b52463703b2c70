// SPDX-License-Identifier: Apache-2.0
// Words and operators of a shell script (POSIX shell with bash's arrays), not yet expanded: quotes, ${...}, $(...) and $((...)) stay inside
// their word, comments and line continuations are gone, here-documents are taken out of the text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "workloads/import/shell/traced_text.h"

namespace lockstep {

struct ShellToken {
  enum class Kind : std::uint8_t {
    kWord,
    kArray,     // NAME=( ... ): `text` is all of it, `split` where the list begins
    kOperator,  // && || | & ; ;; ( ) > >> < <<< newline
    kHere,      // << WORD: `text` is the body, `is_literal` when WORD was quoted
  };
  Kind kind = Kind::kWord;
  TracedText text;
  std::size_t split = 0;
  bool is_literal = false;

  [[nodiscard]] bool is_word(std::string_view word) const { return kind == Kind::kWord && text.text == word; }
  [[nodiscard]] bool is_operator(std::string_view sign) const { return kind == Kind::kOperator && text.text == sign; }
  [[nodiscard]] bool ends_command() const;
};

[[nodiscard]] std::vector<ShellToken> shell_tokens(const TracedText& code);

// One past the end of the quoted or bracketed piece that begins at text[i]: '...', "...", `...`, ${...}, $(...), $((...)), or of
// one character. An end that is missing is the end of the text.
[[nodiscard]] std::size_t end_of_piece(std::string_view text, std::size_t i);

// "NAME" and whether "+=" for a word NAME=..., NAME+=...; 0 when it is none. Returns the place after the '='.
struct AssignmentHead {
  std::size_t value = 0;
  std::string_view name;
  bool appends = false;
};
[[nodiscard]] AssignmentHead assignment_head(std::string_view word);

}  // namespace lockstep
