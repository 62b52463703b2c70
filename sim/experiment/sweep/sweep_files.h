// SPDX-License-Identifier: Apache-2.0
// What a sweep leaves beside its store: results.csv, one row for every finished point in the order of the points, and manifest.json, what it was
// made from. Both follow from the sweep and the store alone: the same bytes whatever the number of threads, shards or interruptions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/experiment/sweep/sweep_run.h"

namespace lockstep {

struct SweepCounts {
  std::size_t points = 0;
  std::size_t good = 0;
  std::size_t failed = 0;
  [[nodiscard]] std::size_t missing() const { return points - good - failed; }
};

struct SweepFilesOptions {
  std::string folder;
  std::string version;
  bool has_measured = false;  // columns measured.wall_s and measured.peak_rss_bytes
};

// "point" and the swept keys, as a row of CSV; and the same of a point.
[[nodiscard]] std::vector<std::string> swept_columns(const Sweep& sweep);
[[nodiscard]] std::vector<std::string> swept_fields(const Sweep& sweep, std::size_t point);

// Copies the points of the sweep that the stores of `folders` have. Throws StorageError, also when two of them differ in a point.
void merge_stores(const std::vector<std::string>& folders, std::span<const PointStatus> status, PointStore& store);

// `status` is by point. Memory does not grow with the points. Throws StorageError.
SweepCounts write_sweep_files(const Sweep& sweep, std::span<const PointStatus> status, const PointStore& store,
                              const SweepFilesOptions& options);

}  // namespace lockstep
