// SPDX-License-Identifier: Apache-2.0
// The renderings for programs.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/quantity.h"
#include "sim/report/comparison/comparison_report.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kComparisonVersion = 1;

const char* aspect_text(Aspect a) {
  return a == Aspect::kQuestion ? "question" : a == Aspect::kAnswer ? "answer" : "simulator";
}

Json value_json(const ResultValue& v) {
  if (v.kind == ValueKind::kFlag) return v.number > 0;
  if (v.kind == ValueKind::kWord) return v.text;
  if (const Parsed<std::int64_t> integer = parse_int(v.text)) return *integer.value;
  return v.number;
}

Json difference_json(const Difference& x) {
  Json j = {{"metric", x.metric}};
  if (!x.row.empty()) j["row"] = x.row;
  if (x.a != nullptr) j["a"] = value_json(*x.a);
  if (x.b != nullptr) j["b"] = value_json(*x.b);
  if (x.change) j["difference"] = *x.change;
  if (x.relative && x.change) j["relative"] = *x.relative;
  j["verdict"] = to_text(x.verdict);
  if (x.is_failure) j["above_bound"] = true;
  return j;
}

Json comparison_json(const Comparison& c, const std::string& side) {
  Json j = {{"side", side}, {"same", c.is_same()}};
  if (c.is_judged) j["failures"] = c.failures();
  for (const Aspect aspect : {Aspect::kQuestion, Aspect::kAnswer, Aspect::kSimulator}) {
    Json list = Json::array();
    for (const Difference& x : c.cells) {
      const bool is_shown = x.facts.aspect == aspect && (aspect != Aspect::kQuestion || x.verdict != Verdict::kSame);
      if (is_shown) list.push_back(difference_json(x));
    }
    if (!list.empty() || aspect != Aspect::kSimulator) j[aspect_text(aspect)] = std::move(list);
  }
  j["only_in_a"] = c.only_a;
  j["only_in_b"] = c.only_b;
  return j;
}

}  // namespace

std::string to_json(std::span<const Comparison> comparisons) {
  Json j = {{"schema_version", kComparisonVersion}, {"kind", comparisons.front().a->kind}};
  j["sides"] = Json::array();
  j["sides"].push_back({{"name", side_name(0)}, {"source", comparisons.front().a->source}});
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    j["sides"].push_back({{"name", side_name(i + 1)}, {"source", comparisons[i].b->source}});
  }
  j["comparisons"] = Json::array();
  for (std::size_t i = 0; i < comparisons.size(); ++i)
    j["comparisons"].push_back(comparison_json(comparisons[i], side_name(i + 1)));
  return j.dump(2) + "\n";
}

std::string to_csv(std::span<const Comparison> comparisons) {
  std::string out = "side,row,metric,about,a,b,difference,relative,verdict,above_bound\n";
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    const Comparison& c = comparisons[i];
    const std::string side = side_name(i + 1);
    for (const Difference& x : c.cells) {
      out += csv_row({side, std::string(x.row), std::string(x.metric), aspect_text(x.facts.aspect), x.a ? x.a->text : "",
                      x.b ? x.b->text : "", x.change_text, x.relative && x.change ? double_to_text(*x.relative) : "",
                      std::string(to_text(x.verdict)), x.is_failure ? "true" : "false"});
    }
    const std::string is_failure = c.is_judged ? "true" : "false";
    for (const auto& key : c.only_a)
      out += csv_row({side, std::string(key), "", "row", "", "", "", "", "only in A", is_failure});
    for (const auto& key : c.only_b)
      out += csv_row({side, std::string(key), "", "row", "", "", "", "", "only in " + side, is_failure});
  }
  return out;
}

}  // namespace lockstep
