// SPDX-License-Identifier: Apache-2.0
#include "base/time.h"

#include <cmath>

namespace lockstep {

Duration Duration::from_seconds(double s) {
  const double ps = s * 1e12;
  LOCKSTEP_CHECK(std::isfinite(ps) && std::fabs(ps) < 9.2e18, "{} s is outside the range of simulated time", s);
  return Duration(static_cast<std::int64_t>(ps < 0 ? ps - 0.5 : ps + 0.5));
}

}  // namespace lockstep
