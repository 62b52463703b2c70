// SPDX-License-Identifier: Apache-2.0
// Latency and protocol constants of a collective library as they hold for one GPU generation and number of nodes, made of the
// file that a cluster names (topology/hardware/tuning_spec.h). The form is that of the tuner of NCCL v2.30.7 (docs/model.md,
// "Collectives"): time = base + steps x hop + bytes / bandwidth, with three protocols that trade latency for bandwidth; fill_time()
// is beside it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"
#include "base/units.h"
#include "workloads/collectives/pair_tuning.h"
#include "workloads/collectives/switch_tuning.h"

namespace lockstep {

// LL: 8-byte stores with a flag each; LL128: 120 of 128 bytes are payload; Simple: full bandwidth behind fences.
enum class Protocol : std::uint8_t { kLl, kLl128, kSimple };
inline constexpr int kProtocolCount = 3;
[[nodiscard]] std::string_view to_text(Protocol p);  // "LL", "LL128", "Simple"

struct TuningSpec;

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
  // Filling and draining the pipeline of chunks (fill_time()), on NVLink (xGMI) and between nodes; PCIe hops show none.
  Duration nvlink_fill;
  Duration network_fill;

  [[nodiscard]] Duration fill(bool has_nvlink_hop, bool has_network_hop) const {
    return (has_nvlink_hop ? nvlink_fill : Duration{}) + (has_network_hop ? network_fill : Duration{});
  }
  SwitchTuning switches;  // and of PAT
};

// What a pipeline takes beyond latency and bytes / rate, because it has to fill and drain: sqrt(fill x bytes / rate). With the best chunk
// for every size, a pipeline of k stages with an overhead o per chunk takes (sqrt(k o) + sqrt(transfer))^2; libraries choose chunks near it. The mixed
// term is this one; `fill` is measured. It makes bandwidth ramp up with size as nccl-tests sees it: half of a rate of 240 GB/s with fill 6 us
// (a DGX A100) needs 1.5 MB, 95 % of it half a gigabyte. No time for no bytes or no fill.
[[nodiscard]] Duration fill_time(Duration fill, std::int64_t bytes, Rate rate);

// To the nearest picosecond.
[[nodiscard]] Duration scaled(Duration d, double factor);

// Of two bounds of which 0 is none.
[[nodiscard]] constexpr Rate lower_of(Rate a, Rate b) {
  if (a.units() == 0) return b;
  if (b.units() == 0) return a;
  return std::min(a, b);
}

// `nodes` (one, two, more) decides what the tuner tells apart by them: the LL limit, the shortest step, shares of trees. What a transport adds is left to the caller.
[[nodiscard]] CollectiveTuning tuning_for(const TuningSpec& spec, GpuGeneration generation, Rate nvlink, double ring_drain,
                                          int nodes);

}  // namespace lockstep
