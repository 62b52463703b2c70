// SPDX-License-Identifier: Apache-2.0
#include "sim/report/comparison/comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/quantity.h"
#include "base/wide.h"

namespace lockstep {
namespace {

std::string digits(Int128 v) {
  const bool is_negative = v < 0;
  std::string text;
  for (UInt128 rest = is_negative ? -static_cast<UInt128>(v) : static_cast<UInt128>(v); rest > 0 || text.empty(); rest /= 10) {
    text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  }
  return is_negative ? "-" + text : text;
}

// What is compared and judged, by metric of either side.
class Rules {
 public:
  Rules(const FlatResult& a, const FlatResult& b, const ComparisonOptions& options, Diagnostics& d) : options_(options) {
    std::vector<std::string> names = a.metrics;
    names.insert(names.end(), b.metrics.begin(), b.metrics.end());
    for (const std::string& pattern : options.metrics) check(pattern, names, "--metric", d);
    for (const DifferenceBound& bound : options.bounds) {
      if (!bound.pattern.empty()) check(bound.pattern, names, "--fail-above", d);
    }
  }

  [[nodiscard]] bool is_compared(const std::string& metric, const MetricFacts& facts) const {
    if (facts.aspect == Aspect::kQuestion) return true;
    if (facts.aspect == Aspect::kSimulator && !options_.with_simulator && !is_asked(metric)) return false;
    return options_.metrics.empty() || is_asked(metric);
  }

  // Sets the difference's `is_failure`.
  void judge(Difference& x) const {
    if (x.verdict == Verdict::kSame || x.facts.aspect == Aspect::kQuestion) return;
    const DifferenceBound* bound = nullptr;
    for (const DifferenceBound& b : options_.bounds) {
      if (b.pattern.empty() ? bound == nullptr || bound->pattern.empty() : matches_metric(b.pattern, x.metric)) bound = &b;
    }
    if (bound == nullptr) return;
    if (bound->pattern.empty() && x.facts.aspect == Aspect::kSimulator) return;
    const bool is_missing = x.a == nullptr || x.b == nullptr;
    if (options_.only_worse && x.verdict != Verdict::kWorse && !is_missing) return;
    const ResultValue& some = x.a != nullptr ? *x.a : *x.b;
    // Words say what numbers say; they are judged only where somebody asks for them.
    if (some.kind == ValueKind::kWord && bound->pattern.empty() && !is_asked(x.metric)) return;
    x.is_failure = !x.relative || std::abs(*x.relative) > bound->share;
  }

 private:
  static void check(const std::string& pattern, const std::vector<std::string>& names, const char* option, Diagnostics& d) {
    const auto is_meant = [&](const std::string& n) { return matches_metric(pattern, n); };
    if (std::any_of(names.begin(), names.end(), is_meant)) return;
    const std::string guess = closest(pattern, names);
    d.error({}, {}, fmt::format("{}: no metric is called '{}'", option, pattern),
            guess.empty() ? "--format csv shows them all" : fmt::format("did you mean '{}'?", guess));
  }
  [[nodiscard]] bool is_asked(std::string_view metric) const {
    return std::any_of(options_.metrics.begin(), options_.metrics.end(),
                       [&](const std::string& pattern) { return matches_metric(pattern, metric); });
  }

  const ComparisonOptions& options_;
};

Verdict verdict_of(Direction better, double change) {
  if (better == Direction::kNone) return Verdict::kDifferent;
  return (change > 0) == (better == Direction::kHigherIsBetter) ? Verdict::kBetter : Verdict::kWorse;
}

// PRE: both numbers.
void subtract(Difference& x) {
  const Parsed<std::int64_t> a = parse_int(x.a->text);
  const Parsed<std::int64_t> b = parse_int(x.b->text);
  if (a && b) {
    const Int128 exact = Int128{*b.value} - *a.value;
    x.change = static_cast<double>(exact);
    x.change_text = digits(exact);
  } else {
    const double change = x.b->number - x.a->number;
    if (!std::isfinite(change)) {  // magnitudes near the largest double
      x.verdict = Verdict::kDifferent;
      return;
    }
    x.change = change;
    x.change_text = double_to_text(change);
  }
  if (*x.change == 0) {
    x.relative = 0;
    return;
  }
  const double relative = *x.change / std::abs(x.a->number);
  if (x.a->number != 0 && std::isfinite(relative)) x.relative = relative;
  x.verdict = verdict_of(x.facts.better, *x.change);
}

bool has_samples(const FlatResult& r) {
  return std::any_of(r.rows.begin(), r.rows.end(), [](const ResultRow& row) { return row.is_sample; });
}

class Comparer {
 public:
  Comparer(const FlatResult& a, const FlatResult& b, const ComparisonOptions& options, Diagnostics& d)
      : a_(a), b_(b), d_(d), rules_(a, b, options, d), a_has_samples_(has_samples(a)), b_has_samples_(has_samples(b)) {
    out_.a = &a;
    out_.b = &b;
    out_.is_judged = !options.bounds.empty();
    for (const std::string& name : a.metrics) facts_a_.push_back(metric_facts(name));
    for (const std::string& name : b.metrics) {
      facts_b_.push_back(metric_facts(name));
      const auto same = std::find(a.metrics.begin(), a.metrics.end(), name);
      in_a_.push_back(same == a.metrics.end() ? kNone : static_cast<std::uint32_t>(same - a.metrics.begin()));
    }
  }

