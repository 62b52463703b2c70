// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/sweep/sweep_spec.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "sim/experiment/scenario.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMostSamples = 1'000'000;

const std::vector<FieldDoc>& scenario_docs() {
  static const std::vector<FieldDoc> docs = scenario_fields().docs();
  return docs;
}

bool is_run_key(const std::string& path) { return path == "seed" || path == "network"; }

// Reports a path that no point has.
bool expect_path(const std::string& swept, const Position& where, ReadContext& context, const std::string& path) {
  if (is_run_key(swept) || find_field(scenario_docs(), swept) != nullptr) return true;
  std::vector<std::string> known = all_paths(scenario_docs());
  known.insert(known.end(), {"seed", "network"});
  std::string guess = closest(swept, known);
  for (std::size_t i = 0; i < known.size() && guess.empty(); ++i) {
    if (known[i].ends_with("." + swept)) guess = known[i];
  }
  context.diagnostics().error(where, path, fmt::format("there is no '{}' to change", swept),
                              guess.empty() ? "a path that begins with cluster. or job., or seed or network"
                                            : fmt::format("did you mean '{}'?", guess));
  return false;
}

void keep_node(const Node& node, Node& out, ReadContext&, const std::string&) { out = node; }

bool is_range(const Node& node) { return node.is_map() && (node.find("from") || node.find("to") || node.find("step")); }

// Calls `take` for every path of a map; a map below a path goes on with it where `goes_on` says so (axes: {job: {tp: [1, 2]}}).
void each_path(const Node& node, const std::string& prefix, const std::function<bool(const Node&)>& goes_on,
               const std::function<void(const std::string&, const Node&, const Position&)>& take) {
  for (std::size_t i = 0; i < node.size(); ++i) {
    const std::string path = join_path(prefix, node.key(i));
    if (goes_on(node.at(i))) {
      each_path(node.at(i), path, goes_on, take);
    } else {
      take(path, node.at(i), node.key_position(i));
    }
  }
}

bool expect_paths(const Node& node, ReadContext& context, const std::string& path) {
  if (node.is_map() && node.size() > 0) return true;
  context.diagnostics().error(
      node.position(), path,
      fmt::format("a map from paths is expected, not {}", node.is_map() ? "an empty one" : to_text(node.kind())),
      "{job.tp: ...}");
  return false;
}

void read_axes(const Node& node, std::vector<Axis>& out, ReadContext& context, const std::string& path) {
  if (!expect_paths(node, context, path)) return;
  const auto goes_on = [](const Node& n) { return n.is_map() && !is_range(n); };
  each_path(node, {}, goes_on, [&](const std::string& swept, const Node& values, const Position& where) {
    if (!expect_path(swept, where, context, path)) return;
    std::optional<Axis> axis = Axis::read(values, swept, where, context, join_path(path, swept));
    if (!axis) return;
    const auto same = std::find_if(out.begin(), out.end(), [&](const Axis& a) { return a.path() == swept; });
    if (same == out.end()) {
      out.push_back(*std::move(axis));
    } else if (where.line == 0) {
      *same = *std::move(axis);  // --set axes.job.tp=[1, 2]
    } else {
      context.diagnostics().error(where, path, fmt::format("'{}' is swept twice", swept));
    }
  });
}

void read_paths(const Node& node, PathValues& out, ReadContext& context, const std::string& path) {
  if (!expect_paths(node, context, path)) return;
  each_path(
      node, {}, [](const Node&) { return false; },
      [&](const std::string& swept, const Node& value, const Position& where) {
        if (expect_path(swept, where, context, path)) out.push_back({swept, value, where});
      });
}

void read_path_lists(const Node& node, std::vector<PathValues>& out, ReadContext& context, const std::string& path) {
  if (!node.is_sequence()) {
    context.diagnostics().error(node.position(), path, fmt::format("a list is expected, not {}", to_text(node.kind())),
                                "[{job.tp: 8, job.pp: 4}, ...]");
    return;
  }
  for (std::size_t i = 0; i < node.size(); ++i) read_paths(node.at(i), out.emplace_back(), context, join_path(path, i));
}

