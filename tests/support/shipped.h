// SPDX-License-Identifier: Apache-2.0
// Shipped configurations as tests read them: from the source tree.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "base/config_library.h"
#include "base/field_table.h"
#include "sim/experiment/scenario.h"

namespace lockstep::test {

inline const ConfigLibrary& shipped() {
  static const ConfigLibrary library({LOCKSTEP_TEST_CONFIGS});
  return library;
}

inline std::string messages(const Diagnostics& d) {
  std::string text;
  for (const Diagnostic& item : d.items()) text += to_text(item) + "\n";
  return text;
}

// A shipped scenario with --set assignments; throws with all errors.
inline Scenario scenario(const std::string& name, std::vector<std::string> assignments = {}) {
  Diagnostics d;
  ReadContext context(d, &shipped());
  const auto loaded = load_scenario({.file = name, .assignments = std::move(assignments)}, context);
  if (!loaded) throw std::runtime_error(messages(d));
  return *loaded;
}

// The constants of the collective library that clusters have unless they say otherwise.
inline TuningSpec shipped_tuning() {
  Diagnostics d;
  TuningSpec spec;
  ReadContext context(d, &shipped());
  if (const auto document = shipped().open("tuning", "nccl", {}, {}, d))
    tuning_fields().read_document(*document, spec, context);
  if (d.has_errors()) throw std::runtime_error(messages(d));
  return spec;
}

// What the tuner of NCCL alone says, without what was measured beside it.
inline TuningSpec tuner_alone() {
  TuningSpec spec = shipped_tuning();
  GenerationTunings& g = spec.generations;
  for (GenerationTuning* own : {&g.volta, &g.turing, &g.ampere, &g.ada, &g.hopper, &g.blackwell, &g.cdna3}) {
    own->launch = {};
    own->hop_scale = 1;
    own->fill = {};
  }
  return spec;
}

// A shipped cluster with "key=value" assignments.
inline ClusterSpec cluster(const std::string& name, const std::vector<std::string>& assignments = {}) {
  Diagnostics d;
  ClusterSpec spec;
  if (auto document = shipped().open("cluster", name, {}, {}, d)) {
    for (const std::string& a : assignments) document->set(a, d);
    ReadContext context(d, &shipped());
    cluster_fields().read_document(*document, spec, context);
  }
  if (d.has_errors()) throw std::runtime_error(messages(d));
  return spec;
}

}  // namespace lockstep::test
