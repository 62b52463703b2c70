// SPDX-License-Identifier: Apache-2.0
// Renderings of a search for the best plan. JSON is the contract (docs/tune.md); CSV has a row for each of the best plans, or of all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/experiment/tune/tuned_plan.h"

namespace lockstep {

struct TuneReport {
  std::string version;
  std::string scenario;
  std::string cluster;
  std::string job;
  std::string network;
  std::uint64_t seed = 0;
  std::int64_t gpus = 0;
  std::int64_t global_batch = 0;
  std::int64_t seq_len = 0;
  std::vector<std::string> set;
  std::vector<std::string> space;  // --space, in order
  std::size_t top = 10;
  std::int64_t max_evaluations = 0;
  std::vector<std::string> columns;              // of a choice
  std::vector<std::vector<std::string>> fields;  // by plan of the result
  TuneResult result;
};

[[nodiscard]] std::string to_json(const TuneReport& r);
[[nodiscard]] std::string to_csv(const TuneReport& r);       // the best
[[nodiscard]] std::string to_markdown(const TuneReport& r);  // the best
[[nodiscard]] std::string to_table(const TuneReport& r);

// Every evaluated plan, the fastest first: its choice, status, error, bound and estimate, and what its run says.
[[nodiscard]] std::string results_csv(const TuneReport& r);
// What the search was made from and what became of its plans.
[[nodiscard]] std::string manifest_json(const TuneReport& r, const std::string& results);
// What is in the way when no plan fits, and what would help.
[[nodiscard]] std::string nothing_fits_text(const TuneReport& r);

}  // namespace lockstep
