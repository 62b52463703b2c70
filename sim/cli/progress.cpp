// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

namespace lockstep::cli {
namespace {

constexpr std::chrono::milliseconds kFirst{1000};
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

std::string run_progress_text(Instant now, std::int64_t events, double seconds) {
  const double millions = static_cast<double>(events) * 1e-6;
  return fmt::format("simulated {:.3f} s, {:.1f} million events, {:.1f} million per second", now.seconds(), millions,
                     millions / seconds);
}

std::string sweep_progress_text(const SweepProgress& p, double seconds) {
  std::string text = fmt::format("{} of {} points", p.done, p.points);
  if (p.failed > 0) text += fmt::format(", {} failed", p.failed);
  const double rate = static_cast<double>(p.done - p.found) / seconds;
  if (rate > 0) {
    text += fmt::format(", {:.1f} per second, {} left", rate, duration_text(static_cast<double>(p.points - p.done) / rate));
  }
  return text;
}

ProgressLine::ProgressLine(InLogs in_logs)
    : is_terminal_(isatty(STDERR_FILENO) == 1), is_silent_(!is_terminal_ && in_logs == InLogs::kSilent) {
  interval_ = is_terminal_ ? Clock::duration(kTerminalInterval) : Clock::duration(kLogInterval);
  next_ = begin_ + (is_terminal_ ? Clock::duration(kFirst) : interval_);
}

void ProgressLine::write(const std::string& text) {
  fmt::print(stderr, "{}{}{}", is_terminal_ ? kEraseLine : "", text, is_terminal_ ? "" : "\n");
  std::fflush(stderr);
  is_shown_ = is_terminal_;
}

void ProgressLine::clear() {
  if (!is_shown_) return;
  fmt::print(stderr, "{}", kEraseLine);
  std::fflush(stderr);
  is_shown_ = false;
}

}  // namespace lockstep::cli
