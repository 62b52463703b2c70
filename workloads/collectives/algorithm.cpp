// SPDX-License-Identifier: Apache-2.0
#include "workloads/collectives/algorithm.h"

#include "base/check.h"
#include "workloads/program.h"

namespace lockstep {

std::string_view to_text(Algorithm a) {
  switch (a) {
    case Algorithm::kRing:
      return "ring";
    case Algorithm::kTree:
      return "tree";
    case Algorithm::kNvls:
      return "nvls";
    case Algorithm::kNvlsTree:
      return "nvls_tree";
    case Algorithm::kCollnetDirect:
      return "collnet_direct";
    case Algorithm::kCollnetChain:
      return "collnet_chain";
    case Algorithm::kPat:
      return "pat";
    case Algorithm::kHierarchical:
      return "hierarchical";
    case Algorithm::kHalvingDoubling:
      return "halving_doubling";
    case Algorithm::kDirect:
      return "direct";
    case Algorithm::kAuto:
      return "auto";
  }
  LOCKSTEP_CHECK(false, "unknown algorithm {}", static_cast<int>(a));
}

bool applies(Algorithm a, CollectiveKind kind) {
  const bool is_rooted = kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce;
  const bool is_pairwise = kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kSendRecv;
  switch (a) {
    case Algorithm::kRing:
      return !is_pairwise;
    case Algorithm::kTree:
      return is_rooted || kind == CollectiveKind::kAllReduce;
    case Algorithm::kNvls:
    case Algorithm::kHierarchical:
    case Algorithm::kHalvingDoubling:
      return !is_rooted && !is_pairwise;
    case Algorithm::kNvlsTree:
    case Algorithm::kCollnetDirect:
    case Algorithm::kCollnetChain:
      return kind == CollectiveKind::kAllReduce;
    case Algorithm::kPat:
      return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter;
    case Algorithm::kDirect:
      return is_pairwise;
    case Algorithm::kAuto:
      return true;
  }
  LOCKSTEP_CHECK(false, "unknown algorithm {}", static_cast<int>(a));
}

std::string_view terms_of(Algorithm a) {
  switch (a) {
    case Algorithm::kRing:
      return "ring does all but all_to_all and send_recv";
    case Algorithm::kTree:
      return "tree does all_reduce, broadcast and reduce";
    case Algorithm::kNvls:
      return "nvls does all_reduce, all_gather and reduce_scatter on one node, and all_reduce on several with in-network "
             "reduction";
    case Algorithm::kNvlsTree:
      return "nvls_tree does all_reduce on several nodes with NVLS";
    case Algorithm::kCollnetDirect:
      return "collnet_direct does all_reduce on several nodes of at most 8 members with in-network reduction";
    case Algorithm::kCollnetChain:
      return "collnet_chain does all_reduce on several nodes with in-network reduction";
    case Algorithm::kPat:
      return "pat does all_gather and reduce_scatter";
    case Algorithm::kHierarchical:
      return "hierarchical does all_reduce, all_gather and reduce_scatter on several nodes with equally many members, two or "
             "more";
    case Algorithm::kHalvingDoubling:
      return "halving_doubling does all_reduce, and on 2, 4, 8, ... members all_gather and reduce_scatter";
    case Algorithm::kDirect:
      return "direct does all_to_all and send_recv";
    case Algorithm::kAuto:
      return "auto takes the one of NCCL's with the least undisturbed time";
  }
  LOCKSTEP_CHECK(false, "unknown algorithm {}", static_cast<int>(a));
}

}  // namespace lockstep
