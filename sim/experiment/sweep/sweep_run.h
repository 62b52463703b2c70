// SPDX-License-Identifier: Apache-2.0
// Runs points of a sweep on several threads and keeps each in the store as soon as it is finished. Points that are there already are not
// run; a point that another process runs is waited for, not run again. A point with a wrong configuration or a failed simulation is
// recorded with its error and the others go on.
//
// A simulation has no state outside itself, so results do not depend on the number of threads or on the order. Points on equal clusters
// with equal seeds share one PreparedCluster.
// Memory: what `threads` simulations need, and 80 bytes a point besides errors.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sim/experiment/sweep/point_store.h"
#include "sim/experiment/sweep/sweep.h"

namespace lockstep {

enum class PointState : std::uint8_t {
  kUnknown,  // nobody has looked
  kMissing,  // not in the store
  kStored,   // in the store, with a result or the error of a simulation
  kInvalid,  // its configuration is wrong; found each time it is read, never stored
};

struct PointStatus {
  PointState state = PointState::kUnknown;
  PointKey key;       // of kMissing and kStored
  std::string error;  // of kInvalid, in one line
  std::vector<std::string> warnings = {};
};

// By point.
using PointStatuses = std::vector<PointStatus>;

// Hash of all that the result depends on: the resolved configuration, network model, seed, and version of the program.
[[nodiscard]] PointKey point_key(const PointRun& run, std::string_view version);
// Errors in one line, without positions.
[[nodiscard]] std::string one_line(const Diagnostics& d);
// Every warning once, with the points it is about.
[[nodiscard]] std::vector<std::string> all_warnings(const PointStatuses& statuses);

struct SweepProgress {
  std::size_t points = 0;  // to do in all
  std::size_t done = 0;    // of them
  std::size_t found = 0;   // of those done: were in the store
  std::size_t failed = 0;  // of those done
};

struct SweepRunOptions {
  const ConfigLibrary& library;
  std::string version;
  std::size_t threads = 1;
  std::function<void(const SweepProgress&)> on_progress = {};  // one call at a time
};

// Runs those of `points` that are missing in the store of `folder`, and notes their status. PRE: statuses.size() is the sweep's.
// Throws StorageError.
SweepProgress run_points(const Sweep& sweep, const std::vector<std::size_t>& points, PointStore& store,
                         const std::string& folder, const SweepRunOptions& options, PointStatuses& statuses);
// Finds the status of the points whose status is unknown; runs nothing. `store` may be null: then no point is stored.
void complete_statuses(const Sweep& sweep, const PointStore* store, const SweepRunOptions& options, PointStatuses& statuses);

}  // namespace lockstep
