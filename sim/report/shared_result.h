// SPDX-License-Identifier: Apache-2.0
// What a run of several jobs on one network says: what each does beside the others and alone, and what they do to the links together.
// Renderings are in render.h; the JSON contract is in docs/output.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/report/run_result.h"

namespace lockstep {

struct SharedJob {
  std::string name;
  double start_s = 0;
  std::int64_t steps = 1;  // simulated beside the others
  double alone_step_time_s = 0;
  double slowdown = 1;  // mean step beside the others / step alone
  RunResult run;        // its step time and breakdown are means over the steps; links are those that carry its transfers
};

struct SharedRunResult {
  std::string scenario;
  std::string version;
  std::string cluster;
  std::vector<std::string> set;  // --set of the command line, in order
  std::string network;
  std::uint64_t seed = 0;
  double end_s = 0;  // of the last job
  std::vector<SharedJob> jobs;
  std::vector<LinkReport> links;  // busiest first, over the whole run
  std::vector<FaultReport> faults;
  SymmetryReport symmetry;  // of the run of all
  std::int64_t events = 0;
  std::uint64_t fingerprint = 0;
  Measured measured;

  [[nodiscard]] std::int64_t gpus() const {
    std::int64_t sum = 0;
    for (const SharedJob& j : jobs) sum += j.run.gpus;
    return sum;
  }
};

}  // namespace lockstep
