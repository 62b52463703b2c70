// SPDX-License-Identifier: Apache-2.0
#include "workloads/collectives/node_groups.h"

#include <optional>

#include "base/check.h"

namespace lockstep {
namespace {

void add_nics(const Network& net, NodeGroup& group) {
  const int nics = net.nics_per_node();
  const int gpus = net.endpoints_per_node();
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const EndpointId e = group.members[i];
    const auto local = static_cast<int>(e.index() % static_cast<std::size_t>(gpus));
    const int first = net.own_nic(e);
    // More NICs than GPUs: every GPU owns an equal run of them.
    const int last = nics > gpus ? (local + 1) * nics / gpus - 1 : first;
    for (int nic = first; nic <= last; ++nic) {
      if (!net.is_nic_up(net.node_of(e), nic)) continue;
      if (std::find(group.nics.begin(), group.nics.end(), nic) != group.nics.end()) continue;
      group.nics.push_back(nic);
      group.entry.push_back(i);
    }
  }
}

// A channel runs over the same NIC of every node where all have it: what one node has lost the others leave out, and rails stay rails. A group
// that has lost all of its own borrows one, and leaves the others as they are.
void leave_out_lost_nics(const Network& net, std::vector<NodeGroup>& groups) {
  std::vector<int> lost;
  for (NodeGroup& g : groups) {
    const NodeId node = net.node_of(g.members.front());
    if (g.nics.empty()) {
      g.nics.push_back(net.nearest_nic(g.members.front()));
      g.entry.push_back(0);
      continue;
    }
    for (int nic = 0; nic < net.nics_per_node(); ++nic) {
      if (!net.is_nic_up(node, nic)) lost.push_back(nic);
    }
  }
  const auto is_lost = [&lost](int nic) { return std::find(lost.begin(), lost.end(), nic) != lost.end(); };
  for (NodeGroup& g : groups) {
    if (lost.empty() || std::all_of(g.nics.begin(), g.nics.end(), is_lost)) continue;
    std::size_t kept = 0;
    for (std::size_t k = 0; k < g.nics.size(); ++k) {
      if (is_lost(g.nics[k])) continue;
      g.nics[kept] = g.nics[k];
      g.entry[kept++] = g.entry[k];
    }
    g.nics.resize(kept);
    g.entry.resize(kept);
  }
}

// For each NIC the least used ring; of these, and of the places to enter it, the one with the shortest ways to and from the NIC; of
// equal ones the first from the ring of the NIC's own number and the GPU next to the NIC on.
void choose_entries(const Network& net, NodeGroup& group) {
  const std::size_t n = group.members.size();
  std::vector<int> uses(group.ring_count(), 0);
  group.ring_of.assign(group.nics.size(), 0);
  for (std::size_t k = 0; k < group.nics.size(); ++k) {
    const std::size_t beside = group.entry[k];
    const int least_uses = *std::min_element(uses.begin(), uses.end());
    std::optional<std::size_t> least;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const std::size_t ring = (k + i) % uses.size();
      if (uses[ring] != least_uses) continue;
      for (std::size_t j = 0; j < n; ++j) {
        const std::size_t entry = (beside + j) % n;
        const std::size_t way = net.links_to_nic(group.at(ring, entry), group.nics[k]) +
                                net.links_to_nic(group.at(ring, entry + n - 1), group.nics[k]);
        if (least && way >= *least) continue;
        least = way;
        group.ring_of[k] = ring;
        group.entry[k] = entry;
      }
    }
    ++uses[group.ring_of[k]];
  }
}

// Where a server has paths of different lengths: rings over direct links, and between nodes entries that suit the NICs.
void find_rings(const Network& net, std::vector<NodeGroup>& groups, MeshRings& known) {
  for (NodeGroup& g : groups) {
    if (g.members.size() > 1) g.rings = known.of(net, g.members);
    if (groups.size() > 1) choose_entries(net, g);
  }
}

}  // namespace

std::vector<NodeGroup> group_by_node(const Network& net, std::span<const EndpointId> members, MeshRings& known) {
  struct Member {
    EndpointId gpu;
    std::size_t rank = 0;
  };
  std::vector<Member> sorted;
  sorted.reserve(members.size());
  for (const EndpointId e : members) sorted.push_back({e, sorted.size()});
  const auto by_gpu = [](const Member& a, const Member& b) { return a.gpu < b.gpu; };
  const bool is_in_order = std::is_sorted(sorted.begin(), sorted.end(), by_gpu);
  if (!is_in_order) std::sort(sorted.begin(), sorted.end(), by_gpu);
  std::vector<NodeGroup> groups;
  for (const Member& m : sorted) {
    LOCKSTEP_CHECK(groups.empty() || groups.back().members.back() != m.gpu, "a communicator names GPU {} twice", m.gpu.value());
    if (groups.empty() || net.node_of(groups.back().members.front()) != net.node_of(m.gpu)) {
      groups.push_back({.first_rank = m.rank});
    }
    groups.back().members.push_back(m.gpu);
    groups.back().first_rank = std::min(groups.back().first_rank, m.rank);
  }
  if (!is_in_order) {
    std::sort(groups.begin(), groups.end(), [](const NodeGroup& a, const NodeGroup& b) { return a.first_rank < b.first_rank; });
  }
  if (net.nics_per_node() > 0) {
    for (NodeGroup& g : groups) add_nics(net, g);
    if (net.has_dead_nics()) leave_out_lost_nics(net, groups);
  }
  if (std::holds_alternative<WiredServer>(net.server())) find_rings(net, groups, known);
  return groups;
}

int channel_count(const std::vector<NodeGroup>& groups) {
  if (groups.size() < 2) return static_cast<int>(groups.front().ring_count());
  std::size_t channels = 1;
  for (const NodeGroup& g : groups) channels = std::max(channels, g.nics.size());
  return static_cast<int>(channels);
}

int nics_per_gpu(const Network& net) { return std::max(1, net.nics_per_node() / net.endpoints_per_node()); }

}  // namespace lockstep
