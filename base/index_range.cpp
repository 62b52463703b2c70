// SPDX-License-Identifier: Apache-2.0
#include "base/index_range.h"

#include "base/wide.h"

namespace lockstep {
namespace {

constexpr std::int64_t kHighestIndex = std::int64_t{1} << 31;

Parsed<IndexRange> failure(std::string error) { return {std::nullopt, std::move(error), "like 12, 0-7 or 0-62:2"}; }

}  // namespace

std::int64_t index_count(std::span<const IndexRange> ranges) {
  std::int64_t count = 0;
  for (const IndexRange& r : ranges) count = checked_add(count, r.count());
  return count;
}

std::vector<std::int64_t> all_indices(std::span<const IndexRange> ranges) {
  std::vector<std::int64_t> out;
  for (const IndexRange& r : ranges) {
    for (std::int64_t i = r.first; i <= r.last; i += r.step) out.push_back(i);
  }
  return out;
}

Parsed<IndexRange> Codec<IndexRange>::parse(std::string_view text) {
  const std::size_t dash = text.find('-', 1);
  const std::size_t colon = dash == std::string_view::npos ? dash : text.find(':', dash);
  const Parsed<std::int64_t> first = parse_int(text.substr(0, dash));
  if (!first) return failure(first.error);
  IndexRange range(*first.value);
  if (dash != std::string_view::npos) {
    const Parsed<std::int64_t> last =
        parse_int(text.substr(dash + 1, colon == std::string_view::npos ? colon : colon - dash - 1));
    if (!last) return failure(last.error);
    range.last = *last.value;
  }
  if (colon != std::string_view::npos) {
    const Parsed<std::int64_t> step = parse_int(text.substr(colon + 1));
    if (!step) return failure(step.error);
    range.step = *step.value;
  }
  if (range.first < 0) return failure("'" + std::string(text) + "' counts from below 0");
  if (range.step < 1) return failure("'" + std::string(text) + "' has a step below 1");
  if (range.last > kHighestIndex || range.step > kHighestIndex) {
    return failure("'" + std::string(text) + "' goes beyond " + std::to_string(kHighestIndex));
  }
  if (range.last < range.first) return failure("'" + std::string(text) + "' runs backwards");
  return {range, {}, {}};
}

std::string Codec<IndexRange>::print(const IndexRange& v) {
  std::string text = std::to_string(v.first);
  if (v.first == v.last) return text;
  text += "-" + std::to_string(v.last);
  if (v.step != 1) text += ":" + std::to_string(v.step);
  return text;
}

}  // namespace lockstep
