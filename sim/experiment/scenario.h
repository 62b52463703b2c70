// SPDX-License-Identifier: Apache-2.0
// A scenario (kind: scenario) is a cluster and a job that runs on it, each by name, by file or inline, with keys changed:
//
//   kind: scenario
//   cluster: {preset: dgx-h100, nodes: 2}
//   job: llama3-8b-fsdp
//
// or several jobs that share it (sim/experiment/scenario_jobs.h).
//
// `lockstep run` loads one from a file, from --cluster and --job, or from both (the options replace what the file says), and then
// applies --set cluster.KEY=VALUE and --set job.KEY=VALUE.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/read_context.h"
#include "sim/experiment/scenario_jobs.h"

namespace lockstep {

struct ScenarioSpec {
  std::string name;
  ClusterSpec cluster;
  std::optional<JobSpec> job;  // or
  std::vector<JobEntry> jobs = {};
};

[[nodiscard]] const FieldTable<ScenarioSpec>& scenario_fields();

struct ScenarioRequest {
  std::optional<std::string> file;     // "-" is stdin
  std::optional<std::string> cluster;  // name or file
  std::optional<std::string> job;
  std::vector<std::string> assignments;  // --set, in order
};

struct Scenario {
  ScenarioSpec spec;
  TrainingPlan plan;                    // of the job, if there is one; or
  std::vector<ScheduledJob> jobs = {};  // all of several
  std::uint64_t content_hash = 0;       // of the scenario file; 0 without one
};

// Everything wrong goes to the context; nothing is returned if anything was. The context knows afterwards where each value of
// "cluster" and "job" came from, which is what --show-config prints.
[[nodiscard]] std::optional<Scenario> load_scenario(const ScenarioRequest& request, ReadContext& context);

// The same from a document of kind scenario that is ready to be read.
[[nodiscard]] std::optional<Scenario> read_scenario(const Document& document, ReadContext& context);

// Cluster and job alone, whether or not the plan of the job can run there: for whoever looks for one that can. Several jobs are an error.
[[nodiscard]] std::optional<ScenarioSpec> load_unresolved(const ScenarioRequest& request, ReadContext& context);

// Whether a path that changes the scenario goes with its form: job. is of one job, jobs. of several. Reports the other.
[[nodiscard]] bool check_job_path(const Document& document, std::string_view path, const Position& where, Diagnostics& d);

}  // namespace lockstep
