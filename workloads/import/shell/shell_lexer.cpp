// SPDX-License-Identifier: Apache-2.0
#include "workloads/import/shell/shell_lexer.h"

#include <algorithm>
#include <array>

namespace lockstep {
namespace {

bool is_name_char(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

constexpr std::array<std::string_view, 13> kOperators = {"&&", "||", ";;", "<<<", "<<", ">>", ">&",
                                                         "\n", ";",  "|",  "(",   ")",  "&"};

// One past the bracket that closes the one before `i`.
std::size_t end_of_bracket(std::string_view text, std::size_t i, char open, char close) {
  for (int depth = 1; i < text.size();) {
    if (text[i] == open) ++depth;
    if (text[i] == close && --depth == 0) return i + 1;
    i = text[i] == open || text[i] == close ? i + 1 : end_of_piece(text, i);
  }
  return text.size();
}

class Lexer {
 public:
  explicit Lexer(const TracedText& code) : code_(code), text_(code.text) {}

  std::vector<ShellToken> read() {
    while (at_ < text_.size()) {
      if (is_blank(text_[at_])) {
        ++at_;
      } else if (text_.substr(at_, 2) == "\\\n") {
        at_ += 2;
      } else if (text_[at_] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (!read_operator()) {
        read_word();
      }
    }
    return std::move(tokens_);
  }

 private:
  bool read_operator() {
    std::string_view sign;
    for (const std::string_view o : kOperators) {
      if (text_.substr(at_, o.size()) == o) {
        sign = o;
        break;
      }
    }
    if (sign.empty() && (text_[at_] == '<' || text_[at_] == '>')) sign = text_.substr(at_, 1);
    if (sign.empty()) return false;
    if (sign == "<<") return read_here(), true;
    tokens_.push_back({.kind = ShellToken::Kind::kOperator, .text = code_.slice(at_, at_ + sign.size())});
    at_ += sign.size();
    if (sign == "\n") take_bodies();
    return true;
  }

  void read_here() {
    at_ += 2;
    Here here{.token = tokens_.size()};
    if (at_ < text_.size() && text_[at_] == '-') here.is_indented = true, ++at_;
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    std::size_t end = at_;
    while (end < text_.size() && !is_blank(text_[end]) && text_[end] != '\n' && text_[end] != '>' && text_[end] != ';') ++end;
    bool is_literal = false;
    for (; at_ < end; ++at_) {
      const bool is_quote = text_[at_] == '\'' || text_[at_] == '"' || text_[at_] == '\\';
      is_literal = is_literal || is_quote;
      if (!is_quote) here.delimiter.push_back(text_[at_]);
    }
    tokens_.push_back({.kind = ShellToken::Kind::kHere, .text = {}, .is_literal = is_literal});
    waiting_.push_back(std::move(here));
  }

  // The bodies of here-documents begin on the line after.
  void take_bodies() {
    for (const Here& here : waiting_) {
      const std::size_t begin = at_;
      std::size_t line = at_;
      while (line < text_.size()) {
        const std::size_t end = std::min(text_.find('\n', line), text_.size());
        std::string_view word = text_.substr(line, end - line);
        if (here.is_indented) word.remove_prefix(std::min(word.find_first_not_of('\t'), word.size()));
        at_ = std::min(end + 1, text_.size());
        if (word == here.delimiter) break;
        line = at_;
      }
      tokens_[here.token].text = code_.slice(begin, std::max(begin, line));
    }
    waiting_.clear();
  }

  void read_word() {
    const std::size_t begin = at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_blank(c) || c == '\n' || c == ';' || c == '|' || c == '&' || c == '<' || c == '>' || c == ')') break;
      if (c == '(') {
        if (begin == at_) break;
        const AssignmentHead head = assignment_head(text_.substr(begin, at_ - begin));
        if (head.value == 0 || begin + head.value != at_) break;
        at_ = end_of_bracket(text_, at_ + 1, '(', ')');
        tokens_.push_back({.kind = ShellToken::Kind::kArray, .text = code_.slice(begin, at_), .split = head.value});
        return;
      }
      at_ = end_of_piece(text_, at_);
    }
    if (at_ == begin) ++at_;  // a stray sign
    tokens_.push_back({.kind = ShellToken::Kind::kWord, .text = code_.slice(begin, at_)});
  }

  struct Here {
    std::size_t token = 0;
    std::string delimiter = {};
    bool is_indented = false;
  };

  const TracedText& code_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<ShellToken> tokens_;
  std::vector<Here> waiting_;
};

}  // namespace

bool ShellToken::ends_command() const {
  if (kind != Kind::kOperator) return false;
  return text.text != ">" && text.text != ">>" && text.text != "<" && text.text != "<<<" && text.text != ">&";
}

std::size_t end_of_piece(std::string_view text, std::size_t i) {
  const char c = text[i];
  if (c == '\\') return std::min(i + 2, text.size());
  if (c == '\'') return std::min(text.find('\'', i + 1), text.size() - 1) + 1;
  if (c == '"' || c == '`') {
    const auto nests = [&](char inner) { return inner == '\\' || inner == '$' || (inner == '`' && c == '"'); };
    for (++i; i < text.size() && text[i] != c;) i = nests(text[i]) ? end_of_piece(text, i) : i + 1;
    return std::min(i + 1, text.size());
  }
  // Outside of $(...) a comment may hold a lone quote or bracket.
  if (c == '#' && i > 0 && (is_blank(text[i - 1]) || text[i - 1] == '\n')) return std::min(text.find('\n', i), text.size());
  if (c != '$' || i + 1 >= text.size()) return i + 1;
  if (text[i + 1] == '{') return end_of_bracket(text, i + 2, '{', '}');
  if (text[i + 1] == '(') return end_of_bracket(text, i + 2, '(', ')');
  return i + 2;
}

AssignmentHead assignment_head(std::string_view word) {
  std::size_t i = 0;
  while (i < word.size() && is_name_char(word[i])) ++i;
  if (i == 0 || (word[0] >= '0' && word[0] <= '9')) return {};
  AssignmentHead head{.name = word.substr(0, i)};
  if (i < word.size() && word[i] == '+') head.appends = true, ++i;
  if (i >= word.size() || word[i] != '=') return {};
  head.value = i + 1;
  return head;
}

std::vector<ShellToken> shell_tokens(const TracedText& code) { return Lexer(code).read(); }

}  // namespace lockstep
