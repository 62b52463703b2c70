// SPDX-License-Identifier: Apache-2.0
#include "workloads/import/shell/shell_run.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>

namespace lockstep {
namespace {

constexpr std::array<std::string_view, 8> kStopWords = {"then", "elif", "else", "fi", "do", "done", "esac", "}"};
constexpr int kMostCommands = 100'000;
constexpr int kMostDepth = 64;

bool is_declaration(const ShellToken& t) {
  return t.is_word("export") || t.is_word("declare") || t.is_word("local") || t.is_word("readonly") || t.is_word("typeset");
}

}  // namespace

void ShellRun::run() {
  while (!at_end()) {
    list(Mode::kRun);
    if (!at_end()) ++at_;  // a stop word without its beginning
  }
}

bool ShellRun::at_stop() const {
  if (at_end() || is_sign(")") || is_sign(";;")) return true;
  return token().kind == ShellToken::Kind::kWord &&
         std::find(kStopWords.begin(), kStopWords.end(), token().text.text) != kStopWords.end();
}

void ShellRun::skip_separators() {
  while (is_sign("\n") || is_sign(";") || is_sign("&")) ++at_;
}

void ShellRun::skip_to_end_of_command() {
  while (!at_end() && !token().ends_command()) ++at_;
}

ShellRun::Mode ShellRun::branch(Mode outer, ShellStatus status) {
  if (outer != Mode::kRun) return outer;
  if (status == ShellStatus::kUndecided) return Mode::kDoubt;
  return status == ShellStatus::kTrue ? Mode::kRun : Mode::kSkip;
}

ShellStatus ShellRun::list(Mode mode) {
  ShellStatus status = ShellStatus::kTrue;
  for (skip_separators(); !at_stop(); skip_separators()) {
    const std::size_t before = at_;
    status = chain(is_over_ ? Mode::kSkip : mode);
    if (at_ == before) ++at_;
  }
  return status;
}

ShellStatus ShellRun::chain(Mode mode) {
  ShellStatus status = command(mode);
  while (is_sign("&&") || is_sign("||") || is_sign("|")) {
    const std::string sign = token().text.text;
    ++at_;
    while (is_sign("\n")) ++at_;
    if (sign == "|") {
      status = command(mode);
      continue;
    }
    const Mode next = branch(mode, sign == "&&" ? status : negated(status));
    const ShellStatus ran = command(is_over_ ? Mode::kSkip : next);
    if (next == Mode::kRun) status = ran;
  }
  return status;
}

ShellStatus ShellRun::command(Mode mode) {
  if (at_end() || depth_ > kMostDepth) return skip_to_end_of_command(), ShellStatus::kTrue;
  ++depth_;
  ShellStatus status = ShellStatus::kTrue;
  bool is_compound = true;
  if (is_word("!")) {
    ++at_;
    status = negated(command(mode));
    is_compound = false;
  } else if (is_word("if")) {
    status = compound_if(mode);
  } else if (is_word("for")) {
    compound_for(mode);
  } else if (is_word("while") || is_word("until")) {
    compound_while();
  } else if (is_word("case")) {
    compound_case(mode);
  } else if (is_word("{") || is_sign("(")) {
    ++at_;
    status = list(mode);
    if (!at_end()) ++at_;
  } else if (is_word("[[")) {
    status = brackets(mode);
  } else if (at_function()) {
    function(mode);
  } else {
    status = simple(mode);
    is_compound = false;
  }
  if (is_compound) skip_to_end_of_command();  // its redirections
  --depth_;
  return status;
}

ShellStatus ShellRun::compound_if(Mode mode) {
  Mode rest = mode;  // of the branches still to come
  ShellStatus status = ShellStatus::kTrue;
  while (is_word("if") || is_word("elif")) {
    const TracedText keyword = token().text;
    ++at_;
    const ShellStatus holds = list(rest);
    if (is_word("then")) ++at_;
    const Mode body = branch(rest, holds);
    const bool mattered = std::exchange(matters_, false);
    const ShellStatus ran = list(body);
    if (body == Mode::kDoubt && rest == Mode::kRun && matters_) {
      d_.warning(script_.position(keyword), {}, "whether this holds is not known: the lines below it are left out",
                 "if they should count, take them out of the condition");
    }
    matters_ = mattered || (matters_ && mode == Mode::kDoubt);
    if (body == Mode::kRun) {
      status = ran;
      rest = Mode::kSkip;
    }
  }
  if (is_word("else")) {
    ++at_;
    const ShellStatus ran = list(rest);
    if (rest == Mode::kRun) status = ran;
  }
  if (is_word("fi")) ++at_;
  return status;
}

void ShellRun::compound_for(Mode mode) {
  ++at_;
  const std::string name = at_end() ? std::string() : token().text.text;
  std::vector<TracedText> items;
  bool has_list = false;
  for (++at_; !at_end() && !is_sign("\n") && !is_sign(";") && !is_word("do"); ++at_) {
    if (is_word("in")) {
      has_list = true;
    } else if (has_list && mode == Mode::kRun && token().kind == ShellToken::Kind::kWord) {
      for (TracedText& field : script_.variables_.fields(token().text)) items.push_back(std::move(field));
    }
  }
  while (!at_end() && !is_word("do")) ++at_;
  if (!at_end()) ++at_;
  const std::size_t body = at_;
  if (mode != Mode::kRun || items.empty()) list(mode == Mode::kRun ? Mode::kSkip : mode);
  for (const TracedText& item : items) {
    at_ = body;
    script_.variables_.assign(name, {{item}, false}, false);
    list(executed_ < kMostCommands ? mode : Mode::kSkip);
  }
  if (is_word("done")) ++at_;
}

void ShellRun::compound_while() {
  ++at_;
  list(Mode::kSkip);
  if (is_word("do")) ++at_;
  list(Mode::kSkip);
  if (is_word("done")) ++at_;
}

void ShellRun::compound_case(Mode mode) {
  ++at_;
  script_.variables_.set_unknown_is_empty(true);
  const std::string word = at_end() ? std::string() : script_.variables_.text(token().text).text;
  script_.variables_.set_unknown_is_empty(false);
  while (!at_end() && !is_word("in")) ++at_;
  if (!at_end()) ++at_;
  bool is_taken = mode != Mode::kRun;
  for (skip_separators(); !at_end() && !is_word("esac"); skip_separators()) {
    bool fits = false;
    for (; !at_end() && !is_sign(")"); ++at_) {
      if (token().kind != ShellToken::Kind::kWord || is_taken) continue;
      fits = fits || fnmatch(script_.variables_.text(token().text).text.c_str(), word.c_str(), 0) == 0;
    }
    if (!at_end()) ++at_;
    list(is_taken && mode == Mode::kDoubt ? Mode::kDoubt : fits && !is_taken ? Mode::kRun : Mode::kSkip);
    is_taken = is_taken || fits;
    if (!is_sign(";;") && !is_word("esac") && !at_end()) ++at_;
    if (is_sign(";;")) ++at_;
  }
  if (!at_end()) ++at_;
}

bool ShellRun::at_function() const {
  if (is_word("function")) return true;
  return token().kind == ShellToken::Kind::kWord && at_ + 2 < tokens_.size() && tokens_[at_ + 1].is_operator("(") &&
         tokens_[at_ + 2].is_operator(")");
}

void ShellRun::function(Mode mode) {
  if (is_word("function")) ++at_;
  const std::string name = at_end() ? std::string() : token().text.text;
  if (!at_end()) ++at_;
  while (is_sign("(") || is_sign(")") || is_sign("\n")) ++at_;
  if (mode == Mode::kRun) functions_[name] = at_;
  if (!at_end()) command(Mode::kSkip);
}

void ShellRun::call(std::size_t body, const std::vector<TracedText>& fields) {
  const std::size_t back = at_;
  ShellValue all{{fields.begin() + 1, fields.end()}, true};
  for (std::size_t i = 1; i < fields.size(); ++i) script_.variables_.assign(std::to_string(i), {{fields[i]}, false}, false);
  script_.variables_.assign("@", all, false);
  script_.variables_.assign("*", all, false);
  at_ = body;
  command(Mode::kRun);
  is_over_ = false;
  at_ = back;
}

ShellStatus ShellRun::brackets(Mode mode) {
  std::vector<std::string> words;
  script_.variables_.set_unknown_is_empty(true);
  for (++at_; !at_end() && !is_word("]]"); ++at_) {
    if (is_sign("\n")) continue;
    const bool expands = token().kind == ShellToken::Kind::kWord && mode == Mode::kRun;
    words.push_back(expands ? script_.variables_.text(token().text).text : token().text.text);
  }
  script_.variables_.set_unknown_is_empty(false);
  if (!at_end()) ++at_;
  return mode == Mode::kRun ? shell_test(words) : ShellStatus::kTrue;
}

void ShellRun::assign(const ShellToken& t) {
  ShellVariables& variables = script_.variables_;
  const AssignmentHead head = assignment_head(t.text.text);
  ShellValue value{.items = {}, .is_array = t.kind == ShellToken::Kind::kArray};
  if (value.is_array) {
    const std::size_t end = t.text.size() - (t.text.text.ends_with(')') ? 1 : 0);
    value.items = script_.words_of(t.text.slice(std::min(head.value + 1, end), end));
  } else {
    value.items = {variables.text(t.text.slice(head.value, t.text.size()))};
  }
  variables.assign(std::string(head.name), std::move(value), head.appends);
}

ShellStatus ShellRun::simple(Mode mode) {
  std::vector<const ShellToken*> words;
  std::vector<TracedText> here;
  std::string target;
  const bool declares = is_declaration(token());
  if (declares) ++at_;
  for (; !at_end() && !token().ends_command(); ++at_) {
    const ShellToken& t = token();
    if (t.kind == ShellToken::Kind::kHere) {
      if (mode == Mode::kRun) here.push_back(t.is_literal ? t.text : script_.variables_.text(t.text, true));
    } else if (t.kind == ShellToken::Kind::kOperator) {
      const bool is_output = t.text.text.front() == '>' && t.text.text != ">&";
      // The number of a descriptor stands right before the sign: 2>&1.
      const bool has_number = !words.empty() && !words.back()->text.empty() && !t.text.at.empty() &&
                              words.back()->text.at.back() + 1 == t.text.at.front() &&
                              words.back()->text.text.find_first_not_of("0123456789") == std::string::npos;
      if (has_number) words.pop_back();
      if (at_ + 1 < tokens_.size() && tokens_[at_ + 1].kind == ShellToken::Kind::kWord) {
        ++at_;
        if (is_output && mode == Mode::kRun) target = script_.variables_.text(token().text).text;
      }
    } else if (t.kind == ShellToken::Kind::kArray || ((declares || words.empty()) && assignment_head(t.text.text).value > 0)) {
      if (mode == Mode::kRun) assign(t);
      matters_ = matters_ || mode == Mode::kDoubt;
    } else {
      words.push_back(&t);
      matters_ = matters_ || (mode == Mode::kDoubt && t.text.text.starts_with("--"));
    }
  }
  if (mode != Mode::kRun || declares || words.empty()) return ShellStatus::kTrue;
  const bool is_test = words.front()->is_word("[") || words.front()->is_word("test");
  script_.variables_.set_unknown_is_empty(is_test);
  std::vector<TracedText> fields;
  for (const ShellToken* w : words) {
    for (TracedText& field : script_.variables_.fields(w->text)) fields.push_back(std::move(field));
  }
  script_.variables_.set_unknown_is_empty(false);
  return execute(std::move(fields), here, target);
}

ShellStatus ShellRun::execute(std::vector<TracedText> fields, const std::vector<TracedText>& here, const std::string& target) {
  if (fields.empty() || ++executed_ > kMostCommands) return ShellStatus::kTrue;
  const std::string& name = fields.front().text;
  if (name == "exit" || name == "return") return is_over_ = true, ShellStatus::kTrue;
  if (name == ":" || name == "true") return ShellStatus::kTrue;
  if (name == "false") return ShellStatus::kFalse;
  if (name == "[" || name == "test") {
    std::vector<std::string> words;
    for (std::size_t i = 1; i < fields.size(); ++i) words.push_back(fields[i].text);
    if (name == "[" && !words.empty() && words.back() == "]") words.pop_back();
    return shell_test(words);
  }
  if ((name == "cat" || name == "echo" || name == "tee" || name == "printf") && (!target.empty() || !here.empty())) {
    TracedText content;
    for (std::size_t i = 1; i < fields.size() && here.empty(); ++i) content.append(fields[i]);
    for (const TracedText& body : here) content.append(body);
    const std::string& file = target.empty() && fields.size() > 1 ? fields.back().text : target;
    script_.files_[file] = std::move(content);
    return ShellStatus::kTrue;
  }
  if (const auto found = functions_.find(name); found != functions_.end())
    return call(found->second, fields), ShellStatus::kTrue;
  script_.commands_.push_back({std::move(fields)});
  return ShellStatus::kTrue;
}

}  // namespace lockstep
