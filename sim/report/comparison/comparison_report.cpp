// SPDX-License-Identifier: Apache-2.0
// The renderings for people.
#include "sim/report/comparison/comparison_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace lockstep {
namespace {

constexpr std::size_t kMostRows = 40;  // of one metric, in a table for people: powers of two from a byte to a TiB

std::string shown(const ResultValue* v) {
  if (v == nullptr) return "absent";
  if (v->kind != ValueKind::kNumber) return v->text;
  const bool is_plain = v->text.size() <= 12 && v->text.find_first_of("eE") == std::string::npos;
  return is_plain ? v->text : fmt::format("{:.6g}", v->number);
}

std::string shown_relative(const Difference& x) {
  if (x.a == nullptr || x.b == nullptr || !x.change) return "";
  return x.relative ? fmt::format("{:+.4g} %", 100 * *x.relative) : "from zero";
}

std::string counted(std::size_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

// How much a difference matters beside others of its metric.
double weight(const Difference& x) {
  if (x.verdict == Verdict::kSame) return -1;
  return x.relative ? std::abs(*x.relative) : std::numeric_limits<double>::infinity();
}

// Lines of cells, in columns of equal width; the first line is the head.
class Grid {
 public:
  explicit Grid(std::vector<std::string> head, std::size_t left) : left_(left) { lines_.push_back(std::move(head)); }
  void add(std::vector<std::string> line) { lines_.push_back(std::move(line)); }
  [[nodiscard]] bool is_empty() const { return lines_.size() == 1; }

  [[nodiscard]] std::string text() const {
    std::vector<std::size_t> widths(lines_.front().size());
    for (const auto& line : lines_) {
      for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], line[c].size());
    }
    std::string out;
    for (const auto& line : lines_) {
      std::string row;
      for (std::size_t c = 0; c < line.size(); ++c) {
        row += is_left(c) ? fmt::format("  {:<{}}", line[c], widths[c]) : fmt::format("  {:>{}}", line[c], widths[c]);
      }
      out += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
    }
    return out;
  }

  [[nodiscard]] std::string markdown() const {
    std::string out;
    for (std::size_t l = 0; l < lines_.size(); ++l) {
      out += "|";
      for (std::string cell : lines_[l]) {
        for (std::size_t i = cell.find('|'); i != std::string::npos; i = cell.find('|', i + 2)) cell.insert(i, "\\");
        out += fmt::format(" {} |", cell);
      }
      out += "\n";
      if (l > 0) continue;
      out += "|";
      for (std::size_t c = 0; c < lines_[l].size(); ++c) out += is_left(c) ? "---|" : "---:|";
      out += "\n";
    }
    return out + "\n";
  }

 private:
  // Names on the left and remarks at the end; numbers between them.
  [[nodiscard]] bool is_left(std::size_t c) const { return c == 0 || c >= left_; }
  std::vector<std::vector<std::string>> lines_;
  std::size_t left_;
};

// The differences of one metric, by row.
struct MetricGroup {
  std::string_view metric;
  MetricFacts facts;
  std::vector<const Difference*> cells;  // compared, in order
  [[nodiscard]] std::size_t different() const {
    return static_cast<std::size_t>(
        std::count_if(cells.begin(), cells.end(), [](const Difference* x) { return x->verdict != Verdict::kSame; }));
  }
  [[nodiscard]] const Difference& largest() const {
    return **std::max_element(cells.begin(), cells.end(),
                              [](const Difference* x, const Difference* y) { return weight(*x) < weight(*y); });
  }
  [[nodiscard]] bool is_words() const {
    const Difference& x = largest();
    const ResultValue& some = x.a != nullptr ? *x.a : *x.b;
    return some.kind == ValueKind::kWord;
  }
};

// Metrics that differ somewhere, the important ones first.
std::vector<MetricGroup> groups_of(const Comparison& c, Aspect aspect) {
  std::vector<MetricGroup> groups;
  for (const Difference& x : c.cells) {
    if (x.facts.aspect != aspect) continue;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const MetricGroup& g) { return g.metric == x.metric; });
    if (group == groups.end()) group = groups.insert(groups.end(), {x.metric, x.facts, {}});
    group->cells.push_back(&x);
  }
  std::erase_if(groups, [](const MetricGroup& g) { return g.different() == 0; });
  std::stable_sort(groups.begin(), groups.end(),
                   [](const MetricGroup& x, const MetricGroup& y) { return x.facts.rank < y.facts.rank; });
  return groups;
}

