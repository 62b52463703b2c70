// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/sweep/point_locks.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/write_file.h"

namespace lockstep {

PointLocks::PointLocks(const std::string& folder) {
  const std::string file = (std::filesystem::path(folder) / "lock").string();
  descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw StorageError(fmt::format("cannot open {}: {}", file, std::strerror(errno)));
}

PointLocks::~PointLocks() { ::close(descriptor_); }

bool PointLocks::set(const PointKey& key, bool is_locked) {
  struct flock range = {};
  range.l_type = static_cast<short>(is_locked ? F_WRLCK : F_UNLCK);
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(key.low >> 2);  // two keys in one place only wait for each other
  range.l_len = 1;
  while (::fcntl(descriptor_, F_SETLK, &range) != 0) {
    if (errno == EINTR) continue;
    return errno != EAGAIN && errno != EACCES;
  }
  return true;
}

bool PointLocks::try_lock(const PointKey& key) {
  const std::lock_guard lock(mutex_);
  if (held_.count(key) > 0 || !set(key, true)) return false;
  held_.insert(key);
  return true;
}

void PointLocks::unlock(const PointKey& key) {
  const std::lock_guard lock(mutex_);
  set(key, false);
  held_.erase(key);
}

}  // namespace lockstep
