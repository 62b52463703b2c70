// SPDX-License-Identifier: Apache-2.0
#include "workloads/collectives/eligibility.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <map>

#include "workloads/program.h"

namespace lockstep {
namespace {

std::string needs_nvls(const MemberFacts& f) {
  if (!f.has_nvls) return "no NVLS: the server has no nvls: true";
  if (f.per_node == 0) return "NVLS needs equally many members on every node";
  return f.per_node < 2 ? "NVLS needs two members on a node" : "";
}

std::string needs_reduction(const MemberFacts& f) {
  if (f.nodes < 2) return "one node: nothing to reduce in the network";
  return f.has_in_network_reduction ? "" : "no SHARP: the fabric has no in_network_reduction: true";
}

std::string nvls_refusal(CollectiveKind kind, const MemberFacts& f) {
  std::string why = needs_nvls(f);
  if (!why.empty() || f.nodes == 1) return why;
  if (kind != CollectiveKind::kAllReduce) return fmt::format("nvls does {} on one node only", to_text(kind));
  return needs_reduction(f);
}

}  // namespace

MemberFacts member_facts(const Network& network, std::span<const EndpointId> members) {
  std::map<NodeId, int> counts;
  for (const EndpointId e : members) ++counts[network.node_of(e)];
  MemberFacts f{.ranks = static_cast<int>(members.size()),
                .nodes = static_cast<int>(counts.size()),
                .has_nvls = network.has_nvls(),
                .has_in_network_reduction = network.has_in_network_reduction()};
  int least = f.ranks;
  for (const auto& [node, count] : counts) {
    least = std::min(least, count);
    f.most_per_node = std::max(f.most_per_node, count);
  }
  if (least == f.most_per_node) f.per_node = least;
  return f;
}

std::string refusal(Algorithm a, CollectiveKind kind, const MemberFacts& f) {
  if (!applies(a, kind)) return fmt::format("{} does no {}", to_text(a), to_text(kind));
  switch (a) {
    case Algorithm::kNvls:
      return nvls_refusal(kind, f);
    case Algorithm::kNvlsTree:
      return f.nodes < 2 ? "one node: nothing for a tree to join" : needs_nvls(f);
    case Algorithm::kCollnetDirect:
      if (std::string why = needs_reduction(f); !why.empty()) return why;
      return f.most_per_node > kMostDirectMembers
                 ? fmt::format("{} members on a node, and {} are the most", f.most_per_node, kMostDirectMembers)
                 : "";
    case Algorithm::kCollnetChain:
      return needs_reduction(f);
    case Algorithm::kHierarchical:
      return f.nodes > 1 && f.per_node > 1 ? "" : "needs several nodes with equally many members, two or more";
    case Algorithm::kHalvingDoubling:
      return kind == CollectiveKind::kAllReduce || std::has_single_bit(static_cast<unsigned>(f.ranks))
                 ? ""
                 : fmt::format("{} members are no power of two", f.ranks);
    case Algorithm::kRing:
    case Algorithm::kTree:
    case Algorithm::kPat:
    case Algorithm::kDirect:
    case Algorithm::kAuto:
      break;
  }
  return "";
}

std::string omission(Algorithm a, const MemberFacts& f) {
  if (!is_of_nccl(a)) return "not one of NCCL's";
  if (a == Algorithm::kPat && (f.nodes < 2 || f.nodes != f.ranks)) return "NCCL takes pat with one member a node only";
  return "";
}

bool is_candidate(Algorithm a, CollectiveKind kind, const MemberFacts& f) {
  return refusal(a, kind, f).empty() && omission(a, f).empty();
}

}  // namespace lockstep
