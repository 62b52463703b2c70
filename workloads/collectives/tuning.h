// SPDX-License-Identifier: Apache-2.0
// Latency and protocol constants of a collective library, per GPU generation. The form and the figures are those of the
// tuner of NCCL v2.30.7 (docs/model.md, "Collectives"): time = base + steps x hop + bytes / bandwidth, with three protocols that trade
// latency for bandwidth. Nothing here depends on a message, a table or a site.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"
#include "base/units.h"
#include "workloads/collectives/pair_tuning.h"

namespace lockstep {

// LL: 8-byte stores with a flag each; LL128: 120 of 128 bytes are payload; Simple: full bandwidth behind fences.
enum class Protocol : std::uint8_t { kLl, kLl128, kSimple };
inline constexpr int kProtocolCount = 3;
[[nodiscard]] std::string_view to_text(Protocol p);  // "LL", "LL128", "Simple"

enum class GpuGeneration : std::uint8_t;  // topology/hardware/gpu_spec.h

struct ProtocolCost {
  Duration base;                     // per collective
  Duration nvlink_hop;               // per step inside a node, over NVLink or xGMI
  Duration pcie_hop;                 // per step inside a node, over PCIe
  Duration network_hop;              // per step between nodes, the fabric's own latency not included
  double rate_factor = 1;            // payload share of the link rate
  Rate rate_limit = Rate::units(0);  // 0: none
};

struct CollectiveTuning {
  std::array<ProtocolCost, kProtocolCount> ring;  // also of exchanges
  std::array<ProtocolCost, kProtocolCount> tree;
  Rate nvlink = Rate::units(0);  // payload rate of one GPU's NVLink (xGMI) ports; 0 where there are none
  // Most that one channel moves between two nodes, and a message (NetworkSpec::channel_rate); 0: no limit.
  Rate network_channel_rate = Rate::units(0);
  PairTuning pairs;                         // of sends between pairs
  Rate network_peer_rate = Rate::units(0);  // most that such a send moves between two nodes; 0: no limit
  double ring_drain = 0;                    // share of a ring's send-less step that is not hidden, 0..1
  double tree_inside_share = 1;  // of the links inside a node that a tree whose GPUs receive, reduce and send at once can use
};

// Of two bounds of which 0 is none.
[[nodiscard]] constexpr Rate lower_of(Rate a, Rate b) {
  if (a.units() == 0) return b;
  if (b.units() == 0) return a;
  return std::min(a, b);
}

// `nodes` decides the LL limit (one node, two, more).
[[nodiscard]] CollectiveTuning tuning_for(GpuGeneration generation, Rate nvlink, double ring_drain, int nodes);

}  // namespace lockstep
