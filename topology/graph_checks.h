// SPDX-License-Identifier: Apache-2.0
// What must hold between the nodes of a cluster and a fabric that is no folded Clos: room for all nodes, every port attached
// once, switches with enough ports, a number of links that can be simulated.
#pragma once

#include "topology/cluster_spec.h"

namespace lockstep {

class Section;

// PRE: the nodes have ports and fabric.is_graph().
void check_graph(const ClusterSpec& spec, Section& at);

}  // namespace lockstep
