// SPDX-License-Identifier: Apache-2.0
// A sweep as the user states it (kind: sweep): what every point has in common, the axes, how their values are combined, and which
// combinations are left out.
//
//   kind: sweep
//   scenario: llama3-8b-fsdp            or cluster: and job:, as in a scenario
//   set: {cluster.nodes: 32}            keys of every point
//   axes:
//     cluster.fabric.oversubscription: [1, 2, 4]
//     seed: {from: 0, to: 9}
//   exclude:
//     - {cluster.fabric.oversubscription: 1, seed: [8, 9]}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/experiment/cluster_run.h"
#include "sim/experiment/sweep/axis.h"

namespace lockstep {

// A value at a path of the scenario, `seed` or `network`.
struct PathValue {
  std::string path;
  Node value;
  Position where;  // of the path
};
using PathValues = std::vector<PathValue>;

enum class Combination : std::uint8_t { kGrid, kZip, kList, kRandom, kLatinHypercube };

// Nodes belong to the sweep's document.
struct SweepSpec {
  std::string name;
  Node scenario;
  Node cluster;
  Node job;
  PathValues set;
  NetworkKind network = NetworkKind::kFlow;
  std::int64_t seed = 0;

  Combination combine = Combination::kGrid;
  std::vector<Axis> axes;          // of a list: from the points
  std::vector<PathValues> points;  // of a list
  std::optional<std::int64_t> samples;
  std::int64_t sample_seed = 0;
  std::vector<PathValues> exclude;

  [[nodiscard]] bool is_sampled() const { return combine == Combination::kRandom || combine == Combination::kLatinHypercube; }
};

[[nodiscard]] const FieldTable<SweepSpec>& sweep_fields();

}  // namespace lockstep
