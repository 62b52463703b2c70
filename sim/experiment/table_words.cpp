// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/table_words.h"

#include <algorithm>

namespace lockstep {
namespace {

constexpr std::int64_t kFastestNic = 800;  // Gb/s: ConnectX-8, the fastest on sale
constexpr std::int64_t kSlowestNic = 10;   // without a unit
constexpr std::int64_t kMost = 1'000'000;  // larger numbers are no count and no rate

bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }
bool is_gap(char c) { return c == ' ' || c == '-' || c == '_' || c == '.'; }
bool same_class(char a, char b) { return (is_digit(a) && is_digit(b)) || (is_letter(a) && is_letter(b)); }

// Where `word` ends if it begins at `at`, or npos.
std::size_t match_at(std::string_view text, std::size_t at, std::string_view word) {
  for (const char c : word) {
    if (c == ' ') {
      while (at < text.size() && is_gap(text[at])) ++at;
    } else {
      if (at >= text.size() || lower(text[at]) != c) return std::string_view::npos;
      ++at;
    }
  }
  return at;
}

// "8xH100": the x of a count is no part of the word.
bool follows_count(std::string_view text, std::size_t at) {
  return at >= 2 && lower(text[at - 1]) == 'x' && is_digit(text[at - 2]);
}

// A number at `at`, which moves behind it; nothing where there is none or it is out of all proportion.
std::optional<std::int64_t> number(std::string_view text, std::size_t& at) {
  if (at >= text.size() || !is_digit(text[at])) return {};
  std::int64_t value = 0;
  while (at < text.size() && is_digit(text[at])) value = std::min(kMost, value * 10 + (text[at++] - '0'));
  return value > 0 && value < kMost ? std::optional(value) : std::nullopt;
}

void skip_spaces(std::string_view text, std::size_t& at) {
  while (at < text.size() && text[at] == ' ') ++at;
}

// The x of "8x400G", also as the multiplication sign.
bool times(std::string_view text, std::size_t& at) {
  constexpr std::string_view kSign = "\xC3\x97";
  if (at < text.size() && lower(text[at]) == 'x') {
    ++at;
    return true;
  }
  if (text.substr(at).starts_with(kSign)) {
    at += kSign.size();
    return true;
  }
  return false;
}

struct Rate {
  std::int64_t gbps = 0;
  bool has_unit = false;
};

// Gb/s in the unit at `at`, behind spaces; 0 where there is no unit.
std::int64_t unit_gbps(std::string_view text, std::size_t at) {
  skip_spaces(text, at);
  if (at >= text.size() || lower(text[at]) != 'g') return 0;
  const std::string_view rest = text.substr(at);
  if (rest.starts_with("GB/s") || rest.starts_with("GBps")) return 8;
  // "400G" and its longer forms, but not the G of another word ("4 GPUs").
  std::size_t end = 1;
  while (end < rest.size() && is_letter(rest[end])) ++end;
  for (const std::string_view known : {"g", "gb", "gbe", "gbit", "gbps", "gbits"}) {
    if (rest.size() >= known.size() && end == known.size() && match_at(rest, 0, known) == end) return 1;
  }
  return 0;
}

// "400G", "400 Gb/s", "3.2 Tbps" is not read.
std::optional<Rate> rate(std::string_view text, std::size_t& at) {
  const std::optional<std::int64_t> value = number(text, at);
  if (!value) return {};
  const std::int64_t unit = unit_gbps(text, at);
  return unit > 0 ? Rate{*value * unit, true} : Rate{*value, false};
}

bool starts_number(std::string_view text, std::size_t at) {
  return is_digit(text[at]) && (at == 0 || (!is_digit(text[at - 1]) && text[at - 1] != '.'));
}

}  // namespace

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (at > 0 && same_class(text[at - 1], text[at]) && !follows_count(text, at)) continue;
    const std::size_t end = match_at(text, at, word);
    if (end == std::string_view::npos) continue;
    if (end >= text.size() || !same_class(text[end - 1], text[end])) return true;
  }
  return false;
}

NicWords read_nics(std::string_view text) {
  NicWords out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!starts_number(text, at)) continue;
    std::size_t end = at;
    out.has_bad_rate = out.has_bad_rate || (!number(text, end) && unit_gbps(text, end) > 0);
  }
  std::optional<std::int64_t> lone_count;
  std::optional<std::pair<Rate, std::size_t>> lone_rate;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!starts_number(text, at)) continue;
    std::size_t end = at;
    const std::optional<std::int64_t> first = number(text, end);
    if (!first) continue;
    skip_spaces(text, end);
    if (times(text, end)) {
      skip_spaces(text, end);
      // "2x8 nodes" is no rate.
      if (const std::optional<Rate> r = rate(text, end); r && (r->has_unit || r->gbps >= kSlowestNic)) {
        out.count = *first;
        out.gbps = r->gbps;
        return out;
      }
      if (!lone_count) lone_count = *first;
      continue;
    }
    end = at;
    if (const std::optional<Rate> r = rate(text, end); r && r->has_unit && !lone_rate) lone_rate = {*r, end};
  }
  out.count = lone_count;
  if (!lone_rate) return out;
  const auto& [lone, end] = *lone_rate;
  const std::string_view rest = text.substr(end);
  const bool is_per_node = rest.find("per node") != std::string_view::npos || rest.find("/node") != std::string_view::npos;
  const bool is_of_node = lone.gbps > kFastestNic || (is_per_node && !out.count);
  (is_of_node ? out.gbps_of_node : out.gbps) = lone.gbps;
  return out;
}

}  // namespace lockstep