  Comparison run() {
    std::unordered_map<std::string_view, std::size_t> rows_of_b;
    for (std::size_t i = 0; i < b_.rows.size(); ++i) rows_of_b.emplace(b_.rows[i].key, i);
    std::vector<bool> is_met(b_.rows.size());
    for (const ResultRow& row : a_.rows) {
      const auto found = rows_of_b.find(row.key);
      if (found == rows_of_b.end()) {
        miss(row, a_, facts_a_, out_.only_a);
        continue;
      }
      is_met[found->second] = true;
      compare(row, b_.rows[found->second]);
    }
    for (std::size_t i = 0; i < b_.rows.size(); ++i) {
      if (!is_met[i]) miss(b_.rows[i], b_, facts_b_, out_.only_b);
    }
    return std::move(out_);
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  void miss(const ResultRow& row, const FlatResult& of, const std::vector<MetricFacts>& facts,
            std::vector<std::string_view>& list) {
    const bool has_answers = std::any_of(row.cells.begin(), row.cells.end(), [&](const ResultCell& c) {
      const MetricFacts& f = facts[c.metric];
      return f.aspect != Aspect::kQuestion && rules_.is_compared(of.metrics[c.metric], f);
    });
    if (!has_answers) return;
    if (row.is_sample) {
      if (&of == &a_ ? b_has_samples_ : a_has_samples_) ++out_.samples_apart;
    } else {
      list.push_back(row.key);
    }
  }

  void compare(const ResultRow& a, const ResultRow& b) {
    std::vector<bool> is_met(b.cells.size());
    for (const ResultCell& cell : a.cells) {
      const ResultValue* other = nullptr;
      for (std::size_t i = 0; i < b.cells.size() && other == nullptr; ++i) {
        if (in_a_[b.cells[i].metric] != cell.metric) continue;
        is_met[i] = true;
        other = &b.cells[i].value;
      }
      add(a.key, a_.metrics[cell.metric], facts_a_[cell.metric], &cell.value, other);
    }
    for (std::size_t i = 0; i < b.cells.size(); ++i) {
      const std::uint32_t metric = b.cells[i].metric;
      if (!is_met[i]) add(a.key, b_.metrics[metric], facts_b_[metric], nullptr, &b.cells[i].value);
    }
  }

  void add(std::string_view row, const std::string& metric, const MetricFacts& facts, const ResultValue* a,
           const ResultValue* b) {
    if (!rules_.is_compared(metric, facts)) return;
    Difference x{.row = row, .metric = metric, .facts = facts, .a = a, .b = b};
    const bool is_pair = a != nullptr && b != nullptr;
    if (is_pair && facts.aspect != Aspect::kQuestion && a->kind != b->kind) {
      d_.error({b_.source, b->line, b->column}, metric,
               fmt::format("'{}' is {}, but {}:{}:{} has {}, '{}'", b->text, to_text(b->kind), a_.source, a->line, a->column,
                           to_text(a->kind), a->text),
               "are these results of the same kind?");
      return;
    }
    if (is_pair && a->text == b->text) {
      x.relative = 0;
    } else if (!is_pair || facts.aspect == Aspect::kQuestion || a->kind == ValueKind::kWord) {
      x.verdict = Verdict::kDifferent;
    } else if (a->kind == ValueKind::kFlag) {
      x.verdict = verdict_of(facts.better, b->number - a->number);
    } else {
      subtract(x);
    }
    rules_.judge(x);
    out_.cells.push_back(std::move(x));
  }

  const FlatResult& a_;
  const FlatResult& b_;
  Diagnostics& d_;
  Rules rules_;
  Comparison out_;
  std::vector<MetricFacts> facts_a_;  // by metric
  std::vector<MetricFacts> facts_b_;
  std::vector<std::uint32_t> in_a_;  // the metric of A that a metric of B is
  bool a_has_samples_;               // CSV has no lists of the busiest
  bool b_has_samples_;
};

}  // namespace

std::string_view to_text(Verdict v) {
  switch (v) {
    case Verdict::kSame:
      return "same";
    case Verdict::kBetter:
      return "better";
    case Verdict::kWorse:
      return "worse";
    case Verdict::kDifferent:
      break;
  }
  return "different";
}

std::size_t Comparison::differences(Aspect aspect) const {
  return static_cast<std::size_t>(std::count_if(cells.begin(), cells.end(), [&](const Difference& x) {
    return x.facts.aspect == aspect && x.verdict != Verdict::kSame;
  }));
}

std::size_t Comparison::failures() const {
  if (!is_judged) return 0;
  const auto above = std::count_if(cells.begin(), cells.end(), [](const Difference& x) { return x.is_failure; });
  return static_cast<std::size_t>(above) + only_a.size() + only_b.size();
}

bool Comparison::is_same() const {
  return only_a.empty() && only_b.empty() && samples_apart == 0 &&
         std::all_of(cells.begin(), cells.end(), [](const Difference& x) { return x.verdict == Verdict::kSame; });
}

Comparison compare_results(const FlatResult& a, const FlatResult& b, const ComparisonOptions& options, Diagnostics& d) {
  if (a.kind != b.kind) {
    d.error({b.source, 0, 0}, {}, fmt::format("is a {} result, but {} is a {} result", b.kind, a.source, a.kind),
            "compare results of the same verb");
    return {.a = &a, .b = &b};
  }
  if (a.row_is != b.row_is && !a.row_is.empty() && !b.row_is.empty()) {
    d.error({b.source, 1, 1}, {}, fmt::format("its rows are known by {}, but those of {} by {}", b.row_is, a.source, a.row_is),
            "--key COLUMN names columns that both have");
    return {.a = &a, .b = &b};
  }
  return Comparer(a, b, options, d).run();
}

}  // namespace lockstep
