// SPDX-License-Identifier: Apache-2.0
// Collectives whose sums are made in switches: NVLS (the NVSwitch adds up and multicasts), NVLSTree, and CollNet (the fabric adds up, as
// SHARP does; aggregation.h). Each is one pipelined stage. C channels, one per NIC of a node's members (on one node one per member); each
// has a head on every node, the GPU that its NIC is next to. With S the larger per-rank buffer, g members on each of N nodes, n in all:
//
//   NVLS inside a node    every GPU sends its S to the NVSwitch, which gives the sum of a channel's S/C to its head; the head multicasts the
//                         result: with a channel per GPU S (1 + 1/g) each way on every GPU's NVLink, where a ring moves 2 (g-1)/g S
//                         all_gather (one node): S/n out, S in; reduce_scatter the other way round
//   direct (inside)       every GPU sends S/C to every head and gets as much back: 2 (g-1)/g S each way
//   chain (inside)        from the head along all GPUs of the node and back: 2 S
//
//                    inside   between nodes, per node                       time = latency + S / rate, latency:
//   nvls, one node   NVLS     -                                             base
//   nvls, several    NVLS     aggregation, S out and S in                   base + up and down
//   nvls_tree        NVLS     double tree (tree.h) between the heads:       base + 2 depth x hop
//                             2 S, on two nodes S
//   collnet_direct   direct   aggregation, S out and S in                   network + links + g-1 peers
//   collnet_chain    chain    aggregation, S out and S in                   network + g-1 hops there and back
//
// Always in Simple. NVLS fills a share of NVLink (switch_tuning.h); every one has the fill time of a pipeline (fill_time()). Source: NCCL v2.30.7, src/graph/
// tuning.cc and the volumes of its NVLS and CollNet kernels. NOT modelled: heads on more than 32 GPUs being fewer, chunk sizes, CollNet
// for all_gather and reduce_scatter, registered buffers.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/collectives/node_groups.h"
#include "workloads/collectives/stage.h"
#include "workloads/program.h"

namespace lockstep {

struct InSwitchShape {
  Algorithm algorithm = Algorithm::kNvls;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  int ranks = 0;
  int nodes = 0;
  int most_per_node = 0;
  int channels = 0;
  int depth = 0;  // nvls_tree: network hops from a root to its farthest leaf
  int parts = 1;  // a member carries S / parts
  FlowShape flow;
  Rate network_rate;  // of a member, as far as what lies between nodes bounds it; 0: nothing does
  bool operator==(const InSwitchShape&) const = default;
  [[nodiscard]] std::uint64_t hash() const;
};
[[nodiscard]] constexpr bool is_in_switch(Algorithm a) {
  return a == Algorithm::kNvls || a == Algorithm::kNvlsTree || a == Algorithm::kCollnetDirect || a == Algorithm::kCollnetChain;
}
[[nodiscard]] RouteForm in_switch_form(Algorithm a, CollectiveKind kind);

// Gives the route. PRE: the algorithm can do the kind on these members (eligibility.h).
[[nodiscard]] InSwitchShape shape_in_switch(const Router& router, const std::vector<NodeGroup>& groups,
                                            std::uint64_t channel_key, Algorithm algorithm, CollectiveKind kind, Route& out);

// One stage; `tuning` is that of shape.nodes.
[[nodiscard]] Stage lower_in_switch(const InSwitchShape& shape, const CollectiveTuning& tuning, std::int64_t bytes);

}  // namespace lockstep
