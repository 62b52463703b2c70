// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

namespace lockstep {

Rate Rate::bytes_per_second(double v) {
  LOCKSTEP_CHECK(v >= 0 && v < 1.4e14, "a rate of {} byte/s cannot be represented", v);
  return Rate(static_cast<std::int64_t>(v * static_cast<double>(kUnitsPerBytePerSecond)));
}

}  // namespace lockstep
