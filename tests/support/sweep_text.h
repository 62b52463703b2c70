// SPDX-License-Identifier: Apache-2.0
// Sweeps from text, for tests.
#pragma once

#include <string>
#include <vector>

#include "sim/experiment/sweep/sweep.h"
#include "tests/support/shipped.h"

namespace lockstep::test {

// A small scenario under what the text says: four nodes, eight GPUs each, in racks of two.
inline std::string sweep_text(const std::string& text) {
  return "kind: sweep\n"
         "cluster: {preset: h100-roce-oversubscribed, nodes: 4, fabric: {nodes_per_leaf: 2}}\n"
         "job: llama3.2-1b-ddp\n" +
         text;
}

struct LoadedSweep {
  std::optional<Sweep> sweep;
  std::string errors;
};

inline LoadedSweep load_sweep(const std::string& text, const std::vector<std::string>& assignments = {}) {
  Diagnostics d;
  ReadContext context(d, &shipped());
  LoadedSweep loaded;
  if (std::optional<Document> document = Document::parse(text, "s.yaml", d)) {
    loaded.sweep = Sweep::load(*std::move(document), assignments, context);
  }
  loaded.errors = messages(d);
  return loaded;
}

// A sweep without errors, or an exception with them.
inline Sweep good_sweep(const std::string& text, const std::vector<std::string>& assignments = {}) {
  LoadedSweep loaded = load_sweep(sweep_text(text), assignments);
  if (!loaded.sweep) throw std::runtime_error(loaded.errors);
  return *std::move(loaded.sweep);
}

// The values of every point, as "1 a | 2 b".
inline std::string points_of(const Sweep& sweep) {
  std::string text;
  for (std::size_t i = 0; i < sweep.size(); ++i) {
    std::string row;
    for (const std::string& label : sweep.labels(i)) row += (row.empty() ? "" : " ") + (label.empty() ? "-" : label);
    text += (text.empty() ? "" : " | ") + row;
  }
  return text;
}

}  // namespace lockstep::test