void check_base(const SweepSpec& s, Section& at) {
  const auto is_swept = [&](std::string_view path) {
    return std::any_of(s.axes.begin(), s.axes.end(), [&](const Axis& a) { return a.path() == path; });
  };
  const bool has_cluster = s.cluster || is_swept("cluster");
  const bool has_job = s.job || is_swept("job");
  if (!s.scenario && !(has_cluster && has_job)) {
    at.error("scenario", "there is nothing to run", "give scenario, or cluster and job");
  }
  for (const PathValue& v : s.set) {
    if (is_run_key(v.path))
      at.error("set", fmt::format("'{}' is a key of the sweep itself", v.path), fmt::format("{}: ...", v.path));
  }
}

void check_combination(const SweepSpec& s, Section& at) {
  const bool is_list = s.combine == Combination::kList;
  if (is_list && s.points.empty()) at.error("points", "the list of points is missing", "points: [{job.tp: 8}, ...]");
  if (is_list && !s.axes.empty()) at.error("axes", "are not used by combine: list", "give the values in points");
  if (!is_list && !s.points.empty()) at.error("points", "are used by combine: list alone", "combine: list, or axes");
  if (!is_list && s.axes.empty()) at.error("axes", "there is nothing to sweep", "axes: {job.tp: [1, 2, 4]}");
  if (s.is_sampled() && !s.samples) at.error("samples", "the number of points is missing", "samples: 100");
  if (!s.is_sampled() && s.samples) {
    at.error("samples", "is used by combine: random and latin_hypercube alone", "leave it out, or set combine");
  }
  if (s.combine != Combination::kZip) return;
  for (const Axis& a : s.axes) {
    if (a.count() == s.axes.front().count()) continue;
    at.error("axes",
             fmt::format("{} has {} values and {} has {}: zip takes one of each", s.axes.front().path(), s.axes.front().count(),
                         a.path(), a.count()),
             "the same number of values for all, or combine: grid");
  }
}

}  // namespace

const FieldTable<SweepSpec>& sweep_fields() {
  static const FieldTable<SweepSpec> table = [] {
    FieldTable<SweepSpec> t("sweep");
    t.field("name", &SweepSpec::name).doc("how reports call it; the file name when absent");
    t.tree<Node>("scenario", &SweepSpec::scenario, "name or file", keep_node)
        .doc("the scenario that every point changes; or give cluster and job");
    t.tree<Node>("cluster", &SweepSpec::cluster, "name, file or map", keep_node)
        .doc("where every point runs, as in a scenario");
    t.tree<Node>("job", &SweepSpec::job, "name, file or map", keep_node).doc("what every point runs, as in a scenario");
    t.tree<PathValues>("set", &SweepSpec::set, "map from paths to values", read_paths)
        .doc("keys of cluster and job that all points have in common");
    t.choice("network", &SweepSpec::network,
             {{"flow", NetworkKind::kFlow, "max-min fair sharing"}, {"analytic", NetworkKind::kAnalytic, "no contention"}})
        .doc("network model, as lockstep run --network");
    t.field("seed", &SweepSpec::seed).at_least(0).doc("seed of all random choices of a point");
    t.choice(
         "combine", &SweepSpec::combine,
         {{"grid", Combination::kGrid, "every value of each axis with every value of the others; the last axis varies fastest"},
          {"zip", Combination::kZip, "the first values of all axes, the second values, ..."},
          {"list", Combination::kList, "the points given"},
          {"random", Combination::kRandom, "each axis drawn for itself"},
          {"latin_hypercube", Combination::kLatinHypercube,
           "each axis cut into as many equal parts as there are samples; every part is used once"}})
        .doc("how values of the axes make points");
    t.tree<std::vector<Axis>>("axes", &SweepSpec::axes, "map from paths to values", read_axes)
        .doc(
            "swept keys: a path of cluster or job, seed, or network, each with a list of values or a range {from: A, to: B, "
            "step: C} or {from: A, to: B, factor: N}");
    t.tree<std::vector<PathValues>>("points", &SweepSpec::points, "list of maps", read_path_lists)
        .doc("for combine: list, each a map from paths to values");
    t.field("samples", &SweepSpec::samples)
        .range(1, kMostSamples)
        .unit("points")
        .doc("for combine: random and latin_hypercube");
    t.field("sample_seed", &SweepSpec::sample_seed)
        .at_least(0)
        .doc("seed of the draws; more samples keep the draws of fewer (random)");
    t.tree<std::vector<PathValues>>("exclude", &SweepSpec::exclude, "list of maps", read_path_lists)
        .doc("points left out: those with all the values of one of the maps; a list stands for any of its values");
    t.validate(check_base);
    t.validate(check_combination);
    return t;
  }();
  return table;
}

}  // namespace lockstep
