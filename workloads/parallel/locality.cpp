// SPDX-License-Identifier: Apache-2.0
#include "workloads/parallel/locality.h"

#include <algorithm>
#include <utility>

namespace lockstep {
namespace {

class Counter {
 public:
  Counter(std::span<const EndpointId> placement, const Network& network)
      : placement_(placement),
        network_(network),
        seen_node_(network.node_count(), 0),
        // A node without a network has neither, and is in the first of both.
        seen_rack_(std::max<std::size_t>(1, network.rack_count()), 0),
        seen_pod_(std::max<std::size_t>(1, network.pod_count()), 0) {}

  // Members in the order of ranks, joined to a ring.
  void add_ring(std::span<const Rank> members, GroupLocality& out) {
    begin_group(members, out);
    out.edges += std::ssize(members);
    for (std::size_t i = 0; nodes_.size() > 1 && i < nodes_.size(); ++i) {
      add_edge(nodes_[i], nodes_[(i + 1) % nodes_.size()], out);
    }
  }

  // Stages in order.
  void add_pipeline(std::span<const Rank> stages, bool wraps, GroupLocality& out) {
    begin_group(stages, out);
    const std::size_t edges = stages.size() - (wraps ? 0 : 1);
    out.edges += static_cast<std::int64_t>(edges);
    for (std::size_t i = 0; i < edges; ++i) add_edge(node_of(stages[i]), node_of(stages[(i + 1) % stages.size()]), out);
  }

 private:
  [[nodiscard]] NodeId node_of(Rank r) const { return network_.node_of(placement_[r.index()]); }

  // Counts the group and what it spans; nodes_ are its nodes in the order of their first ranks.
  void begin_group(std::span<const Rank> members, GroupLocality& out) {
    ++group_;
    ++out.groups;
    out.size = std::ssize(members);
    nodes_.clear();
    const auto is_new = [this](std::vector<std::uint32_t>& seen, std::size_t i) {
      return std::exchange(seen[i], group_) != group_;
    };
    for (const Rank r : members) {
      const NodeId node = node_of(r);
      if (!is_new(seen_node_, node.index())) continue;
      nodes_.push_back(node);
      out.racks += is_new(seen_rack_, network_.rack_of(node)) ? 1 : 0;
      out.pods += is_new(seen_pod_, network_.pod_of(node)) ? 1 : 0;
    }
    out.nodes += std::ssize(nodes_);
  }

  void add_edge(NodeId a, NodeId b, GroupLocality& out) const {
    out.edges_between_nodes += a != b ? 1 : 0;
    out.edges_between_racks += network_.rack_of(a) != network_.rack_of(b) ? 1 : 0;
    out.edges_between_pods += network_.pod_of(a) != network_.pod_of(b) ? 1 : 0;
  }

  std::span<const EndpointId> placement_;
  const Network& network_;
  std::vector<std::uint32_t> seen_node_;  // the last group that was there
  std::vector<std::uint32_t> seen_rack_;
  std::vector<std::uint32_t> seen_pod_;
  std::uint32_t group_ = 0;
  std::vector<NodeId> nodes_;
};

const char* name_of(CommFamily family) {
  switch (family) {
    case CommFamily::kTp:
      return "tp";
    case CommFamily::kDpGather:
    case CommFamily::kDpReduce:
      return "dp";
    case CommFamily::kTie:
      return "tie";
    case CommFamily::kDpReplicate:
      return "dp_copies";
    case CommFamily::kCp:
      return "cp";
    case CommFamily::kEp:
      return "ep";
    case CommFamily::kExpertGather:
    case CommFamily::kExpertReduce:
      return "expert_dp";
  }
  return "?";
}

}  // namespace

std::vector<GroupLocality> job_locality(const Program& program, const ParallelLayout& layout,
                                        std::span<const EndpointId> placement, const Network& network) {
  std::vector<GroupLocality> out;
  Counter counter(placement, network);
  std::vector<Rank> members;
  for (std::uint32_t c = 0; c < layout.communicator_count(); ++c) {
    const CommFamily family = layout.family(CommId(c));
    // Gathers and reductions of a data-parallel group run between the same ranks.
    if (family == CommFamily::kDpGather || family == CommFamily::kExpertGather) continue;
    if (layout.comm_size(family) < 2 || program.collective_kinds(CommId(c)) == 0) continue;
    if (out.empty() || out.back().name != name_of(family)) out.push_back({.name = name_of(family)});
    layout.members(CommId(c), members);
    counter.add_ring(members, out.back());
  }
  const ParallelLayout::Sizes& sizes = layout.sizes();
  if (sizes.pp < 2) return out;
  GroupLocality& pipelines = out.emplace_back(GroupLocality{.name = "pp"});
  std::vector<Port> ports;
  program.ports(layout.rank_of({.pp = sizes.pp - 1}), ports);
  const bool wraps = std::any_of(ports.begin(), ports.end(),
                                 [](const Port& p) { return p.kind == Port::Kind::kSend && p.stream == Stream::kPpSendNext; });
  const std::uint32_t ranks_of_stage = layout.world_size() / sizes.pp;
  for (std::uint32_t r = 0; r < ranks_of_stage; ++r) {
    members.clear();
    for (std::uint32_t s = 0; s < sizes.pp; ++s) members.push_back(Rank(r + s * ranks_of_stage));
    counter.add_pipeline(members, wraps, pipelines);
  }
  return out;
}

}  // namespace lockstep
