// SPDX-License-Identifier: Apache-2.0
// What sends between pairs (all_to_all, send_recv) cost a collective library beyond their bytes, as NCCL runs them since 2.7: a send is cut
// into chunks that go through a buffer of the receiver, and between nodes a thread of the CPU (the proxy) hands every message to the NIC.
//
//   last byte = latency + (bytes + one chunk) / rate        the last chunk is still to be copied out when it has arrived
//   and not before latency + messages of a GPU to other nodes x message_cost
//
// A GPU has `peers_at_once` sends under way, so that of many peers only the last ones leave a chunk behind. One peer on another node is served
// by a few channels of channel_rate each.
// Not modelled: LL for small sends, the order of the peers, rates of channels inside a node (as many as fill the links).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/time.h"
#include "base/units.h"
#include "base/wide.h"

namespace lockstep {

struct PairTuning {
  std::int64_t nvlink_chunk = 0;  // bytes
  std::int64_t pcie_chunk = 0;
  std::int64_t network_chunk = 0;
  int peers_at_once = 1;
  Duration message_cost;                   // between nodes
  Rate channel_rate = Rate::units(0);      // between nodes; 0: no limit
  Rate rate_per_channel = Rate::units(0);  // of NICs, for which the library opens one more channel

  // Of one peer on another node, over NICs of `nic` each way; 0: no limit.
  [[nodiscard]] Rate peer_rate(Rate nic) const {
    constexpr std::int64_t kFewestChannels = 2;
    if (channel_rate.units() == 0 || rate_per_channel.units() == 0) return Rate::units(0);
    return channel_rate * std::max(kFewestChannels, ceil_div(nic.units(), rate_per_channel.units()));
  }
};

// Chunks, channels of a peer and what a channel is taken to carry: NCCL v2.30.7 (src/graph/tuning.cc, src/init.cc, src/graph/paths.cc).
// message_cost: A100 over 8x200G InfiniBand, all_to_all of 1 KiB: two GPUs on two nodes 29.84 us, 16 of which 8 are on the other node 49.75 us,
// so 7 messages more take 19.9 us (microsoft/mscclpp, performance-ndmv4). 16 RTX 6000D on two nodes take 48.8 us.
// channel_rate: two GPUs on two nodes of the same, all_to_all of 1 GiB: 15.48 GB/s over two channels.
// peers_at_once: 32 channels, two for each peer.
[[nodiscard]] inline PairTuning nccl_pair_tuning() {
  return {.nvlink_chunk = 512 << 10,
          .pcie_chunk = 128 << 10,
          .network_chunk = 128 << 10,
          .peers_at_once = 16,
          .message_cost = Duration::nanos(2840),
          .channel_rate = Rate::bytes_per_second(7.74e9),
          .rate_per_channel = Rate::bytes_per_second(14e9)};
}

}  // namespace lockstep