std::string where(const MetricGroup& g) {
  const Difference& x = g.largest();
  if (g.cells.size() == 1) return std::string(x.row);
  return fmt::format("{} ({} of {} differ)", x.row, g.different(), g.cells.size());
}

std::string verdict_text(const Difference& x) {
  const std::string verdict = x.verdict == Verdict::kDifferent ? "" : std::string(to_text(x.verdict));
  return x.is_failure ? verdict + (verdict.empty() ? "" : ", ") + "above its bound" : verdict;
}

class Text {
 public:
  Text(bool is_markdown, bool is_whole) : is_markdown_(is_markdown), is_whole_(is_whole) {}

  std::string write(std::span<const Comparison> comparisons) {
    sides(comparisons);
    for (std::size_t i = 0; i < comparisons.size(); ++i) {
      side_ = side_name(i + 1);
      if (comparisons.size() > 1) heading(fmt::format("{} against A", side_));
      add(comparisons[i]);
    }
    return std::move(out_);
  }

 private:
  void heading(const std::string& text) {
    out_ += is_markdown_ ? fmt::format("**{}**\n\n", text) : fmt::format("\n{}\n", text);
  }
  void grid(const Grid& g) { out_ += is_markdown_ ? g.markdown() : g.text(); }
  void line(const std::string& text) { out_ += is_markdown_ ? text + "\n\n" : "  " + text + "\n"; }

  void sides(std::span<const Comparison> comparisons) {
    Grid g({"side", comparisons.front().a->kind}, 1);
    g.add({side_name(0), comparisons.front().a->source});
    for (std::size_t i = 0; i < comparisons.size(); ++i) g.add({side_name(i + 1), comparisons[i].b->source});
    grid(g);
  }

  void add(const Comparison& c) {
    question(c);
    if (c.differences(Aspect::kAnswer) + c.differences(Aspect::kSimulator) + c.only_a.size() + c.only_b.size() +
            c.samples_apart ==
        0) {
      heading(fmt::format("No differences: {} values are the same", c.cells.size() - c.differences(Aspect::kQuestion)));
      return;
    }
    const std::vector<MetricGroup> answers = groups_of(c, Aspect::kAnswer);
    numbers("What came out", answers);
    numbers("How it was computed", groups_of(c, Aspect::kSimulator));
    for (const MetricGroup& g : answers) {
      if (g.facts.is_headline && g.cells.size() > 1) rows(g, c.a->row_is);
    }
    words(answers);
    missing(c);
  }

  void question(const Comparison& c) {
    Grid g({"key", "A", side_, ""}, 1);
    for (const MetricGroup& group : groups_of(c, Aspect::kQuestion)) {
      const Difference& x = group.largest();
      const std::string remark = group.cells.size() == 1 ? std::string(x.row) : where(group);
      g.add({std::string(x.metric), shown(x.a), shown(x.b), remark});
    }
    if (g.is_empty()) return;
    heading("What was asked");
    grid(g);
  }

  void numbers(const std::string& title, const std::vector<MetricGroup>& groups) {
    Grid g({"metric", "A", side_, "difference", "relative", "", "where"}, 5);
    for (const MetricGroup& group : groups) {
      const Difference& x = group.largest();
      if (group.is_words()) continue;
      const std::string change = x.change ? fmt::format("{:+.4g}", *x.change) : "";
      g.add({std::string(x.metric), shown(x.a), shown(x.b), change, shown_relative(x), verdict_text(x), where(group)});
    }
    if (g.is_empty()) return;
    heading(title);
    grid(g);
  }

