// SPDX-License-Identifier: Apache-2.0
// The host of a rank, that starts its kernels one after the other (Kernel::host each) and runs ahead of the GPU while kernels take longer
// than starting them: an operation ends no earlier than the host has started the last of its kernels,
//
//   end = max(start + time on the GPU, host)      host += Kernel::host of every operation, in program order
//
// so long operations pay for the starting of short ones behind them, and a collective is hidden while the GPU waits for the host anyway.
// The host stops being ahead where it waits for the GPU: at a message from another pipeline stage that compute waits for (Megatron-LM
// synchronises there), before an operation that awaits the GPU (the optimizer, whose gradient norm comes to the host), and at the
// beginning. It is never further ahead than kFarthestAhead: streams queue about a thousand kernels (CUDA's launch queue holds 1,024).
// Not modelled: hosts that share cores, garbage collection, how long a queued kernel takes to start.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace lockstep {

class HostClock {
 public:
  static constexpr Duration kFarthestAhead = Duration::micros(20'000);

  // When the kernels of an operation that begins now have all been started.
  Instant start(Instant now, Duration host) {
    at_ = std::max(at_, earliest(now)) + host;
    return at_;
  }
  // The host waits for everything up to now.
  void synchronise(Instant now) { at_ = std::max(at_, now); }
  [[nodiscard]] Instant at() const { return at_; }
  // Relative to now, as far as it tells in what comes: of equal leads everything after is equal.
  [[nodiscard]] Duration lead(Instant now) const { return std::max(at_, earliest(now)) - now; }
  void move_on(Duration by) { at_ = at_ + by; }

 private:
  static Instant earliest(Instant now) {
    const Duration since_start = now - Instant();
    return since_start > kFarthestAhead ? Instant() + (since_start - kFarthestAhead) : Instant();
  }
  Instant at_;
};

}  // namespace lockstep
