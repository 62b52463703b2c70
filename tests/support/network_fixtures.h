// SPDX-License-Identifier: Apache-2.0
// One or two links with plain arithmetic, for tests of network models. 1 byte per picosecond is 65536 x 10^12 units.
#pragma once

#include <map>
#include <vector>

#include "sim/network/network_model.h"

namespace lockstep::test {

inline const Rate kBytePerPico = Rate::units(65'536'000'000'000'000);
inline const std::vector<LinkShare> kLink0 = {{LinkId(0), 1}};

inline Instant at(std::int64_t ps) { return Instant::picos(ps); }

// Runs until nothing happens any more; ends by token.
inline std::map<std::uint64_t, std::int64_t> run(NetworkModel& net) {
  std::map<std::uint64_t, std::int64_t> ends;
  std::vector<Completion> out;
  Instant now;
  while (!net.next_event().is_never()) {
    now = net.next_event();
    out.clear();
    net.advance(now, out);
    for (const Completion& c : out) ends[c.token] = now.picos();
    net.settle(now);
  }
  net.finish(now);
  return ends;
}

}  // namespace lockstep::test
