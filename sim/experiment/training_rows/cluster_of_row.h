// SPDX-License-Identifier: Apache-2.0
// The cluster of a training row, by the words of its cells as for tables of collectives (table_cluster.h), and besides:
//
//   nodes     n_gpus over gpus_per_node (blank: 8); GPUs of an NVL72 in as few racks as hold equally many whole trays
//   network   what `fabric` says of the compute network (behind "Compute:" where storage and management are listed too); where it names no
//             network that can be built, InfiniBand with the NICs that the server is sold with
//   GPUs      the first of each node where a job leaves some of a node free
#pragma once

#include <optional>
#include <string>

#include "base/config_library.h"
#include "sim/experiment/training_rows/row.h"
#include "topology/cluster_spec.h"

namespace lockstep {

struct RowCluster {
  std::string refusal;  // why there is none
  std::optional<ClusterSpec> spec;
};

// Errors in shipped files go to the diagnostics.
[[nodiscard]] RowCluster cluster_of_row(const TrainingRow& row, std::int64_t gpus, const ConfigLibrary& library,
                                        Diagnostics& d);

}  // namespace lockstep
