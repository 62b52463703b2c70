// SPDX-License-Identifier: Apache-2.0
// A sweep ready to run: its points in order, and how each becomes a scenario. What is wrong with the file itself (an unknown path, a
// value that cannot be read, a missing key) is found when it is loaded, before anything runs; what is wrong with a point (a plan that
// does not fit its cluster) when the point is resolved.
//
// A point is the base with `set` and the values of the axes laid over it, shorter paths first (`cluster` before `cluster.nodes`), then --set.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/experiment/scenario.h"
#include "sim/experiment/sweep/points.h"

namespace lockstep {

struct PointRun {
  Scenario scenario;
  NetworkKind network = NetworkKind::kFlow;
  std::uint64_t seed = 0;
};

class Sweep {
 public:
  // `assignments` are those of --set: of cluster. and job. for every point, all others change the sweep itself.
  // Everything wrong goes to the context; nothing is returned if anything was.
  [[nodiscard]] static std::optional<Sweep> load(Document document, const std::vector<std::string>& assignments,
                                                 ReadContext& context);

  [[nodiscard]] const SweepSpec& spec() const { return spec_; }
  [[nodiscard]] const std::vector<Axis>& axes() const { return spec_.axes; }
  [[nodiscard]] const std::vector<std::string>& assignments() const { return assignments_; }
  [[nodiscard]] const std::string& file() const { return document_.file(); }
  [[nodiscard]] std::uint64_t content_hash() const { return document_.content_hash(); }
  [[nodiscard]] std::size_t size() const { return points_.size(); }
  // Of every axis, as tables show it; empty where a listed point does not say.
  [[nodiscard]] std::vector<std::string> labels(std::size_t point) const;
  // Thread-safe. Errors of the point go to the context.
  [[nodiscard]] std::optional<PointRun> resolve(std::size_t point, ReadContext& context) const;

 private:
  Sweep(Document document, SweepSpec spec) : document_(std::move(document)), spec_(std::move(spec)), points_(0) {}

  void check_assignments(Diagnostics& d) const;
  void check_values(ReadContext& context) const;
  // The scenario with these choices, ready to be read.
  [[nodiscard]] std::optional<Document> scenario(std::span<const std::uint64_t> choices, ReadContext& context) const;

  Document document_;
  SweepSpec spec_;
  SweepPoints points_;
  std::vector<std::string> assignments_;  // of every point
};

}  // namespace lockstep
