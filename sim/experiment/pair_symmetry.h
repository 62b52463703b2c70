// SPDX-License-Identifier: Apache-2.0
// An all_to_all among all GPUs of a regular cluster, from one GPU's point of view: all GPUs are alike, so the flows of the first one are
// those of all, and a link sees an equal part of what its like see together. That is n - 1 routes instead of n (n - 1): 131,072 GPUs are as
// easy as 512.
//
// Alike they are, by permutations of pods, units or racks, nodes and rails that keep the wiring, when
//   - all GPUs of the cluster take part, and everything is spread evenly (spray, adaptive);
//   - nodes are NVSwitch boxes with a hub of PCIe, or bare hosts, and every NIC belongs to equally many GPUs; where rails matter, to one;
//   - every rack and every pod of a folded Clos is full;
//   - links of one tier and direction are alike, which is looked up: none has failed or is slower than the rest.
// The classes are those that refinement finds (sim/symmetry/partition.h), with the same integers; tests compare the two.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "topology/routing/router.h"

namespace lockstep {

struct AlikePairs {
  struct Flows {
    std::vector<LinkShare> all;    // of all flows of the class together, on the links below
    std::vector<LinkShare> alone;  // of one
    Duration latency;              // of the path
    bool leaves_node = false;
    EndpointId to;           // of one of the first GPU's
    std::int64_t count = 0;  // of them all
  };
  std::vector<Flows> flows;
  std::vector<LinkId> links;  // one for each class that is used
  std::vector<Rate> capacities;
};

// Nothing where not all GPUs are alike.
[[nodiscard]] std::optional<AlikePairs> alike_pairs(const Router& router, std::span<const EndpointId> members);

}  // namespace lockstep
