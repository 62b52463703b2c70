// SPDX-License-Identifier: Apache-2.0
// One line on standard error that says how far a long run is. Silent where standard error is no terminal, and in the first second.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace lockstep::cli {

class Progress {
 public:
  Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }

  // Writes at most five times a second.
  void show(Instant now, std::int64_t events);
  // Takes the line away again.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool is_terminal_;
  bool is_shown_ = false;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point next_;
};

}  // namespace lockstep::cli
