// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/shared_run.h"

#include <algorithm>
#include <memory>

#include "base/wide.h"
#include "sim/engine/process_usage.h"
#include "sim/experiment/runnable_job.h"
#include "workloads/kernels/performance.h"
#include "workloads/schedule/combined_program.h"
#include "workloads/schedule/job_program.h"

namespace lockstep {
namespace {

// A whole number of picoseconds comes back from seconds unchanged up to 2^51 ps, half an hour; beyond, the last bit may be off.
Duration step_alone(const RunResult& r) { return Duration::from_seconds(r.step_time_s); }

// `undisturbed`: the same steps from the same start, alone.
SharedJob shared_job(const ScheduledJob& job, const RunResult& alone, Duration undisturbed, const JobTimes& together,
                     std::int64_t steps) {
  SharedJob out{.name = job.name, .start_s = job.start.seconds(), .steps = steps, .alone_step_time_s = alone.step_time_s};
  const Duration ran = together.end - (Instant() + job.start);
  // Of whole picoseconds: undisturbed this is exactly 1.
  out.slowdown = static_cast<double>(ran.picos()) / static_cast<double>(undisturbed.picos());
  if (undisturbed != step_alone(alone) * steps) out.alone_step_time_s = undisturbed.seconds() / static_cast<double>(steps);
  out.run = alone;
  out.run.step_time_s =
      ran.picos() % steps == 0 ? Duration::picos(ran.picos() / steps).seconds() : ran.seconds() / static_cast<double>(steps);
  out.run.breakdown_s = together.breakdown_s;
  out.run.breakdown_s[static_cast<std::size_t>(TimeClass::kCompute)] -= job.start.seconds();  // the pause before it began
  for (double& part : out.run.breakdown_s) part /= static_cast<double>(steps);
  return out;
}

}  // namespace

std::int64_t steps_to_cover(Duration time, Duration step) {
  return std::clamp<std::int64_t>(ceil_div(time.picos(), step.picos()), 1, kMostSteps);
}

SharedRunResult run_jobs(const PreparedCluster& prepared, const ClusterSpec& cluster, std::span<const ScheduledJob> jobs,
                         const RunOptions& options) {
  const double begin = monotonic_seconds();
  const std::vector<std::vector<EndpointId>> places = place_jobs(jobs, prepared.network, options.seed);
  std::vector<std::unique_ptr<Program>> programs;
  std::vector<RunResult> alone;
  Duration last_end;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    programs.push_back(make_program(jobs[j].plan, performance_of(*cluster.server, cluster.software, jobs[j].plan.job)));
    alone.push_back(run_job(prepared, cluster, jobs[j].plan, *programs.back(), places[j], options));
    last_end = std::max(last_end, jobs[j].start + step_alone(alone.back()));
  }

  std::vector<JobProgram> parts;
  std::vector<EndpointId> placement;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const Duration start = jobs[j].start;
    parts.push_back({*programs[j], start, steps_to_cover(last_end - start, step_alone(alone[j]))});
    placement.insert(placement.end(), places[j].begin(), places[j].end());
  }
  const CombinedProgram program(parts);
  const RunnableJob all(prepared, cluster, program, std::move(placement), options);
  const std::unique_ptr<NetworkModel> model = make_network_model(options.network, all.job.link_capacities());
  const RuntimeResult run = all.run(*model, options, true);

  // Faults that come and go meet every step of a job anew, so its steps are run alone once more where there are any.
  const bool has_timed_faults =
      std::any_of(cluster.faults.begin(), cluster.faults.end(), [](const FaultSpec& f) { return f.is_timed(); });
  const auto undisturbed = [&](std::size_t j) {
    if (!has_timed_faults) return step_alone(alone[j]) * parts[j].steps;
    const CombinedProgram own({parts[j]});
    const RunnableJob job(prepared, cluster, own, places[j], options);
    const std::unique_ptr<NetworkModel> network = make_network_model(options.network, job.job.link_capacities());
    return job.run(*network, options, true).jobs.front().end - (Instant() + jobs[j].start);
  };

  SharedRunResult r{.cluster = cluster.name, .seed = options.seed, .end_s = run.step_time.seconds()};
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    SharedJob job = shared_job(jobs[j], alone[j], undisturbed(j), run.jobs[j], parts[j].steps);
    job.run.links = all.busiest_links(*model, run.step_time, all.links_of_job(static_cast<std::uint32_t>(j)));
    add_rates(jobs[j].plan, cluster, job.run);
    job.run.bottleneck = bottleneck_sentence(job.run);
    r.jobs.push_back(std::move(job));
  }
  r.links = all.busiest_links(*model, run.step_time);
  r.faults = report_faults(cluster, run);
  r.symmetry = all.symmetry_report(options);
  r.symmetry.repeated_s = run.skipped.seconds();
  r.events = run.totals.events;
  r.fingerprint = run.totals.fingerprint;
  r.measured = {.wall_s = monotonic_seconds() - begin, .peak_rss_bytes = peak_resident_bytes()};
  return r;
}

}  // namespace lockstep
