// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/sweep/points.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "base/hash.h"
#include "base/random.h"
#include "base/wide.h"

namespace lockstep {
namespace {

std::size_t axis_at(const std::vector<Axis>& axes, const std::string& path) {
  const auto found = std::find_if(axes.begin(), axes.end(), [&](const Axis& a) { return a.path() == path; });
  return static_cast<std::size_t>(found - axes.begin());
}

// One exclusion: what a point must have on some axes.
struct Rule {
  std::size_t axis;
  std::vector<std::string> texts;  // any of them
};

class Exclusions {
 public:
  Exclusions(const SweepSpec& spec, ReadContext& context) : axes_(&spec.axes) {
    for (const PathValues& values : spec.exclude) {
      std::vector<Rule>& rules = all_.emplace_back();
      for (const PathValue& v : values) add(v, rules, context);
    }
  }

  [[nodiscard]] bool has(std::span<const std::uint64_t> choices) const {
    return std::any_of(all_.begin(), all_.end(), [&](const std::vector<Rule>& rules) {
      return std::all_of(rules.begin(), rules.end(), [&](const Rule& r) {
        const std::uint64_t choice = choices[r.axis];
        return choice != SweepPoints::kAbsent && matches(r, (*axes_)[r.axis].label(choice));
      });
    });
  }

 private:
  static bool matches(const Rule& rule, const std::string& label) {
    return std::find(rule.texts.begin(), rule.texts.end(), label) != rule.texts.end();
  }

  void add(const PathValue& v, std::vector<Rule>& rules, ReadContext& context) {
    const std::size_t axis = axis_at(*axes_, v.path);
    if (axis == axes_->size()) {
      context.diagnostics().error(v.where, "exclude", fmt::format("'{}' is not swept", v.path), "name an axis");
      return;
    }
    Rule rule{axis, {flow_text(v.value)}};
    for (std::size_t i = 0; v.value.is_sequence() && i < v.value.size(); ++i) rule.texts.push_back(flow_text(v.value.at(i)));
    const Axis& a = (*axes_)[axis];
    bool is_met = a.is_range();  // has too many values to look at
    for (std::uint64_t i = 0; !is_met && i < a.count(); ++i) is_met = matches(rule, a.label(i));
    if (!is_met) {
      context.diagnostics().error(v.value.position(), "exclude", fmt::format("{} is never {}", v.path, flow_text(v.value)),
                                  "a value of the axis, as it is written there");
    }
    rules.push_back(std::move(rule));
  }

