// SPDX-License-Identifier: Apache-2.0
// Which points are being simulated, known to all processes that share a store: one byte of DIR/lock per point, locked by whoever runs it.
// The system lets go of the locks of a process that dies, however it dies. Where the file system has no locks everybody gets them: points
// may then be simulated twice, and the store keeps one result.
#pragma once

#include <mutex>
#include <set>
#include <string>

#include "sim/experiment/sweep/point_store.h"

namespace lockstep {

class PointLocks {
 public:
  explicit PointLocks(const std::string& folder);  // throws StorageError
  PointLocks(const PointLocks&) = delete;
  PointLocks& operator=(const PointLocks&) = delete;
  ~PointLocks();

  // False when another thread or process holds it. Thread-safe.
  [[nodiscard]] bool try_lock(const PointKey& key);
  void unlock(const PointKey& key);

 private:
  bool set(const PointKey& key, bool is_locked);

  int descriptor_ = -1;
  std::mutex mutex_;
  std::set<PointKey> held_;  // by this process: its threads share the file's locks
};

}  // namespace lockstep