  // The rows of a metric in their order; of many the largest differences.
  void rows(const MetricGroup& group, const std::string& row_is) {
    std::vector<const Difference*> chosen = group.cells;
    std::erase_if(chosen, [](const Difference* x) { return x->verdict == Verdict::kSame; });
    const std::size_t all = chosen.size();
    if (all > kMostRows && !is_whole_) {
      std::vector<const Difference*> by_weight = chosen;
      std::stable_sort(by_weight.begin(), by_weight.end(),
                       [](const Difference* x, const Difference* y) { return weight(*x) > weight(*y); });
      const double least = weight(*by_weight[kMostRows - 1]);
      std::erase_if(chosen, [&](const Difference* x) { return weight(*x) < least; });
      chosen.resize(std::min(chosen.size(), kMostRows));
    }
    Grid g({row_is.empty() ? "row" : row_is, "A", side_, "relative", ""}, 4);
    for (const Difference* x : chosen) {
      g.add({std::string(x->row), shown(x->a), shown(x->b), shown_relative(*x), verdict_text(*x)});
    }
    heading(std::string(group.metric));
    grid(g);
    if (chosen.size() < all) line(fmt::format("{} more differ; --all shows them", all - chosen.size()));
  }

  void words(const std::vector<MetricGroup>& groups) {
    bool is_first = true;
    for (const MetricGroup& g : groups) {
      if (!g.is_words()) continue;
      if (is_first) heading("In words");
      is_first = false;
      const Difference& x = g.largest();
      const std::string place = where(g);
      line(std::string(x.metric) + (place.empty() ? "" : " at " + place));
      line(fmt::format("  A: {}", shown(x.a)));
      line(fmt::format("  {}: {}", side_, shown(x.b)));
    }
  }

  void missing(const Comparison& c) {
    const auto list = [&](const std::vector<std::string_view>& keys, const std::string& side) {
      if (keys.empty()) return;
      std::string text = fmt::format("in {} alone {}:", side, counted(keys.size(), "row"));
      const std::size_t most = is_whole_ ? keys.size() : std::min(keys.size(), kMostRows);
      for (std::size_t i = 0; i < most; ++i) text += fmt::format("{} {}", i == 0 ? "" : ";", keys[i].empty() ? "-" : keys[i]);
      line(text + (most < keys.size() ? "; ..." : ""));
    };
    if (c.only_a.empty() && c.only_b.empty() && c.samples_apart == 0) return;
    heading("Without a counterpart");
    list(c.only_a, "A");
    list(c.only_b, side_);
    if (c.samples_apart > 0) line(fmt::format("among the busiest of one side alone {}", counted(c.samples_apart, "link")));
  }

  bool is_markdown_;
  bool is_whole_;
  std::string side_;
  std::string out_;
};

}  // namespace

std::string side_name(std::size_t i) { return i < 26 ? std::string(1, static_cast<char>('A' + i)) : fmt::format("side {}", i); }

std::string to_table(std::span<const Comparison> comparisons, bool is_whole) {
  return Text(false, is_whole).write(comparisons);
}
std::string to_markdown(std::span<const Comparison> comparisons, bool is_whole) {
  return Text(true, is_whole).write(comparisons);
}

std::string failure_sentence(const Comparison& c, const std::string& side) {
  if (c.failures() == 0) return {};
  constexpr std::size_t kNamed = 4;
  std::vector<const Difference*> failed;
  for (const Difference& x : c.cells) {
    if (x.is_failure) failed.push_back(&x);
  }
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamed, failed.size()); ++i) {
    const Difference& x = *failed[i];
    const std::string size = shown_relative(x).empty() ? "" : " " + shown_relative(x);
    names += fmt::format("{}{}{}{}", i == 0 ? ", " : "; ", x.metric, x.row.empty() ? "" : fmt::format(" at {}", x.row), size);
  }
  if (failed.size() > kNamed) names += "; ...";
  std::string text;
  if (!failed.empty()) text = fmt::format("above --fail-above in {}: {}{}", side, counted(failed.size(), "value"), names);
  const std::size_t missing = c.only_a.size() + c.only_b.size();
  if (missing > 0)
    text += fmt::format("{}without counterpart in A or {}: {}", text.empty() ? "" : "; ", side, counted(missing, "row"));
  return text;
}

}  // namespace lockstep
