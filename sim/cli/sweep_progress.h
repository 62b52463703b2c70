// SPDX-License-Identifier: Apache-2.0
// How far a sweep is, on standard error: one line that is rewritten on a terminal, a plain line now and then in a log.
#pragma once

#include <chrono>

#include "sim/experiment/sweep/sweep_run.h"

namespace lockstep::cli {

class SweepProgressLine {
 public:
  SweepProgressLine();
  SweepProgressLine(const SweepProgressLine&) = delete;
  SweepProgressLine& operator=(const SweepProgressLine&) = delete;
  ~SweepProgressLine() { clear(); }

  void show(const SweepProgress& progress);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool is_terminal_;
  bool is_shown_ = false;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point next_;
};

}  // namespace lockstep::cli
