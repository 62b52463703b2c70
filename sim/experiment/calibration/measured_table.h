// SPDX-License-Identifier: Apache-2.0
// One table of nccl-tests with the hardware it was measured on: what constants are fitted to and errors are stated of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/experiment/collective_predictor.h"

namespace lockstep {

struct MeasuredRow {
  std::int64_t bytes = 0;  // the larger per-rank buffer
  double seconds = 0;
};

struct MeasuredTable {
  std::string name;
  ClusterSpec cluster;
  CollectiveQuestion question;
  std::vector<MeasuredRow> rows;
};

}  // namespace lockstep
