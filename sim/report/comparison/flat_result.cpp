// SPDX-License-Identifier: Apache-2.0
#include "sim/report/comparison/flat_result.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/text_file.h"

namespace lockstep {
namespace {

constexpr const char* kBlank = " \t\r\n\xEF\xBB\xBF";  // and the mark of byte order

}  // namespace

const char* to_text(ValueKind kind) {
  switch (kind) {
    case ValueKind::kNumber:
      return "a number";
    case ValueKind::kFlag:
      return "true or false";
    case ValueKind::kWord:
      break;
  }
  return "text";
}

std::uint32_t FlatResult::metric_index(const std::string& name) {
  const auto known = std::find(metrics.begin(), metrics.end(), name);
  if (known == metrics.end()) {
    metrics.push_back(name);
    return static_cast<std::uint32_t>(metrics.size() - 1);
  }
  return static_cast<std::uint32_t>(known - metrics.begin());
}

void number_equal_keys(std::vector<ResultRow>& rows) {
  std::unordered_map<std::string, std::size_t> seen;
  for (ResultRow& row : rows) {
    const std::size_t count = ++seen[row.key];
    if (count > 1) row.key += fmt::format(" #{}", count);
  }
}

std::optional<FlatResult> parse_result(std::string_view text, const std::string& source, const std::vector<std::string>& keys,
                                       Diagnostics& d) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string::npos) {
    d.error({source, 0, 0}, {}, "is empty");
    return std::nullopt;
  }
  const bool is_json = text[first] == '{' || text[first] == '[';
  std::optional<FlatResult> result = is_json ? flatten_json(text, source, d) : flatten_csv(text, source, keys, d);
  if (!result) return std::nullopt;
  result->source = source;
  number_equal_keys(result->rows);
  return result;
}

std::optional<FlatResult> read_result(const std::string& file, const std::vector<std::string>& keys, Diagnostics& d) {
  const std::optional<std::string> text = read_file(file, kMostResultBytes, d);
  if (!text) return std::nullopt;
  const bool has_text = text->find_first_not_of(kBlank) != std::string::npos;
  if (has_text && (file.ends_with(".yaml") || file.ends_with(".yml"))) {
    d.error({file, 0, 0}, {}, "is a configuration, not a result",
            "`lockstep compare run SCENARIO --a KEY=VALUE --b KEY=VALUE` runs one in two ways");
    return std::nullopt;
  }
  return parse_result(*text, file == "-" ? "stdin" : file, keys, d);
}

}  // namespace lockstep
