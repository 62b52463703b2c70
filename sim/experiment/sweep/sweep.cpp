// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/sweep/sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/config_library.h"

namespace lockstep {
namespace {

// "cluster.nodes=4" -> "cluster.nodes".
std::string path_of(const std::string& assignment) { return assignment.substr(0, assignment.find('=')); }

bool is_below(const std::string& path, std::string_view root) {
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '.' || path[root.size()] == '[');
}

bool is_of_scenario(const std::string& path) {
  return is_below(path, "cluster") || is_below(path, "job") || is_below(path, "jobs");
}

std::size_t depth_of(const std::string& path) {
  return static_cast<std::size_t>(std::count_if(path.begin(), path.end(), [](char c) { return c == '.' || c == '['; }));
}

std::optional<std::uint64_t> seed_in(const std::string& text) {
  const Parsed<std::int64_t> seed = parse_int(text);
  if (!seed || *seed.value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*seed.value);
}

// Values of seed and network, which no field table reads.
void check_run_values(const Axis& axis, Diagnostics& d) {
  const bool is_seed = axis.path() == "seed";
  for (std::uint64_t i = 0; i < axis.count() && !(is_seed && axis.is_range()); ++i) {
    const std::string label = axis.label(i);
    if (is_seed && !seed_in(label)) {
      d.error(axis.position(i), "axes.seed", fmt::format("'{}' is no seed", label), "a whole number from 0");
    }
    if (!is_seed && label != "flow" && label != "analytic") {
      d.error(axis.position(i), "axes.network", fmt::format("no network model is called '{}'", label), "analytic or flow");
      if (axis.is_range()) return;
    }
  }
  if (is_seed && axis.is_range() && !seed_in(axis.label(axis.count() - 1))) {
    d.error(axis.where(), "axes.seed", "is no range of seeds", "whole numbers");
  }
}

}  // namespace

std::optional<Sweep> Sweep::load(Document document, const std::vector<std::string>& assignments, ReadContext& context) {
  Diagnostics& d = context.diagnostics();
  const std::size_t errors = d.error_count();
  std::vector<std::string> of_points;
  for (const std::string& a : assignments) {
    if (is_of_scenario(path_of(a)) && a.find('=') != std::string::npos) {
      of_points.push_back(a);
    } else {
      document.set(a, d);
    }
  }
  SweepSpec spec;
  if (d.error_count() != errors || !sweep_fields().read_document(document, spec, context)) return std::nullopt;
  Sweep sweep(std::move(document), std::move(spec));
  sweep.assignments_ = std::move(of_points);
  if (sweep.spec_.combine == Combination::kList) sweep.spec_.axes = list_axes(sweep.spec_);
  sweep.check_assignments(d);
  sweep.points_ = enumerate_points(sweep.spec_, context);
  if (d.error_count() == errors) sweep.check_values(context);
  if (d.error_count() != errors) return std::nullopt;
  return sweep;
}

void Sweep::check_assignments(Diagnostics& d) const {
  for (const Axis& axis : axes()) {
    for (const std::string& a : assignments_) {
      if (is_below(axis.path(), path_of(a))) {
        d.error({fmt::format("--set {}", a), 0, 0}, path_of(a), fmt::format("would undo the axis {}", axis.path()),
                fmt::format("--set axes.{}=[...] changes its values", axis.path()));
      }
    }
    for (const PathValue& v : spec_.set) {
      if (v.path == axis.path()) d.error(v.where, "set", fmt::format("'{}' is an axis", v.path), "leave it out");
    }
  }
}

