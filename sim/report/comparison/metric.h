// SPDX-License-Identifier: Apache-2.0
// What is known about the keys of results (docs/output.md): what a key is about, which direction is better, and which keys people look at
// first. Keys are dotted names without places in lists: "step_time_s", "breakdown_s.dp", "links.utilization". A key that is not known
// here is an answer of which neither direction is better.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

enum class Aspect : std::uint8_t {
  kQuestion,   // what was asked: cluster, seed, network model
  kAnswer,     // what came out
  kSimulator,  // how it was computed: wall time, memory, events, classes of equals
};
enum class Direction : std::uint8_t { kNone, kLowerIsBetter, kHigherIsBetter };

struct MetricFacts {
  Aspect aspect = Aspect::kAnswer;
  Direction better = Direction::kNone;
  bool is_headline = false;  // shown row by row where a result has many rows
  int rank = 0;              // smaller stands above
};

[[nodiscard]] MetricFacts metric_facts(std::string_view metric);

// Whether a pattern of the command line (`*` and `?` as in file names) means the key: all of it, or all after one of its dots.
[[nodiscard]] bool matches_metric(std::string_view pattern, std::string_view metric);

}  // namespace lockstep
