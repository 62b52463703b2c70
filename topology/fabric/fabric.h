// SPDX-License-Identifier: Apache-2.0
// What joins the nodes of a cluster. The set of fabrics is closed: a variant of plain classes that all answer the same
// questions, in global ids that follow those of the nodes:
//
//   racks, pods, rack_of, pod_of         how many there are; those of a node
//   device_count, link_count, first_link ids of switches and links
//   kind, name                           of a switch
//   link                                 computed from its id; cable_number tells parallel cables apart
//   path_count, max_path_count           equal-cost paths between two ports, and the most there are
//   spray_weight                         a number that every path count divides
//   append_path, append_spray            the links of one path, or of all; return the latency
//   append_bundles                       as append_spray, with one link for each bundle of links that are always loaded alike
//   first_of_bundle                      the link that stands for a link there
//   keeps_rails                          whether a node must send on the port on which the other receives
//   has_rails                            whether equal ports of different nodes are nearer to each other than different ones
#pragma once

#include <variant>

#include "topology/fabric/folded_clos.h"
#include "topology/fabric/graph_fabric.h"

namespace lockstep {

using Fabric = std::variant<FoldedClos, GraphFabric>;

}  // namespace lockstep
