// SPDX-License-Identifier: Apache-2.0
// The members of a communicator node by node, with the NICs that are theirs and the rings over their direct links: what every collective
// algorithm begins with. A GPU owns the NIC nearest to it; where a node has more NICs than GPUs, every GPU owns an equal run of them.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "topology/network.h"
#include "workloads/collectives/mesh_rings.h"

namespace lockstep {

// The members of one node in ring order, and the NICs that belong to them.
struct NodeGroup {
  std::size_t first_rank = 0;  // position in the communicator of the member that comes first
  std::vector<EndpointId> members;
  std::vector<int> nics;           // indices within the node; empty for bare hosts
  std::vector<std::size_t> entry;  // entry[i]: position in members of the GPU next to nics[i]
  // Positions in members, ring by ring over their direct links; empty: one ring in the order of members.
  std::vector<MeshRing> rings;
  std::vector<std::size_t> ring_of;  // with rings, ring_of[i]: the one of nics[i], whose entry is a position in it

  [[nodiscard]] std::size_t ring_count() const { return std::max<std::size_t>(rings.size(), 1); }
  [[nodiscard]] EndpointId at(std::size_t ring, std::size_t position) const {
    const std::size_t i = position % members.size();
    return members[rings.empty() ? i : static_cast<std::size_t>(rings[ring][i])];
  }
  // The i-th member that a channel comes to. Alone in its node a group needs no NIC, and its rings take the channels in turns.
  [[nodiscard]] EndpointId on_channel(std::size_t channel, std::size_t i, bool is_alone) const {
    if (nics.empty() || is_alone) return at(channel % ring_count(), i);
    const std::size_t k = channel % nics.size();
    return at(rings.empty() ? 0 : ring_of[k], entry[k] + i);
  }
  // The NIC of a channel, for a Hop.
  [[nodiscard]] int nic_of(std::size_t channel) const { return nics.empty() ? Hop::kNearestNic : nics[channel % nics.size()]; }
};

// Nodes in the order of their first ranks, the GPUs of a node in its own. `known` remembers the rings of meshes. PRE: members distinct.
[[nodiscard]] std::vector<NodeGroup> group_by_node(const Network& net, std::span<const EndpointId> members, MeshRings& known);

// One channel per NIC of the members of a node: of the node with the most; inside one node one per ring.
[[nodiscard]] int channel_count(const std::vector<NodeGroup>& groups);

// How many NICs every GPU has for itself; 1 where GPUs share them.
[[nodiscard]] int nics_per_gpu(const Network& net);

}  // namespace lockstep
