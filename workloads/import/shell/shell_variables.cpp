// SPDX-License-Identifier: Apache-2.0
#include "workloads/import/shell/shell_variables.h"

#include <algorithm>

#include "workloads/import/shell/shell_lexer.h"

namespace lockstep {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Names in an expression that are not behind a $, as $((A * B)) has them.
std::string with_dollars(std::string_view expression) {
  std::string out;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char before = i == 0 ? ' ' : expression[i - 1];
    const bool begins = is_name_start(expression[i]) && !is_name_start(before) && !is_digit(before) && before != '$' &&
                        before != '{' && before != '\x01';
    if (begins) out += '$';
    out += expression[i];
  }
  return out;
}

constexpr int kMostNested = 32;

}  // namespace

// Expands one word, left to right.
class WordExpander {
 public:
  WordExpander(ShellVariables& variables, int depth) : variables_(variables), depth_(depth) {}

  void expand(const TracedText& word, bool is_quoted) {
    const std::string_view text = word.text;
    for (std::size_t i = 0; i < text.size();) {
      const char c = text[i];
      const std::size_t end = end_of_piece(text, i);
      if (c == '$' && i + 1 < text.size()) {
        i = dollar(word, i, is_quoted);
      } else if (c == '`') {
        add({unknown("`...`", word.at[i])}, true);
        i = end;
      } else if (c == '\\') {
        i = backslash(word, i, is_quoted);
      } else if (c == '\'' && !is_quoted) {
        is_open_ = true;
        current_.append(word.slice(i + 1, std::max(i + 1, end - 1)));
        i = end;
      } else if (c == '"' && !is_quoted) {
        is_open_ = true;
        expand(word.slice(i + 1, std::max(i + 1, end - 1)), true);
        i = end;
      } else {
        is_open_ = true;
        current_.push(c, word.at[i]);
        ++i;
      }
    }
  }

  std::vector<TracedText> take() {
    close();
    return std::move(fields_);
  }

 private:
  void close() {
    if (is_open_) fields_.push_back(std::move(current_));
    current_ = {};
    is_open_ = false;
  }

  std::size_t backslash(const TracedText& word, std::size_t i, bool is_quoted) {
    const char next = i + 1 < word.size() ? word.text[i + 1] : '\\';
    if (next == '\n') return i + 2;
    const bool escapes = !is_quoted || next == '"' || next == '\\' || next == '$' || next == '`';
    is_open_ = true;
    if (!escapes) current_.push('\\', word.at[i]);
    current_.push(next, word.at[std::min(i + 1, word.size() - 1)]);
    return i + 2;
  }

  TracedText unknown(std::string name, std::uint32_t place) {
    if (variables_.unknown_is_empty_) return {};
    variables_.unknown_.emplace(place, std::move(name));
    return TracedText::computed(std::string(1, TracedText::kUnknown), place);
  }

  // Items of one expansion: unquoted ones are split, the items of an array are fields of their own either way.
  void add(const std::vector<TracedText>& items, bool is_quoted) {
    for (std::size_t k = 0; k < items.size(); ++k) {
      if (k > 0) close();
      if (is_quoted) {
        is_open_ = true;
        current_.append(items[k]);
        continue;
      }
      for (std::size_t i = 0; i < items[k].size(); ++i) {
        if (is_blank(items[k].text[i])) {
          close();
        } else {
          is_open_ = true;
          current_.push(items[k].text[i], items[k].at[i]);
        }
      }
    }
  }

  std::size_t dollar(const TracedText& word, std::size_t i, bool is_quoted) {
    const std::string_view text = word.text;
    const std::uint32_t place = word.at[i];
    const char next = text[i + 1];
    const std::size_t end = end_of_piece(text, i);
    if (text.substr(i, 3) == "$((" && end >= i + 5 && text.substr(end - 2, 2) == "))") {
      add({arithmetic(word.slice(i + 3, end - 2), place)}, is_quoted);
      return end;
    }
    if (next == '(') {
      add({unknown("$(...)", place)}, is_quoted);
      return end;
    }
    if (next == '{') {
      add(braces(word.slice(i + 2, std::max(i + 2, end - 1)), place, is_quoted), is_quoted);
      return end;
    }
    std::size_t stop = i + 1;
    while (stop < text.size() && (is_name_start(text[stop]) || (is_digit(text[stop]) && is_name_start(next)))) ++stop;
    if (stop == i + 1 && (is_digit(next) || next == '@' || next == '*' || next == '#' || next == '?')) ++stop;
    if (stop == i + 1) {
      is_open_ = true;
      current_.push('$', place);
      return i + 1;
    }
    add(values(std::string(text.substr(i + 1, stop - i - 1)), {}, place, is_quoted), is_quoted);
    return stop;
  }

  // NAME[index] as a list: one item, or with @ and unquoted * all. Unknown when there is no such variable.
  std::vector<TracedText> values(const std::string& name, std::string_view index, std::uint32_t place, bool is_quoted) {
    const ShellValue* found = variables_.find(name);
    if (found == nullptr) return {unknown("$" + name, place)};
    const bool is_all = index == "@" || index == "*" || name == "@" || name == "*";
    if (is_all && index != "*") return found->items;
    if (is_all && !is_quoted) return found->items;
    if (is_all) {
      TracedText joined;
      for (const TracedText& item : found->items) {
        if (!joined.empty()) joined.push(' ', item.at.empty() ? place : item.at.front());
        joined.append(item);
      }
      return {joined};
    }
    const std::optional<std::int64_t> number = index.empty() ? std::optional<std::int64_t>(0) : shell_arithmetic(index);
    if (!number) return {unknown("${" + name + "[" + std::string(index) + "]}", place)};
    if (*number < 0 || *number >= static_cast<std::int64_t>(found->items.size())) return {TracedText()};
    return {found->items[static_cast<std::size_t>(*number)]};
  }

