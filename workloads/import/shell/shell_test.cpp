// SPDX-License-Identifier: Apache-2.0
#include "workloads/import/shell/shell_test.h"

#include <fnmatch.h>

#include <optional>

#include "workloads/import/shell/shell_variables.h"

namespace lockstep {
namespace {

ShellStatus status_of(bool holds) { return holds ? ShellStatus::kTrue : ShellStatus::kFalse; }

class Condition {
 public:
  explicit Condition(const std::vector<std::string>& words) : words_(words) {}

  ShellStatus whole() {
    if (words_.empty()) return ShellStatus::kFalse;
    const ShellStatus status = any(0);
    return at_ == words_.size() ? status : ShellStatus::kUndecided;
  }

 private:
  static constexpr int kMostBrackets = 32;
  [[nodiscard]] bool is_next(std::string_view word) const { return at_ < words_.size() && words_[at_] == word; }

  ShellStatus any(int depth) {
    ShellStatus status = all(depth);
    while (is_next("||") || is_next("-o")) {
      ++at_;
      const ShellStatus next = all(depth);
      if (status == ShellStatus::kTrue || next == ShellStatus::kTrue) {
        status = ShellStatus::kTrue;
      } else if (status == ShellStatus::kFalse) {
        status = next;
      }
    }
    return status;
  }

  ShellStatus all(int depth) {
    ShellStatus status = one(depth);
    while (is_next("&&") || is_next("-a")) {
      ++at_;
      const ShellStatus next = one(depth);
      if (status == ShellStatus::kFalse || next == ShellStatus::kFalse) {
        status = ShellStatus::kFalse;
      } else if (status == ShellStatus::kTrue) {
        status = next;
      }
    }
    return status;
  }

  ShellStatus one(int depth) {
    if (depth > kMostBrackets || at_ >= words_.size()) return ShellStatus::kUndecided;
    if (is_next("!")) return ++at_, negated(one(depth + 1));
    if (is_next("(")) {
      ++at_;
      const ShellStatus status = any(depth + 1);
      if (!is_next(")")) return ShellStatus::kUndecided;
      return ++at_, status;
    }
    const bool has_operator = at_ + 2 < words_.size() && is_binary(words_[at_ + 1]);
    if (has_operator) {
      at_ += 3;
      return binary(words_[at_ - 3], words_[at_ - 2], words_[at_ - 1]);
    }
    const std::string& word = words_[at_];
    if (word.size() == 2 && word[0] == '-' && at_ + 1 < words_.size()) {
      at_ += 2;
      if (word == "-z") return status_of(words_[at_ - 1].empty());
      if (word == "-n") return status_of(!words_[at_ - 1].empty());
      return ShellStatus::kUndecided;
    }
    return ++at_, status_of(!word.empty());
  }

  static bool is_binary(const std::string& w) {
    return w == "=" || w == "==" || w == "!=" || w == "=~" || w == "<" || w == ">" || w == "-eq" || w == "-ne" || w == "-lt" ||
           w == "-le" || w == "-gt" || w == "-ge";
  }

  static ShellStatus binary(const std::string& a, const std::string& sign, const std::string& b) {
    if (sign == "=" || sign == "==") return status_of(fnmatch(b.c_str(), a.c_str(), 0) == 0);
    if (sign == "!=") return status_of(fnmatch(b.c_str(), a.c_str(), 0) != 0);
    const std::optional<std::int64_t> left = shell_arithmetic(a);
    const std::optional<std::int64_t> right = shell_arithmetic(b);
    if (!left || !right) return ShellStatus::kUndecided;
    if (sign == "-eq") return status_of(*left == *right);
    if (sign == "-ne") return status_of(*left != *right);
    if (sign == "-lt") return status_of(*left < *right);
    if (sign == "-le") return status_of(*left <= *right);
    if (sign == "-gt") return status_of(*left > *right);
    if (sign == "-ge") return status_of(*left >= *right);
    return ShellStatus::kUndecided;
  }

  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
};

}  // namespace

ShellStatus shell_test(const std::vector<std::string>& words) { return Condition(words).whole(); }

}  // namespace lockstep
