// SPDX-License-Identifier: Apache-2.0
// Loaded into lockstep by LD_PRELOAD: the process dies (SIGKILL) in its write number $KILL_AT_WRITE to a file of the point store, with half
// of the bytes on the disk. Kills from outside hit this moment by chance only.
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

using Pwrite = ssize_t (*)(int, const void*, size_t, off64_t);
std::atomic<long> writes{0};

bool is_in_store(int fd) {
  std::array<char, 4096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  if (readlink(link.c_str(), path.data(), path.size() - 1) <= 0) return false;
  return std::strstr(path.data(), "store.sqlite") != nullptr && std::strstr(path.data(), "-shm") == nullptr;
}

}  // namespace

// SQLite writes its database and its write-ahead log with this one.
extern "C" ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  static const auto real = reinterpret_cast<Pwrite>(dlsym(RTLD_NEXT, "pwrite64"));
  const char* at = std::getenv("KILL_AT_WRITE");
  if (at == nullptr || !is_in_store(fd) || ++writes < std::atol(at)) return real(fd, data, size, offset);
  real(fd, data, size / 2, offset);
  std::raise(SIGKILL);
  return -1;
}
