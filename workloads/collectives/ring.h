// SPDX-License-Identifier: Apache-2.0
// Ring collectives as coupled flows. The members of a communicator are ordered node by node, nodes by their first rank; C rings (channels) run over the C NICs
// that belong to the members of a node, each entering a node at a GPU next to its NIC and leaving through the same NIC. All
// edges of all channels carry equal bytes and move at the pace of the slowest: one flow entity.
//
// Inside a node the order is that of the GPU numbers, but where the members are joined by direct links, channels run over disjoint
// rings of these (mesh_rings.h): alone in a node one channel each, else those of the NICs take them in turns. Where paths to
// the NIC differ in length, a channel enters where the ways from the NIC in and back to it are the shortest together.
//
// With n ranks and size S (the larger per-rank buffer) an edge of one channel carries
//     all_reduce 2(n-1)/n S/C,   all_gather and reduce_scatter (n-1)/n S/C,   broadcast and reduce S/C (an open chain).
// Time = base + steps x hop + fill time + bytes / rate (tuning.h; steps 2(n-1), n-1, n-1). Of the k primitive operations of a pass
// (2n-1, n, n) the last one receives without sending; the share `ring_drain` of it that is not hidden leaves the NVLink port idle:
// a ring with NVLink hops is capped at (1 - ring_drain/k) of the port's rate. Source: the loop structure of NCCL's ring kernels; the share is
// measured (docs/model.md).
#pragma once

#include <span>

#include "topology/routing/router.h"
#include "workloads/collectives/mesh_rings.h"
#include "workloads/collectives/tuning.h"
#include "workloads/program.h"

namespace lockstep {

// A ring of C channels counts as one sharer of a link it crosses C times, as a ring of one channel and a message do: its members have
// weight kSharerWeight / C (rounded down; the rounding costs at most half of it, at 121 channels) times the router's, a message the whole.
// Divisible by every channel count up to 6, and by 8, 10, 12 and 16.
inline constexpr std::int64_t kSharerWeight = 240;
// Makes a route of the router's weight one of a whole sharer's.
void make_whole_sharer(Route& route);

// Everything of a communicator's rings that does not depend on the message: computed once, used for every collective on it.
struct RingShape {
  Route closed;             // edges of all channels, with the edge from the last member back to the first
  Route open;               // without it (broadcast, reduce)
  std::int64_t weight = 1;  // of a member; coefficients of the routes are multiples of it
  int ranks = 0;
  int nodes = 0;
  int channels = 0;
  int nvlink_channels = 0;   // channels that share one GPU's NVLink (or xGMI) ports; 0: no hop over them
  bool uses_pcie = false;    // some hop inside a node goes over PCIe
  Duration network_latency;  // of the longest inter-node hop
};

// `channel_key` tells the connections of different communicators apart for ECMP hashing.
// `channels` 0: one per NIC of the members (or per disjoint ring, where these are fewer and faster), or per disjoint ring of the only
// node. `known` remembers the rings of meshes between calls for one network. PRE: members distinct, at least one. A single member gives an empty shape.
[[nodiscard]] RingShape shape_ring(const Router& router, std::span<const EndpointId> members, std::uint64_t channel_key,
                                   int channels = 0, MeshRings* known = nullptr);

// Runs from one end to the other, not round.
[[nodiscard]] constexpr bool is_chain(CollectiveKind kind) {
  return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce;
}

// One ring collective, ready for a network model.
struct LoweredRing {
  bool is_open = false;            // runs on the open chain of the RingShape, not on its closed ring
  std::int64_t bytes = 0;          // per edge and channel
  std::int64_t members = 0;        // edges x channels
  Duration latency;                // base + steps x hop (+ path latency of network hops)
  Rate rate_cap = Rate::units(0);  // of a member
  Protocol protocol = Protocol::kSimple;
};

// The protocol is the one with the least undisturbed time unless forced. `line_rate` is the undisturbed rate of one member.
// PRE: bytes >= 0; kind is not all_to_all or send_recv.
[[nodiscard]] LoweredRing lower_ring(const RingShape& shape, const CollectiveTuning& tuning, CollectiveKind kind,
                                     std::int64_t bytes, Rate line_rate, const Protocol* forced = nullptr);

// Rate of one member alone on the network: the least capacity / coefficient over the route, times the weight.
[[nodiscard]] Rate undisturbed_rate(const Network& network, const Route& route, std::int64_t weight);

// What a message between two endpoints goes over.
enum class HopKind : std::uint8_t { kNvlink, kPcie, kNetwork };
[[nodiscard]] HopKind hop_kind(const Network& network, EndpointId from, EndpointId to);

// Point-to-point latency by the same table: base + one hop (+ path latency between nodes).
[[nodiscard]] Duration send_latency(const CollectiveTuning& tuning, HopKind hop, Duration path_latency);
// Most that a message moves, whatever its links; 0: no limit.
[[nodiscard]] Rate send_rate(const CollectiveTuning& tuning, HopKind hop);

}  // namespace lockstep
