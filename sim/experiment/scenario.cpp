// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/scenario.h"

#include <fmt/core.h>

#include "base/config_library.h"
#include "base/field_table.h"
#include "workloads/kernels/performance.h"
#include "workloads/kernels/timed_kernels.h"

namespace lockstep {
namespace {

std::optional<Document> open_document(const ScenarioRequest& request, const ReadContext& context, Diagnostics& d) {
  if (request.file && context.library() != nullptr && *request.file != "-") {
    return context.library()->open("scenario", *request.file, {"command line", 0, 0}, {}, d);
  }
  if (request.file) return Document::load(*request.file, d);
  Document document = Document::empty_map("command line");
  document.assign("kind", "scenario", "command line", d, true);
  return document;
}

bool apply_options(const ScenarioRequest& request, Document& document, Diagnostics& d) {
  bool is_good = true;
  if (request.cluster) is_good = document.assign("cluster", *request.cluster, "--cluster", d, true) && is_good;
  if (request.job) is_good = document.assign("job", *request.job, "--job", d, true) && is_good;
  for (const std::string& assignment : request.assignments) {
    is_good = check_job_path(document, assignment.substr(0, assignment.find('=')), {"--set " + assignment, 0, 0}, d) &&
              document.set(assignment, d) && is_good;
  }
  return is_good;
}

void check_jobs(const ScenarioSpec& spec, Section& s) {
  if (!spec.cluster.server) {
    s.error("cluster", "the cluster has bare hosts, and a job needs servers with GPUs", "give it nodes and server");
  } else if (spec.job && !spec.jobs.empty()) {
    s.error("jobs", "there is a job besides", "job: for one, jobs: for several");
  } else if (spec.job) {
    const ReportFault report = [&](std::string_view key, std::string message, std::string hint) {
      s.error(join_path("job", key), std::move(message), std::move(hint));
    };
    (void)resolve_plan(*spec.job, size_of(spec.cluster), report);
    (void)check_kernels(*spec.job, spec.cluster.server->gpu, spec.cluster.software, report);
  } else if (spec.jobs.empty()) {
    s.error("job", "there is nothing to run", "job: NAME, or jobs: [{name: ..., job: NAME, gpus: N}, ...]");
  } else {
    (void)resolve_jobs(spec.jobs, spec.cluster, [&](const std::string& path, std::string message, std::string hint) {
      s.error(path, std::move(message), std::move(hint));
    });
  }
}

void warn_of_idle_timings(const TrainingPlan& plan, const ClusterSpec& cluster, const std::string& path, Diagnostics& d) {
  if (!plan.job.kernel_timings) return;
  const KernelTimings& table = *plan.job.kernel_timings;
  const TimingUse use = timing_use(plan, performance_of(*cluster.server, cluster.software, plan.job));
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (!use.rows[i]) warn_of_idle_timing(table, i, "the job", path, d);
  }
}

void check_one_job(const ScenarioSpec& spec, Section& s) {
  if (!spec.cluster.server) {
    s.error("cluster", "the cluster has bare hosts, and a job needs servers with GPUs", "give it nodes and server");
  } else if (!spec.jobs.empty()) {
    s.error("jobs", "the plan of one job is looked for, and there are several", "a scenario with job:");
  } else if (!spec.job) {
    s.error("job", "there is nothing to run", "job: NAME");
  }
}

FieldTable<ScenarioSpec> fields_with(void (*check)(const ScenarioSpec&, Section&)) {
  FieldTable<ScenarioSpec> t("scenario");
  t.reference("cluster", &ScenarioSpec::cluster, cluster_fields()).required().doc("where the job runs");
  t.reference("job", &ScenarioSpec::job, job_fields()).doc("what runs; or jobs");
  t.list("jobs", &ScenarioSpec::jobs, job_entry_fields()).doc("several jobs that share the cluster's network");
  t.validate(check);
  return t;
}

}  // namespace

const FieldTable<ScenarioSpec>& scenario_fields() {
  static const FieldTable<ScenarioSpec> table = fields_with(check_jobs);
  return table;
}

bool check_job_path(const Document& document, std::string_view path, const Position& where, Diagnostics& d) {
  const auto is_given = [&](std::string_view key) {
    const Node value = document.root().find(key);
    return value && !value.is_null();
  };
  const bool has_one = is_given("job");
  const bool has_several = is_given("jobs");
  if (path.starts_with("job.") && has_several && !has_one) {
    d.error(where, std::string(path), "the scenario has several jobs",
            fmt::format("paths of the first begin with jobs.0.: jobs.0.{}", path));
    return false;
  }
  if ((path.starts_with("jobs.") || path.starts_with("jobs[")) && has_one && !has_several) {
    d.error(where, std::string(path), "the scenario has one job", "its paths begin with job., such as job.micro_batch");
    return false;
  }
  return true;
}

std::optional<Scenario> load_scenario(const ScenarioRequest& request, ReadContext& context) {
  Diagnostics& d = context.diagnostics();
  std::optional<Document> document = open_document(request, context, d);
  if (!document || !apply_options(request, *document, d)) return std::nullopt;
  std::optional<Scenario> scenario = read_scenario(*document, context);
  if (!scenario) return std::nullopt;
  if (request.file) scenario->content_hash = document->content_hash();
  if (!request.file) scenario->spec.name = scenario->spec.job->name;
  return scenario;
}

std::optional<ScenarioSpec> load_unresolved(const ScenarioRequest& request, ReadContext& context) {
  Diagnostics& d = context.diagnostics();
  std::optional<Document> document = open_document(request, context, d);
  if (!document || !apply_options(request, *document, d)) return std::nullopt;
  ScenarioSpec spec;
  if (!fields_with(check_one_job).read_document(*document, spec, context)) return std::nullopt;
  if (!request.file) spec.name = spec.job->name;
  return spec;
}

std::optional<Scenario> read_scenario(const Document& document, ReadContext& context) {
  Scenario scenario;
  if (!scenario_fields().read_document(document, scenario.spec, context)) return std::nullopt;
  if (!scenario.spec.job) {
    scenario.jobs =
        resolve_jobs(scenario.spec.jobs, scenario.spec.cluster, [](const std::string&, std::string, std::string) {});
    LOCKSTEP_CHECK(!scenario.jobs.empty(), "a scenario passed its validation without jobs");
    for (std::size_t j = 0; j < scenario.jobs.size(); ++j) {
      warn_of_idle_timings(scenario.jobs[j].plan, scenario.spec.cluster, join_path(join_path("jobs", j), "job.kernel_timings"),
                           context.diagnostics());
    }
    return scenario;
  }
  std::optional<TrainingPlan> plan = resolve_plan(*scenario.spec.job, size_of(scenario.spec.cluster), ReportFault());
  LOCKSTEP_CHECK(plan.has_value(), "a scenario passed its validation without a plan");
  scenario.plan = *std::move(plan);
  warn_of_idle_timings(scenario.plan, scenario.spec.cluster, "job.kernel_timings", context.diagnostics());
  return scenario;
}

}  // namespace lockstep
