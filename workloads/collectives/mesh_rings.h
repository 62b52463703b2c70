// SPDX-License-Identifier: Apache-2.0
// Rings over the direct links of GPUs in one node: as many directed Hamiltonian cycles as can be found of which no two share a
// link in one direction. Two GPUs with k links carry k of them each way. The hybrid cube mesh of a DGX-1 with V100 gives 6 for
// its eight GPUs, a full mesh of n single links n-1, except 4 and 6 GPUs, where there are but n-2 (Tillson, J. Combin. Theory B
// 29, 1980).
//
// Found by depth-first search in a fixed order with a bound on its steps: the same rings every time, all of them where it ends
// within the bound (every subset of a DGX-1 and full meshes of up to 12 do), else the most that were met. No ring at all is a
// legal answer. NOT modelled: rings that run partly over PCIe, the search of NCCL for what it calls graphs.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "topology/network.h"

namespace lockstep {

using MeshRing = std::vector<int>;  // every member once, by position

// links[a * n + b]: direct links from member a to member b. PRE: n >= 2.
[[nodiscard]] std::vector<MeshRing> disjoint_rings(std::span<const int> links, int n);

// Remembers the rings of groups, which are the same for the same GPUs of every node. PRE: one network for all calls.
class MeshRings {
 public:
  // PRE: members are endpoints of one node.
  const std::vector<MeshRing>& of(const Network& net, std::span<const EndpointId> members);

 private:
  std::map<std::vector<int>, std::vector<MeshRing>> known_;  // by the members' numbers within their node
};

}  // namespace lockstep
