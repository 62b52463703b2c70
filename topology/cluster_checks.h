// SPDX-License-Identifier: Apache-2.0
// What must hold across the keys of a cluster file: that it is one cluster, that its counts fit, that its switches have the ports.
#pragma once

#include "topology/cluster_spec.h"

namespace lockstep {

class Section;

void check_cluster(const ClusterSpec& spec, Section& at);

}  // namespace lockstep
