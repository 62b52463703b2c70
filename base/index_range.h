// SPDX-License-Identifier: Apache-2.0
// Numbers in a list as people write them: one number, a range 0-7, or every n-th of a range 0-62:2. Both ends belong to it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/value_codec.h"

namespace lockstep {

struct IndexRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t step = 1;

  constexpr IndexRange() = default;
  constexpr IndexRange(std::int64_t one) : first(one), last(one) {}  // NOLINT(google-explicit-constructor): a list of numbers
  constexpr IndexRange(std::int64_t from, std::int64_t to, std::int64_t by) : first(from), last(to), step(by) {}
  [[nodiscard]] constexpr std::int64_t count() const { return (last - first) / step + 1; }
  [[nodiscard]] constexpr std::int64_t highest() const { return first + (count() - 1) * step; }
  auto operator<=>(const IndexRange&) const = default;
};

[[nodiscard]] std::int64_t index_count(std::span<const IndexRange> ranges);
// In order, one after the other. PRE: index_count() fits in memory.
[[nodiscard]] std::vector<std::int64_t> all_indices(std::span<const IndexRange> ranges);

// Indices are 0 to 2^31.
template <>
struct Codec<IndexRange> {
  static constexpr std::string_view type = "number or range", unit = "N, FIRST-LAST or FIRST-LAST:STEP";
  static Parsed<IndexRange> parse(std::string_view text);
  static std::string print(const IndexRange& v);
};

}  // namespace lockstep
