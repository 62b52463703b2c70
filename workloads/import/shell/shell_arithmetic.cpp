// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "workloads/import/shell/shell_variables.h"

namespace lockstep {
namespace {

// sum := product (+|- product)*, product := factor (*|/|% factor)*, factor := number | - factor | ( sum ).
class Arithmetic {
 public:
  explicit Arithmetic(std::string_view text) : text_(text) {}

  std::optional<std::int64_t> whole() {
    const std::optional<std::int64_t> value = sum(0);
    return skip_blanks() == '\0' && at_ == text_.size() ? value : std::nullopt;
  }

 private:
  using Value = std::optional<std::int64_t>;
  static constexpr int kMostBrackets = 64;

  char skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  static Value apply(char sign, std::int64_t a, std::int64_t b) {
    std::int64_t out = 0;
    const bool divides = sign == '/' || sign == '%';
    if (divides && (b == 0 || b == -1)) return b == 0 ? Value() : sign == '%' ? Value(0) : apply('-', 0, a);
    if (sign == '/') return a / b;
    if (sign == '%') return a % b;
    const bool overflows = sign == '+'   ? __builtin_add_overflow(a, b, &out)
                           : sign == '-' ? __builtin_sub_overflow(a, b, &out)
                                         : __builtin_mul_overflow(a, b, &out);
    return overflows ? Value() : Value(out);
  }

  Value sum(int depth) {
    Value value = product(depth);
    for (char c = skip_blanks(); value && (c == '+' || c == '-'); c = skip_blanks()) {
      ++at_;
      const Value next = product(depth);
      value = next ? apply(c, *value, *next) : Value();
    }
    return value;
  }

  Value product(int depth) {
    Value value = factor(depth);
    for (char c = skip_blanks(); value && (c == '*' || c == '/' || c == '%'); c = skip_blanks()) {
      ++at_;
      const Value next = factor(depth);
      value = next ? apply(c, *value, *next) : Value();
    }
    return value;
  }

  Value factor(int depth) {
    if (depth > kMostBrackets) return {};
    const char c = skip_blanks();
    if (c == '-') {
      ++at_;
      const Value value = factor(depth + 1);
      return value ? apply('-', 0, *value) : Value();
    }
    if (c == '(') {
      ++at_;
      const Value value = sum(depth + 1);
      if (skip_blanks() != ')') return {};
      ++at_;
      return value;
    }
    std::int64_t number = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
    if (error != std::errc()) return {};
    at_ += static_cast<std::size_t>(end - begin);
    return number;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::int64_t> shell_arithmetic(std::string_view expression) { return Arithmetic(expression).whole(); }

}  // namespace lockstep