  TracedText nested(const TracedText& word) {
    if (depth_ >= kMostNested) return {};
    WordExpander inner(variables_, depth_ + 1);
    inner.expand(word, false);
    TracedText joined;
    for (const TracedText& field : inner.take()) {
      if (!joined.empty()) joined.push(' ', field.at.empty() ? 0 : field.at.front());
      joined.append(field);
    }
    return joined;
  }

  // What stands between ${ and }.
  std::vector<TracedText> braces(const TracedText& inside, std::uint32_t place, bool is_quoted) {
    const std::string_view text = inside.text;
    const bool counts = text.size() > 1 && text[0] == '#';
    std::size_t i = counts ? 1 : 0;
    const std::size_t begin = i;
    while (i < text.size() &&
           (is_name_start(text[i]) || is_digit(text[i]) || (i == begin && (text[i] == '@' || text[i] == '*'))))
      ++i;
    const std::string name(text.substr(begin, i - begin));
    std::string_view index;
    if (i < text.size() && text[i] == '[') {
      const std::size_t close = std::min(text.find(']', i), text.size());
      index = text.substr(i + 1, close - i - 1);
      i = std::min(close + 1, text.size());
    }
    const std::string_view rest = text.substr(i);
    const ShellValue* found = variables_.find(name);
    if (counts) return {found == nullptr ? unknown("${" + std::string(text) + "}", place) : count(*found, index, place)};
    if (rest.empty()) return values(name, index, place, is_quoted);
    if (rest == ",," || rest == "^^") {
      std::vector<TracedText> items = values(name, index, place, is_quoted);
      for (TracedText& item : items) change_case(item, rest == "^^");
      return items;
    }
    const bool treats_empty = rest[0] == ':';
    const std::string_view operation = rest.substr(treats_empty ? 1 : 0, 1);
    const bool is_there = found != nullptr && !found->items.empty() && !(treats_empty && found->items.front().empty());
    const TracedText word = inside.slice(std::min(i + (treats_empty ? 2u : 1u), text.size()), text.size());
    if (operation == "+") return {is_there ? nested(word) : TracedText()};
    if (operation != "-" && operation != "=" && operation != "?") return {unknown("${" + std::string(text) + "}", place)};
    if (is_there || operation == "?") return values(name, index, place, is_quoted);
    const TracedText fallback = nested(word);
    if (operation == "=") variables_.assign(name, {{fallback}, false}, false);
    return {fallback};
  }

  static TracedText count(const ShellValue& value, std::string_view index, std::uint32_t place) {
    const bool of_items = index == "@" || index == "*";
    const std::size_t n = of_items ? value.items.size() : value.items.empty() ? 0 : value.items.front().size();
    return TracedText::computed(std::to_string(n), place);
  }

  static void change_case(TracedText& t, bool is_upper) {
    for (char& c : t.text) {
      if (is_upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
      if (!is_upper && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
  }

  TracedText arithmetic(const TracedText& expression, std::uint32_t place) {
    const TracedText text = nested(TracedText::computed(with_dollars(expression.text), place));
    const std::optional<std::int64_t> value = shell_arithmetic(text.text);
    return value ? TracedText::computed(std::to_string(*value), place) : unknown("$((" + expression.text + "))", place);
  }

  ShellVariables& variables_;
  int depth_;
  std::vector<TracedText> fields_;
  TracedText current_;
  bool is_open_ = false;
};

void ShellVariables::fix(const std::string& name, TracedText value) { fixed_[name] = {{std::move(value)}, false}; }

void ShellVariables::assign(const std::string& name, ShellValue value, bool appends) {
  ShellValue& old = values_[name];
  if (!appends) {
    old = std::move(value);
  } else if (value.is_array) {
    old.is_array = true;
    old.items.insert(old.items.end(), value.items.begin(), value.items.end());
  } else {
    if (old.items.empty()) old.items.emplace_back();
    for (const TracedText& item : value.items) old.items.front().append(item);
  }
}

const ShellValue* ShellVariables::find(const std::string& name) const {
  if (const auto fixed = fixed_.find(name); fixed != fixed_.end()) return &fixed->second;
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

std::vector<TracedText> ShellVariables::fields(const TracedText& word) {
  WordExpander expander(*this, 0);
  expander.expand(word, false);
  return expander.take();
}

TracedText ShellVariables::text(const TracedText& word, bool is_quoted) {
  // In an assignment nothing is split: expanding as if quoted, but with quotes taken away, is the same as joining what was split.
  WordExpander expander(*this, 0);
  if (is_quoted) {
    expander.expand(word, true);
  } else {
    for (std::size_t i = 0; i < word.size();) {
      std::size_t end = end_of_piece(word.text, i);
      const bool is_bare = word.text[i] == '$' || word.text[i] == '`';
      const bool is_name = is_bare && i + 1 < word.size() && is_name_start(word.text[i + 1]);
      while (is_name && end < word.size() && (is_name_start(word.text[end]) || is_digit(word.text[end]))) ++end;
      expander.expand(word.slice(i, end), is_bare);
      i = end;
    }
  }
  TracedText joined;
  for (const TracedText& field : expander.take()) {
    if (!joined.empty()) joined.push(' ', field.at.empty() ? 0 : field.at.front());
    joined.append(field);
  }
  return joined;
}

std::string ShellVariables::unknown_at(std::uint32_t place) const {
  const auto found = unknown_.find(place);
  return found == unknown_.end() ? std::string("something unknown") : found->second;
}

}  // namespace lockstep
