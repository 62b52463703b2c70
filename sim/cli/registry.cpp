// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/verbs.h"

namespace lockstep::cli {

std::vector<Verb> all_verbs() {
  std::vector<Verb> verbs = {
      run_verb(),     explain_verb(),  sweep_verb(),     tune_verb(),   collective_verb(), traffic_verb(), topo_verb(),
      compare_verb(), validate_verb(), calibrate_verb(), import_verb(), check_verb(),      list_verb(),    schema_verb(),
  };
  for (Verb& v : verbs) v.options.push_back({.name = "help", .value_name = "", .doc = "this text", .short_name = 'h'});
  return verbs;
}

}  // namespace lockstep::cli
