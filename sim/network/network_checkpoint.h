// SPDX-License-Identifier: Apache-2.0
// What a network model is doing at an instant, relative to that instant, and what it has counted so far. Two checkpoints that differ in
// nothing but the instant and the totals have equal futures, as long as the same transfers are started at the same distances.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "base/wide.h"

namespace lockstep {

// One transfer under way.
struct PendingTransfer {
  std::uint64_t token = 0;
  std::uint32_t phase = 0;  // the model's own
  Int128 left = 0;          // picoseconds, or work
  std::int64_t level = 0;   // where the model fixes it
  std::int64_t moved = 0;   // bytes of a member that went another way before
  bool operator==(const PendingTransfer&) const = default;
};

struct LedgerTotals {
  struct Link {
    Int128 bytes = 0;
    Int128 used = 0;
  };
  std::vector<Link> links;
  std::int64_t started = 0;
  std::int64_t ended = 0;
  Int128 promised = 0;
  Int128 delivered = 0;
  std::int64_t denominator = 1;  // of the bytes of links
  std::int64_t capacity_changes = 0;
};

struct NetworkCheckpoint {
  Instant at;
  std::vector<PendingTransfer> pending;  // by token
  LedgerTotals totals;

  // Whether the span between the two can happen again, the state of the rest of the simulation allowing.
  [[nodiscard]] bool repeats(const NetworkCheckpoint& earlier) const {
    return pending == earlier.pending && totals.denominator == earlier.totals.denominator &&
           totals.capacity_changes == earlier.totals.capacity_changes;
  }
};

}  // namespace lockstep
