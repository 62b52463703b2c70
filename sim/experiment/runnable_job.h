// SPDX-License-Identifier: Apache-2.0
// A program placed on a cluster, ready to run on any network model, and what a run says about links and classes.
#pragma once

#include <vector>

#include "sim/experiment/cluster_run.h"
#include "sim/experiment/job_run.h"
#include "sim/runtime/runtime.h"
#include "sim/symmetry/reduced_job.h"
#include "workloads/kernels/roofline.h"

namespace lockstep {

struct RunnableJob {
  // `on` and `of` must outlive it. `at`: the endpoint of each rank.
  RunnableJob(const PreparedCluster& on, const ClusterSpec& cluster, const Program& of, std::vector<EndpointId> at,
              const RunOptions& options);

  [[nodiscard]] RuntimeResult run(NetworkModel& model, const RunOptions& options, bool shows_progress) const;

  // The 20 busiest on average over `duration`, the first of equals first. `model` is what it ran on; is_of_interest: by link class, empty:
  // all. Cost: a look at every link.
  [[nodiscard]] std::vector<LinkReport> busiest_links(const NetworkModel& model, Duration duration,
                                                      const std::vector<bool>& is_of_interest = {}) const;
  // By link class: carries transfers of a job of the program.
  [[nodiscard]] std::vector<bool> links_of_job(std::uint32_t number) const;
  [[nodiscard]] SymmetryReport symmetry_report(const RunOptions& options) const;

  // Faults that come and go, on the links of the job.
  [[nodiscard]] FaultClock fault_clock() const;

  const PreparedCluster& prepared;
  const Program& program;
  GpuPerformance gpu;
  std::vector<EndpointId> placement;
  PlacedJob placed;
  Partition partition;
  ReducedJob job;
};

}  // namespace lockstep
