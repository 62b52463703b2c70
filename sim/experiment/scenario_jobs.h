// SPDX-License-Identifier: Apache-2.0
// Several jobs on one cluster: the list `jobs` of a scenario. Each job says how many GPUs it takes, when it starts and where:
//
//   jobs:
//     - {name: big, job: llama3-8b-fsdp, gpus: 64, placement: spread}
//     - {name: late, job: llama3.2-1b-ddp, gpus: 32, start: 500 ms}
//
// Jobs that name hosts or endpoints get these; the others in the order of the list whole nodes among those that are left, by their policy
// (packed, if they have none).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/read_context.h"
#include "topology/cluster_spec.h"
#include "workloads/parallel/placement.h"

namespace lockstep {

class Section;

struct JobEntry {
  std::string name;
  JobSpec job;
  Duration start;
  std::optional<std::int64_t> gpus;        // instead of the job's
  std::optional<PlacementSpec> placement;  // instead of the job's
};

[[nodiscard]] const FieldTable<JobEntry>& job_entry_fields();

// A job of several, ready to be placed.
struct ScheduledJob {
  std::string name;
  Duration start;
  TrainingPlan plan;
};

[[nodiscard]] ClusterSize size_of(const ClusterSpec& cluster);

// Reports every fault of the entries, at jobs[i]...., and of all of them together; empty if there was one.
using ReportAt = std::function<void(const std::string& path, std::string message, std::string hint)>;
[[nodiscard]] std::vector<ScheduledJob> resolve_jobs(const std::vector<JobEntry>& entries, const ClusterSpec& cluster,
                                                     const ReportAt& report);

// The endpoint of every rank, by job. Throws UserError when nodes are taken in a way that leaves too few free.
[[nodiscard]] std::vector<std::vector<EndpointId>> place_jobs(std::span<const ScheduledJob> jobs, const Network& network,
                                                              std::uint64_t seed);

}  // namespace lockstep
