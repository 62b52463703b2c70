// SPDX-License-Identifier: Apache-2.0
// What must hold across the keys of a cluster file: that it is one cluster, that its counts fit, that its switches have the
// ports.
#pragma once

#include "topology/cluster_spec.h"

namespace lockstep {

class Section;

void check_cluster(const ClusterSpec& spec, Section& at);

// Cables whose speed or latency nothing tells, where there are cables between leaves and spines (or whatever fabric_link
// describes) and between spines and cores. False when there are any.
bool check_cables(const ClusterSpec& spec, Section& at, bool has_spines, bool has_cores);

}  // namespace lockstep
