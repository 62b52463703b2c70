// SPDX-License-Identifier: Apache-2.0
// How far a long command is, on standard error: one line that is rewritten on a terminal. In a log (standard error is no terminal)
// nothing, or a plain line now and then. Silent in the first second.
#pragma once

#include <chrono>
#include <string>

#include "base/time.h"
#include "sim/experiment/sweep/sweep_run.h"

namespace lockstep::cli {

// "simulated 0.125 s, 3.0 million events, 1.5 million per second"
[[nodiscard]] std::string run_progress_text(Instant now, std::int64_t events, double seconds);
// "40 of 100 points, 2 failed, 20.0 per second, 3 s left". What was found in the store took no time and says nothing about the rest.
[[nodiscard]] std::string sweep_progress_text(const SweepProgress& progress, double seconds);

class ProgressLine {
 public:
  enum class InLogs { kSilent, kHalfMinute };

  explicit ProgressLine(InLogs in_logs);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }

  // Writes text(seconds since construction) if it is time to: at most five times a second.
  template <class Text>
  void show(const Text& text) {
    if (is_silent_) return;
    const Clock::time_point clock = Clock::now();
    if (clock < next_) return;
    next_ = clock + interval_;
    write(text(std::chrono::duration<double>(clock - begin_).count()));
  }
  // Takes the line of a terminal away again.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  void write(const std::string& text);

  bool is_terminal_;
  bool is_silent_;
  bool is_shown_ = false;
  Clock::duration interval_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point next_;
};

}  // namespace lockstep::cli
