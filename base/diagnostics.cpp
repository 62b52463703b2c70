// SPDX-License-Identifier: Apache-2.0
#include "base/diagnostics.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace lockstep {
namespace {

std::string first_error(const Diagnostics& d) {
  for (const Diagnostic& item : d.items()) {
    if (item.severity == Severity::kError) return to_text(item);
  }
  return "no error";
}

Diagnostics single_error(std::string message, std::string hint) {
  Diagnostics d;
  d.error({}, {}, std::move(message), std::move(hint));
  return d;
}

// Optimal string alignment: insert, delete, substitute, swap of neighbours, each of cost 1.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, substitute});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) next[j] = std::min(next[j], before[j - 2] + 1);
    }
    std::swap(before, row);
    std::swap(row, next);
  }
  return row[b.size()];
}

bool differ_in_case_only(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

constexpr std::size_t kLongestWord = 64;  // nobody mistypes more, and the distance is quadratic

}  // namespace

std::string to_text(const Diagnostic& d) {
  std::string text = d.position.file;
  if (d.position.line > 0) text += fmt::format(":{}:{}", d.position.line, d.position.column);
  if (!text.empty()) text += ": ";
  text += d.severity == Severity::kError ? "error: " : "warning: ";
  if (!d.path.empty()) text += d.path + ": ";
  text += d.message;
  if (!d.hint.empty()) text += " (" + d.hint + ")";
  return text;
}

void Diagnostics::add(Diagnostic d) {
  if (d.severity == Severity::kError) ++error_count_;
  items_.push_back(std::move(d));
}

void Diagnostics::error(Position position, std::string path, std::string message, std::string hint) {
  add({Severity::kError, std::move(position), std::move(path), std::move(message), std::move(hint)});
}

void Diagnostics::warning(Position position, std::string path, std::string message, std::string hint) {
  add({Severity::kWarning, std::move(position), std::move(path), std::move(message), std::move(hint)});
}

std::vector<Diagnostic> Diagnostics::in_reading_order() const {
  std::vector<std::string> files;
  const auto file_rank = [&](const Diagnostic& d) {
    return std::find(files.begin(), files.end(), d.position.file) - files.begin();
  };
  for (const Diagnostic& d : items_) {
    if (static_cast<std::size_t>(file_rank(d)) == files.size()) files.push_back(d.position.file);
  }
  std::vector<Diagnostic> sorted = items_;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Diagnostic& a, const Diagnostic& b) {
    return std::tuple(file_rank(a), a.position.line, a.position.column) <
           std::tuple(file_rank(b), b.position.line, b.position.column);
  });
  return sorted;
}

UserError::UserError(Diagnostics d) : std::runtime_error(first_error(d)), diagnostics_(std::move(d)) {}

UserError::UserError(std::string message, std::string hint) : UserError(single_error(std::move(message), std::move(hint))) {}

void throw_if_errors(const Diagnostics& d) {
  if (d.has_errors()) throw UserError(d);
}

std::string closest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > kLongestWord) return {};
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestWord) continue;
    if (differ_in_case_only(word, candidate)) return candidate;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace lockstep
