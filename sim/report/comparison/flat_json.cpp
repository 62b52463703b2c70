// SPDX-License-Identifier: Apache-2.0
// JSON results, as trees in which every value knows its place.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "base/document.h"
#include "base/quantity.h"
#include "sim/report/comparison/flat_result.h"

namespace lockstep {
namespace {

// What tells kinds of results apart: a key that only this kind has at its root.
struct KindOfResult {
  const char* key;
  const char* kind;
};
constexpr KindOfResult kKinds[] = {
    {"seeds", "routings"},         {"collective", "collective"}, {"jobs", "run of several jobs"},
    {"step_time_s", "run"},        {"makespan_s", "traffic"},    {"predictions", "validation"},
    {"bisection_bps", "topology"}, {"constants", "calibration"}, {"leave_one_out", "leave-one-out error"}};

// What names an entry of a list; the first set of which it has all keys.
const std::initializer_list<std::initializer_list<const char*>> kNames = {{"name"},
                                                                          {"size_bytes", "routing"},
                                                                          {"size_bytes"},
                                                                          {"routing"},
                                                                          {"source", "row", "metric"},
                                                                          {"source", "row"},
                                                                          {"tier", "ends"},
                                                                          {"tier"},
                                                                          {"algorithm", "protocol"},
                                                                          {"algorithm"},
                                                                          {"table"},
                                                                          {"path"},
                                                                          {"stage"},
                                                                          {"what"}};

// Lists that are the result itself: their names say nothing.
bool is_main_list(std::string_view name) { return name == "rows" || name == "predictions" || name == "leave_one_out"; }

class JsonFlattener {
 public:
  JsonFlattener(FlatResult& result, Diagnostics& d) : result_(result), d_(d) { result_.rows.emplace_back(); }

  void map(const Node& node, const std::string& prefix, std::size_t row, const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < node.size(); ++i) {
      const std::string& key = node.key(i);
      if (std::find(names.begin(), names.end(), key) != names.end()) continue;
      value(node.at(i), key, prefix.empty() ? key : fmt::format("{}.{}", prefix, key), row);
    }
  }

 private:
  void value(const Node& node, const std::string& key, const std::string& metric, std::size_t row) {
    switch (node.kind()) {
      case NodeKind::kMap:
        return map(node, metric, row, {});
      case NodeKind::kSequence:
        return list(node, key, metric, row);
      case NodeKind::kNull:
        return;  // says that there is no value, as absence does
      case NodeKind::kScalar:
        return scalar(node, metric, row);
    }
  }

  void list(const Node& node, const std::string& key, const std::string& metric, std::size_t row) {
    std::string words;
    for (std::size_t i = 0; i < node.size(); ++i) {
      const Node entry = node.at(i);
      if (!entry.is_map()) {
        words += (words.empty() ? "" : ", ") + (entry.is_scalar() ? entry.text() : std::string(to_text(entry.kind())));
        continue;
      }
      const std::vector<std::string> names = names_of(entry);
      std::string name;
      for (const std::string& n : names) name += (name.empty() ? "" : ", ") + text_of(entry.find(n));
      if (names.empty()) name = std::to_string(i);
      const bool is_main = row == 0 && is_main_list(key);
      if (is_main && result_.row_is.empty()) result_.row_is = fmt::format("{}", fmt::join(names, ", "));
      const std::string above = result_.rows[row].key;
      const std::size_t own = result_.rows.size();
      ResultRow& added = result_.rows.emplace_back();
      added.key = fmt::format("{}{}{}{}{}", above, above.empty() ? "" : " ", is_main ? "" : key, is_main ? "" : " ", name);
      added.is_sample = key == "links";
      map(entry, is_main ? "" : metric, own, names);
    }
    if (!words.empty()) add(row, metric, {.text = words, .line = node.position().line, .column = node.position().column});
  }

  void scalar(const Node& node, const std::string& metric, std::size_t row) {
    const Position at = node.position();
    ResultValue v{.text = node.text(), .line = at.line, .column = at.column};
    if (!node.is_quoted() && (v.text == "true" || v.text == "false")) {
      v.kind = ValueKind::kFlag;
      v.number = v.text == "true" ? 1 : 0;
    } else if (!node.is_quoted()) {
      const Parsed<double> number = parse_double(v.text);
      if (!number) {
        d_.error(at, node.path(), number.error, number.hint);
        return;
      }
      v.kind = ValueKind::kNumber;
      v.number = *number.value;
    }
    add(row, metric, std::move(v));
  }

  void add(std::size_t row, const std::string& metric, ResultValue v) {
    result_.rows[row].cells.push_back({result_.metric_index(metric), std::move(v)});
  }

  static std::vector<std::string> names_of(const Node& entry) {
    for (const auto& names : kNames) {
      const bool has_all =
          std::all_of(names.begin(), names.end(), [&](const char* n) { return static_cast<bool>(entry.find(n)); });
      if (has_all) return {names.begin(), names.end()};
    }
    return {};
  }

  static std::string text_of(const Node& node) {
    if (!node.is_sequence()) return node.text();
    std::string text;
    for (std::size_t i = 0; i < node.size(); ++i) text += (text.empty() ? "" : "-") + node.at(i).text();
    return text;
  }

  FlatResult& result_;
  Diagnostics& d_;
};

}  // namespace

std::optional<FlatResult> flatten_json(std::string_view text, const std::string& source, Diagnostics& d) {
  if (text.size() > kMaxDocumentBytes) {
    d.error({source, 0, 0}, {}, fmt::format("is JSON of more than {} MiB", kMaxDocumentBytes >> 20),
            "compare the results as CSV");
    return std::nullopt;
  }
  const std::size_t before = d.error_count();
  const std::optional<Document> document = Document::parse(text, source, d, DocumentFormat::kJson);
  if (!document || d.error_count() > before) return std::nullopt;
  const Node root = document->root();
  FlatResult result;
  for (const KindOfResult& k : kKinds) {
    if (root.find(k.key) && result.kind.empty()) result.kind = k.kind;
  }
  if (result.kind.empty()) {
    const bool is_manifest = static_cast<bool>(root.find("points_hash"));
    d.error(root.position(), {}, is_manifest ? "is the manifest of a sweep" : "is no result of lockstep",
            is_manifest ? "compare the results.csv beside it"
                        : "run, collective, traffic, topo and validate write one with --format json");
    return std::nullopt;
  }
  JsonFlattener(result, d).map(root, "", 0, {});
  if (d.error_count() > before) return std::nullopt;
  return result;
}

}  // namespace lockstep
