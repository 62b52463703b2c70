// SPDX-License-Identifier: Apache-2.0
// What the simulator itself costs. For `measured` and benchmarks only; never reaches a result.
#pragma once

#include <cstdint>

namespace lockstep {

[[nodiscard]] double process_cpu_seconds();        // user and system time of all threads since the start of the process
[[nodiscard]] double monotonic_seconds();          // since an arbitrary moment
[[nodiscard]] std::int64_t peak_resident_bytes();  // of the process so far

}  // namespace lockstep
