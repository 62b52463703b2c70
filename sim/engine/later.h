// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/time.h"

namespace lockstep {

// `wait_ps` after `now`; never() beyond the range of time, where nothing can be scheduled. PRE: wait_ps >= 0.
[[nodiscard]] inline Instant later(Instant now, Int128 wait_ps) {
  LOCKSTEP_CHECK(wait_ps >= 0, "something is scheduled before {} ps", now.picos());
  const Int128 when = now.picos() + wait_ps;
  return when >= Instant::never().picos() ? Instant::never() : Instant::picos(static_cast<std::int64_t>(when));
}
[[nodiscard]] inline Instant later(Instant now, Duration wait) { return later(now, Int128{wait.picos()}); }

}  // namespace lockstep
