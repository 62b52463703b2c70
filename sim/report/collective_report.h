// SPDX-License-Identifier: Apache-2.0
// Renderings of a collective's rows. `nccl` is the table of nccl-tests, column for column, so that tools that read its output read
// ours; a run in simulation has no out-of-place variant, both halves show the same numbers. csv and json carry the contract's keys.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/experiment/collective.h"

namespace lockstep {

struct CollectiveReport {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::string cluster;
  std::string network;  // analytic | flow
  std::string version;
  std::uint64_t seed = 0;
  std::vector<std::string> set;                            // --set of the command line, in order
  std::vector<std::pair<std::string, std::string>> asked;  // algorithm, protocol, channels, where the user chose them
  std::int64_t gpus = 0;
  std::span<const CollectiveRow> rows;
  double wall_s = 0;
  std::int64_t peak_rss_bytes = 0;
};

[[nodiscard]] std::string to_nccl_table(const CollectiveReport& r);
[[nodiscard]] std::string to_csv(const CollectiveReport& r);
[[nodiscard]] std::string to_json(const CollectiveReport& r);

}  // namespace lockstep
