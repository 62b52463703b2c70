// SPDX-License-Identifier: Apache-2.0
// What a cluster file may ask for. The bounds are far beyond any hardware; inside them no sum of rates or latencies overflows
// (64-bit rate units, base/units.h) and no id leaves 32 bits.
#pragma once

#include "base/time.h"
#include "base/units.h"

namespace lockstep {

inline constexpr Rate kLowestRate = Rate::bits_per_second(1'000'000);
inline constexpr Rate kHighestRate = Rate::gbps(100'000);
inline constexpr Duration kLongestLatency = Duration::micros(1'000'000);
// Nothing flaps faster, and every change costs an event.
inline constexpr Duration kShortestPeriod = Duration::micros(100);
inline constexpr Duration kLatestFault =
    Duration::micros(30 * std::int64_t{86'400} * 1'000'000);  // 30 days; time ends after 106
inline constexpr int kMostNodes = 1 << 20;
inline constexpr int kMostSwitches = 65'536;
inline constexpr int kMostCables = 1'024;
inline constexpr int kMostNics = 128;
inline constexpr int kMostGpusPerServer = 1'024;
inline constexpr std::uint64_t kMostLinks = 64'000'000;  // about 3 GiB

}  // namespace lockstep
