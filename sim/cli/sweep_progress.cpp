// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/sweep_progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace lockstep::cli {
namespace {

constexpr std::chrono::milliseconds kTerminalInterval{200};
constexpr std::chrono::seconds kLogInterval{30};
constexpr const char* kEraseLine = "\r\033[K";

std::string duration_text(double seconds) {
  const auto s = static_cast<long>(seconds);
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {:02} s", s / 60, s % 60);
  return fmt::format("{} h {:02} min", s / 3600, s / 60 % 60);
}

}  // namespace

SweepProgressLine::SweepProgressLine() : is_terminal_(isatty(STDERR_FILENO) == 1) {
  next_ = begin_ + (is_terminal_ ? Clock::duration(kTerminalInterval) : Clock::duration(kLogInterval));
}

void SweepProgressLine::show(const SweepProgress& p) {
  const Clock::time_point clock = Clock::now();
  if (clock < next_) return;
  next_ = clock + (is_terminal_ ? Clock::duration(kTerminalInterval) : Clock::duration(kLogInterval));
  const double seconds = std::chrono::duration<double>(clock - begin_).count();
  // What was found in the store takes no time and says nothing about the rest.
  const double rate = static_cast<double>(p.done - p.found) / seconds;
  std::string text = fmt::format("{} of {} points", p.done, p.points);
  if (p.failed > 0) text += fmt::format(", {} failed", p.failed);
  if (rate > 0) {
    text += fmt::format(", {:.1f} per second, {} left", rate, duration_text(static_cast<double>(p.points - p.done) / rate));
  }
  fmt::print(stderr, "{}{}{}", is_terminal_ ? kEraseLine : "", text, is_terminal_ ? "" : "\n");
  std::fflush(stderr);
  is_shown_ = is_terminal_;
}

void SweepProgressLine::clear() {
  if (!is_shown_) return;
  fmt::print(stderr, "{}", kEraseLine);
  std::fflush(stderr);
  is_shown_ = false;
}

}  // namespace lockstep::cli