void Sweep::check_values(ReadContext& context) const {
  Diagnostics& d = context.diagnostics();
  std::set<std::string> seen;
  const auto read_values = [&](std::span<const std::uint64_t> choices) {
    Diagnostics found;
    ReadContext values(found, context.library());
    values.skip_checks();
    ScenarioSpec ignored;
    if (const std::optional<Document> document = scenario(choices, values)) {
      scenario_fields().read_document(*document, ignored, values);
    }
    for (const Diagnostic& item : found.items()) {
      if (item.severity == Severity::kError && seen.insert(to_text(item)).second) d.add(item);
    }
  };
  std::vector<std::uint64_t> choices(axes().size(), 0);
  read_values(choices);
  for (std::size_t a = 0; a < axes().size(); ++a) {
    const Axis& axis = axes()[a];
    if (axis.path() == "seed" || axis.path() == "network") {
      check_run_values(axis, d);
      continue;
    }
    std::set<std::string> labels = {axis.label(0)};
    const std::uint64_t last = axis.count() - 1;
    for (std::uint64_t i = axis.is_range() ? last : 0; i <= last; ++i) {
      if (!labels.insert(axis.label(i)).second) continue;
      choices[a] = i;
      read_values(choices);
    }
    choices[a] = 0;
  }
}

std::vector<std::string> Sweep::labels(std::size_t point) const {
  std::vector<std::string> out;
  const std::span<const std::uint64_t> choices = points_.at(point);
  for (std::size_t a = 0; a < choices.size(); ++a) {
    out.push_back(choices[a] == SweepPoints::kAbsent ? std::string() : axes()[a].label(choices[a]));
  }
  return out;
}

std::optional<Document> Sweep::scenario(std::span<const std::uint64_t> choices, ReadContext& context) const {
  Diagnostics& d = context.diagnostics();
  std::optional<Document> document;
  if (const Node& base = spec_.scenario) {
    document = detail::open_reference(base, "scenario", context, "scenario");
  } else {
    document = Document::empty_map(file());
    document->assign("kind", "scenario", file(), d, true);
  }
  if (!document) return std::nullopt;
  bool is_good = true;
  if (spec_.cluster) is_good = document->assign("cluster", spec_.cluster, d) && is_good;
  if (spec_.job) is_good = document->assign("job", spec_.job, d) && is_good;

  struct Change {
    std::size_t depth;
    std::size_t index;  // of `set`, then of the axes
  };
  std::vector<Change> changes;
  for (const PathValue& v : spec_.set) changes.push_back({depth_of(v.path), changes.size()});
  for (const Axis& a : axes()) changes.push_back({depth_of(a.path()), changes.size()});
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.depth < b.depth; });
  for (const Change& c : changes) {
    if (c.index < spec_.set.size()) {
      const PathValue& v = spec_.set[c.index];
      is_good = check_job_path(*document, v.path, v.where, d) && document->assign(v.path, v.value, d) && is_good;
      continue;
    }
    const std::size_t a = c.index - spec_.set.size();
    const Axis& axis = axes()[a];
    if (choices[a] == SweepPoints::kAbsent || axis.path() == "seed" || axis.path() == "network") continue;
    is_good = check_job_path(*document, axis.path(), axis.where(), d) && axis.assign(choices[a], *document, d) && is_good;
  }
  for (const std::string& assignment : assignments_) {
    is_good = check_job_path(*document, path_of(assignment), {"--set " + assignment, 0, 0}, d) &&
              document->set(assignment, d) && is_good;
  }
  if (!is_good) return std::nullopt;
  return document;
}

std::optional<PointRun> Sweep::resolve(std::size_t point, ReadContext& context) const {
  const std::span<const std::uint64_t> choices = points_.at(point);
  const std::optional<Document> document = scenario(choices, context);
  std::optional<Scenario> read;
  if (document) read = read_scenario(*document, context);
  if (!read) return std::nullopt;
  PointRun run{*std::move(read), spec_.network, static_cast<std::uint64_t>(spec_.seed)};
  for (std::size_t a = 0; a < axes().size(); ++a) {
    if (choices[a] == SweepPoints::kAbsent) continue;
    if (axes()[a].path() == "seed") run.seed = *seed_in(axes()[a].label(choices[a]));
    if (axes()[a].path() == "network") run.network = network_kind(axes()[a].label(choices[a]));
  }
  return run;
}

}  // namespace lockstep
