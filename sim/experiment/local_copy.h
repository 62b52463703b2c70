// SPDX-License-Identifier: Apache-2.0
// A collective of one GPU. NCCL launches no collective kernel for a communicator of one rank: it copies the send buffer to the receive buffer
// on the device (ncclLaunchOneRank in NCCL's enqueue.cc), whatever algorithm and protocol are set, and nccl-tests times that. A copy reads
// and writes every byte once: time = 2 x bytes / (HBM rate x the share that memory-bound kernels reach), which is what a kernel of
// training pays too (workloads/kernels/roofline.h). Its busbw is 0 where the factor (n - 1)/n is.
//
// Not modelled: the launch, a few microseconds, and caches, which make copies of a few MiB faster.
#pragma once

#include <vector>

#include "sim/experiment/collective.h"
#include "workloads/kernels/roofline.h"

namespace lockstep {

// PRE: one member. Throws SimulationError when a copy never ends.
[[nodiscard]] std::vector<CollectiveRow> run_local_copy(const CollectiveRequest& request, const GpuPerformance& gpu);

}  // namespace lockstep
