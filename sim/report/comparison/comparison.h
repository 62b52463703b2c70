// SPDX-License-Identifier: Apache-2.0
// Two results of one kind side by side: every value of one beside that of the same name in the row of the same key in the other.
//
// difference = b - a, exact where both are integers; relative = difference / |a|, which a = 0 does not have. A number that appears or
// goes away differs by more than any bound. Question, answer and simulator are kept apart (metric.h): only answers are judged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "sim/report/comparison/flat_result.h"
#include "sim/report/comparison/metric.h"

namespace lockstep {

// The most by which metrics may differ, as a share of A's.
struct DifferenceBound {
  std::string pattern;  // empty: all that no other bound is about
  double share = 0;
};

struct ComparisonOptions {
  std::vector<std::string> metrics;     // patterns of those to compare; empty: all
  std::vector<DifferenceBound> bounds;  // a later one goes before an earlier one; empty: nothing is judged
  bool only_worse = false;              // judges changes for the worse of metrics that have a better direction
  bool with_simulator = false;          // compares how it was computed as well
};

enum class Verdict : std::uint8_t { kSame, kBetter, kWorse, kDifferent };
[[nodiscard]] std::string_view to_text(Verdict v);

struct Difference {
  std::string_view row;
  std::string_view metric;
  MetricFacts facts;
  const ResultValue* a = nullptr;  // null: absent
  const ResultValue* b = nullptr;
  std::optional<double> change;  // of two numbers
  std::string change_text;       // the same, exact
  std::optional<double> relative;
  Verdict verdict = Verdict::kSame;
  bool is_failure = false;  // above its bound
};

struct Comparison {
  const FlatResult* a = nullptr;
  const FlatResult* b = nullptr;
  std::vector<Difference> cells;         // all that were compared, in the order of A
  std::vector<std::string_view> only_a;  // keys of rows with answers that the other has not
  std::vector<std::string_view> only_b;
  std::size_t samples_apart = 0;  // entries of lists of the busiest that one side has alone
  bool is_judged = false;

  [[nodiscard]] std::size_t differences(Aspect aspect) const;
  [[nodiscard]] std::size_t failures() const;  // cells above their bounds, and rows that are missing where there are bounds
  [[nodiscard]] bool is_same() const;
};

// PRE: both outlive the comparison. Errors: kinds that differ; a number here and text there; patterns that no metric matches.
[[nodiscard]] Comparison compare_results(const FlatResult& a, const FlatResult& b, const ComparisonOptions& options,
                                         Diagnostics& d);

}  // namespace lockstep