  const std::vector<Axis>* axes_;
  std::vector<std::vector<Rule>> all_;
};

// Calls `take` with the choices of every combination, the last axis varying fastest.
template <class Take>
void each_in_grid(const std::vector<Axis>& axes, std::uint64_t count, const Take& take) {
  std::vector<std::uint64_t> choices(axes.size(), 0);
  for (std::uint64_t n = 0; n < count; ++n) {
    take(choices);
    for (std::size_t a = axes.size(); a-- > 0;) {
      if (++choices[a] < axes[a].count()) break;
      choices[a] = 0;
    }
  }
}

template <class Take>
void each_in_list(const SweepSpec& spec, const Take& take) {
  std::vector<std::uint64_t> used(spec.axes.size(), 0);
  for (const PathValues& values : spec.points) {
    std::vector<std::uint64_t> choices(spec.axes.size(), SweepPoints::kAbsent);
    for (const PathValue& v : values) {
      const std::size_t a = axis_at(spec.axes, v.path);
      choices[a] = used[a]++;
    }
    take(choices);
  }
}

std::vector<std::uint64_t> random_column(const SweepSpec& spec, const Axis& axis, std::uint64_t samples) {
  const auto seed = static_cast<std::uint64_t>(spec.sample_seed);
  const std::uint64_t entity = hash_text(axis.path());
  const auto draw = [&](std::uint64_t n, std::uint64_t i) {
    return random_below(n, seed, RandomStream::kSweep, entity, static_cast<std::uint32_t>(i));
  };
  std::vector<std::uint64_t> column(samples);
  if (spec.combine == Combination::kRandom) {
    for (std::uint64_t i = 0; i < samples; ++i) column[i] = draw(axis.count(), i);
    return column;
  }
  std::iota(column.begin(), column.end(), 0);
  for (std::uint64_t i = samples; i-- > 1;) std::swap(column[i], column[draw(i + 1, samples + i)]);
  constexpr int kFractionBits = 32;
  const UInt128 whole = static_cast<UInt128>(samples) << kFractionBits;
  for (std::uint64_t i = 0; i < samples; ++i) {
    const std::uint64_t at = (column[i] << kFractionBits) + draw(std::uint64_t{1} << kFractionBits, i);
    column[i] = static_cast<std::uint64_t>(static_cast<UInt128>(at) * axis.count() / whole);
  }
  return column;
}

template <class Take>
void each_sample(const SweepSpec& spec, const Take& take) {
  const auto samples = static_cast<std::uint64_t>(*spec.samples);
  std::vector<std::vector<std::uint64_t>> columns;
  for (const Axis& a : spec.axes) columns.push_back(random_column(spec, a, samples));
  std::vector<std::uint64_t> choices(spec.axes.size());
  for (std::uint64_t i = 0; i < samples; ++i) {
    for (std::size_t a = 0; a < columns.size(); ++a) choices[a] = columns[a][i];
    take(choices);
  }
}

}  // namespace

std::vector<Axis> list_axes(const SweepSpec& spec) {
  std::vector<PathValue> firsts;
  for (const PathValues& values : spec.points) {
    for (const PathValue& v : values) {
      const bool is_known = std::any_of(firsts.begin(), firsts.end(), [&](const PathValue& f) { return f.path == v.path; });
      if (!is_known) firsts.push_back(v);
    }
  }
  std::vector<Axis> axes;
  for (const PathValue& first : firsts) {
    std::vector<Node> nodes;
    for (const PathValues& values : spec.points) {
      for (const PathValue& v : values) {
        if (v.path == first.path) nodes.push_back(v.value);
      }
    }
    axes.emplace_back(first.path, std::move(nodes), first.where);
  }
  return axes;
}

SweepPoints enumerate_points(const SweepSpec& spec, ReadContext& context) {
  Diagnostics& d = context.diagnostics();
  const std::size_t errors = d.error_count();
  const Exclusions exclusions(spec, context);
  SweepPoints points(spec.axes.size());
  const auto take = [&](const std::vector<std::uint64_t>& choices) {
    if (!exclusions.has(choices)) points.add(choices);
  };
  std::uint64_t count = 1;
  if (spec.combine == Combination::kZip) count = spec.axes.front().count();
  for (const Axis& a : spec.axes) {
    if (spec.combine != Combination::kGrid) break;
    count = a.count() > kMostPoints / count ? kMostPoints + 1 : count * a.count();
    if (count > kMostPoints) break;
  }
  if (count > kMostPoints) {
    d.error(spec.axes.front().where(), "axes", fmt::format("these make more than {} points", kMostPoints),
            "fewer values, a larger step, or combine: latin_hypercube");
  }
  if (d.error_count() != errors) return points;
  switch (spec.combine) {
    case Combination::kGrid:
      each_in_grid(spec.axes, count, take);
      break;
    case Combination::kZip:
      for (std::uint64_t i = 0; i < count; ++i) take(std::vector<std::uint64_t>(spec.axes.size(), i));
      break;
    case Combination::kList:
      each_in_list(spec, take);
      break;
    case Combination::kRandom:
    case Combination::kLatinHypercube:
      each_sample(spec, take);
      break;
  }
  if (points.size() == 0) context.error("exclude", "leaves out every point");
  return points;
}

}  // namespace lockstep
