// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

namespace lockstep::cli {
namespace {

constexpr std::chrono::milliseconds kFirst{1000};
constexpr std::chrono::milliseconds kInterval{200};
constexpr const char* kEraseLine = "\r\033[K";

}  // namespace

Progress::Progress() : is_terminal_(isatty(STDERR_FILENO) == 1), next_(begin_ + kFirst) {}

void Progress::show(Instant now, std::int64_t events) {
  if (!is_terminal_) return;
  const Clock::time_point clock = Clock::now();
  if (clock < next_) return;
  next_ = clock + kInterval;
  is_shown_ = true;
  const double seconds = std::chrono::duration<double>(clock - begin_).count();
  fmt::print(stderr, "{}simulated {:.3f} s, {:.1f} million events, {:.1f} million per second", kEraseLine, now.seconds(),
             static_cast<double>(events) * 1e-6, static_cast<double>(events) * 1e-6 / seconds);
  std::fflush(stderr);
}

void Progress::clear() {
  if (!is_shown_) return;
  fmt::print(stderr, "{}", kEraseLine);
  std::fflush(stderr);
  is_shown_ = false;
}

}  // namespace lockstep::cli
