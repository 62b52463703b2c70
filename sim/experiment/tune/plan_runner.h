// SPDX-License-Identifier: Apache-2.0
// Runs plans of one search and keeps what they say, in a store if there is one. Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sim/experiment/sweep/point_locks.h"
#include "sim/experiment/sweep/point_store.h"
#include "sim/experiment/tune/tune.h"

namespace lockstep {

class PlanRunner {
 public:
  // All must outlive it. Throws StorageError.
  PlanRunner(const ScenarioSpec& spec, const PlanSpace& space, const PreparedCluster& prepared, const TuneOptions& options);

  struct Outcome {
    StoredPoint point;
    bool is_found = false;  // was in the store
  };
  [[nodiscard]] Outcome run(const PlanChoice& choice);

 private:
  [[nodiscard]] PointKey key_of(const JobSpec& job) const;
  [[nodiscard]] StoredPoint simulate(const JobSpec& job) const;

  const ScenarioSpec& spec_;
  const PlanSpace& space_;
  const PreparedCluster& prepared_;
  const TuneOptions& options_;
  std::string setting_;  // cluster and options, as far as results depend on them
  std::unique_ptr<PointStore> store_;
  std::unique_ptr<PointLocks> locks_;
};

// Reads the record of a run back.
[[nodiscard]] PlanNumbers numbers_of_record(const std::string& record);

}  // namespace lockstep
