// SPDX-License-Identifier: Apache-2.0
// Which members an algorithm can serve, and which of those that can NCCL takes into its choice. Source: the conditions of NCCL v2.30.7
// (src/graph/tuning.cc, src/init.cc): NVLS needs an NVSwitch that multicasts and equally many members on every node; CollNet and NVLS over
// several nodes need reducing switches; CollNetDirect at most 8 members a node; PAT, unless asked for, one member a node.
#pragma once

#include <span>
#include <string>

#include "topology/network.h"
#include "workloads/collectives/algorithm.h"

namespace lockstep {

struct MemberFacts {
  int ranks = 0;
  int nodes = 0;
  int per_node = 0;  // 0: not equally many
  int most_per_node = 0;
  bool has_nvls = false;
  bool has_in_network_reduction = false;
};
// PRE: members distinct.
[[nodiscard]] MemberFacts member_facts(const Network& network, std::span<const EndpointId> members);

inline constexpr int kMostDirectMembers = 8;  // of a node, for collnet_direct

// Why `a` cannot run `kind` on such members; empty: it can.
[[nodiscard]] std::string refusal(Algorithm a, CollectiveKind kind, const MemberFacts& facts);
// Why kAuto leaves it out although it could; empty: it does not.
[[nodiscard]] std::string omission(Algorithm a, const MemberFacts& facts);
// Neither.
[[nodiscard]] bool is_candidate(Algorithm a, CollectiveKind kind, const MemberFacts& facts);

}  // namespace lockstep
