// SPDX-License-Identifier: Apache-2.0
// Text in which every character knows where it was written, through any number of expansions: what an imported value is blamed on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

struct TracedText {
  // Stands for what cannot be known ($1, $(date)); never part of a text file (base/text_file.h).
  static constexpr char kUnknown = '\x01';

  TracedText() = default;
  // Written in one piece from `first` on.
  TracedText(std::string_view written, std::uint32_t first) : text(written) {
    at.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) at.push_back(first + static_cast<std::uint32_t>(i));
  }
  // Computed from what was written at `origin`.
  static TracedText computed(std::string_view value, std::uint32_t origin) {
    TracedText t;
    t.text = value;
    t.at.assign(t.text.size(), origin);
    return t;
  }

  void push(char c, std::uint32_t origin) {
    text.push_back(c);
    at.push_back(origin);
  }
  void append(const TracedText& other) {
    text += other.text;
    at.insert(at.end(), other.at.begin(), other.at.end());
  }
  [[nodiscard]] TracedText slice(std::size_t begin, std::size_t end) const {
    TracedText t;
    t.text = text.substr(begin, end - begin);
    t.at.assign(at.begin() + static_cast<std::ptrdiff_t>(begin), at.begin() + static_cast<std::ptrdiff_t>(end));
    return t;
  }
  [[nodiscard]] bool empty() const { return text.empty(); }
  [[nodiscard]] std::size_t size() const { return text.size(); }

  std::string text;
  std::vector<std::uint32_t> at;  // by character: its place in the source
};

}  // namespace lockstep
