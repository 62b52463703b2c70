// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/job_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <future>
#include <memory>
#include <vector>

#include "sim/engine/process_usage.h"
#include "sim/experiment/memory_report.h"
#include "sim/experiment/runnable_job.h"
#include "sim/network/ideal_network.h"
#include "workloads/kernels/performance.h"
#include "workloads/kernels/timed_kernels.h"
#include "workloads/model/flops.h"
#include "workloads/parallel/placement.h"
#include "workloads/schedule/job_program.h"

namespace lockstep {
namespace {

std::string plan_text(const TrainingPlan& plan) {
  const ParallelLayout::Sizes& s = plan.layout.sizes();
  if (plan.has_profile()) {
    return fmt::format("dp {}, {} x {} samples per replica", s.dp, plan.micro_batches, plan.job.micro_batch);
  }
  const char* strategy = plan.job.strategy == Strategy::kFsdp ? "fsdp" : "dp";
  std::string note = plan.job.distributed_optimizer ? ", distributed optimizer" : "";
  if (plan.is_hybrid()) note = fmt::format(" in groups of {}", plan.layout.shard_group());
  const std::string context = s.cp > 1 ? fmt::format("cp {} x ", s.cp) : "";
  if (s.ep > 1) note += fmt::format(", ep {}{}", s.ep, plan.expert_tp() > 1 ? fmt::format(" of tp {}", plan.expert_tp()) : "");
  if (plan.job.lora) note += fmt::format(", LoRA of rank {}", plan.job.lora->rank);
  return fmt::format("tp {} x {}pp {} x {} {}{}, {} x {} sequences per replica", s.tp, context, s.pp, strategy, s.dp, note,
                     plan.micro_batches, plan.job.micro_batch);
}

double ideal_seconds(const RunnableJob& job, const ClusterSpec& cluster, const RunOptions& options) {
  IdealNetwork ideal;
  const auto run = [&](const RunnableJob& on) { return on.run(ideal, options, false).step_time.seconds(); };
  if (cluster.routing_policy() == RoutingPolicy::kSpray && cluster.faults.empty()) return run(job);
  ClusterSpec sprayed = cluster;
  sprayed.faults.clear();
  sprayed.routing = RoutingPolicy::kSpray;
  const PreparedCluster prepared(sprayed, options.seed);
  return run(RunnableJob(prepared, sprayed, job.program, job.placement, options));
}

double healthy_seconds(const RunnableJob& job, const ClusterSpec& cluster, const RunOptions& options) {
  ClusterSpec healthy = cluster;
  healthy.faults.clear();
  const PreparedCluster prepared(healthy, options.seed);
  const RunnableJob on(prepared, healthy, job.program, job.placement, options);
  const std::unique_ptr<NetworkModel> model = make_network_model(options.network, on.job.link_capacities());
  return on.run(*model, options, false).step_time.seconds();
}

// What a model's geometry adds.
void add_tokens_and_flops(const TrainingPlan& plan, const ClusterSpec& cluster, RunResult& r) {
  r.tokens_per_s = static_cast<double>(plan.global_batch) * static_cast<double>(plan.job.seq_len) / r.step_time_s;
  const StepFlops flops = step_flops(plan);
  const double peak = linear_peak(cluster.server->gpu, plan.job);
  const double per_gpu_second = static_cast<double>(r.gpus) * r.step_time_s;
  r.peak_tflops = peak * 1e-12;
  r.tflops_per_gpu = flops.model / per_gpu_second * 1e-12;
  r.mfu = flops.model / per_gpu_second / peak;
  r.hfu = flops.hardware / per_gpu_second / peak;
  r.flop_convention = kFlopConvention;
}

std::optional<KernelTimingsReport> report_timings(const TrainingPlan& plan, const ClusterSpec& cluster) {
  if (!plan.job.kernel_timings) return std::nullopt;
  const TimingUse use = timing_use(plan, performance_of(*cluster.server, cluster.software, plan.job));
  return KernelTimingsReport{.file = plan.job.kernel_timings->file,
                             .rows = std::ssize(use.rows),
                             .unused_rows = std::count(use.rows.begin(), use.rows.end(), false),
                             .products = use.products,
                             .parts = use.parts};
}

}  // namespace

std::vector<FaultReport> report_faults(const ClusterSpec& cluster, const RuntimeResult& run) {
  std::vector<FaultReport> out;
  for (const FaultSpec& f : cluster.faults) {
    if (!f.is_timed()) out.push_back({.what = to_text(f), .when = {}});
  }
  for (const FaultEffect& e : run.faults) {
    const FaultSpec& f = cluster.faults[e.fault];
    out.push_back(
        {.what = to_text(f), .when = time_text(f), .first_s = e.first.seconds(), .times = e.times, .rerouted = e.rerouted});
  }
  return out;
}

// Numbers that follow from the step time.
void add_rates(const TrainingPlan& plan, const ClusterSpec& cluster, RunResult& r) {
  r.samples_per_s = static_cast<double>(plan.global_batch) / r.step_time_s;
  if (!plan.has_profile()) add_tokens_and_flops(plan, cluster, r);
  if (!cluster.price_per_gpu_hour) return;
  CostReport cost;
  cost.usd_per_gpu_hour = cluster.price_per_gpu_hour->usd;
  cost.usd_per_step = static_cast<double>(r.gpus) * cost.usd_per_gpu_hour * r.step_time_s / 3600;
  if (r.tokens_per_s) cost.usd_per_million_tokens = cost.usd_per_step / (*r.tokens_per_s * r.step_time_s) * 1e6;
  cost.effective_usd_per_gpu_hour = cost.usd_per_gpu_hour * r.step_time_s / r.ideal_step_time_s;
  r.cost = cost;
}

RunResult run_job(const ClusterSpec& cluster, const TrainingPlan& plan, const RunOptions& options) {
  return run_job(PreparedCluster(cluster, options.seed), cluster, plan, options);
}

RunResult run_job(const PreparedCluster& prepared, const ClusterSpec& cluster, const TrainingPlan& plan,
                  const RunOptions& options) {
  LOCKSTEP_CHECK(cluster.server.has_value(), "a job needs servers with GPUs");
  const std::unique_ptr<Program> program = make_program(plan, performance_of(*cluster.server, cluster.software, plan.job));
  return run_job(prepared, cluster, plan, *program, place_ranks(plan, prepared.network, options.seed), options);
}

RunResult run_job(const PreparedCluster& prepared, const ClusterSpec& cluster, const TrainingPlan& plan, const Program& program,
                  const std::vector<EndpointId>& placement, const RunOptions& options) {
  const double begin = monotonic_seconds();
  const RunnableJob job(prepared, cluster, program, placement, options);
  // The yardstick shares nothing that changes with the run and takes a thread of its own. The future joins it, also when the run throws.
  std::future<double> ideal;
  if (options.compares_with_ideal) {
    ideal = std::async(options.uses_one_thread ? std::launch::deferred : std::launch::async,
                       [&] { return ideal_seconds(job, cluster, options); });
  }
  const std::unique_ptr<NetworkModel> model = make_network_model(options.network, job.job.link_capacities());
  const RuntimeResult run = job.run(*model, options, true);

  RunResult r;
  r.cluster = cluster.name;
  r.job = plan.job.name;
  r.plan = plan_text(plan);
  r.seed = options.seed;
  r.gpus = program.world_size();
  r.stages = plan.pp();
  r.has_stragglers = cluster.stragglers.has_value() ||
                     std::any_of(cluster.faults.begin(), cluster.faults.end(), [](const FaultSpec& f) { return f.slowdown; });
  r.slow_gpus = std::count_if(job.placed.slowdowns.begin(), job.placed.slowdowns.end(), [](std::int64_t s) { return s > 0; });
  r.step_time_s = run.step_time.seconds();
  r.ideal_step_time_s = ideal.valid() ? ideal.get() : r.step_time_s;
  r.breakdown_s = run.jobs.front().breakdown_s;
  r.kernel_timings = report_timings(plan, cluster);
  r.faults = report_faults(cluster, run);
  if (!cluster.faults.empty() && options.compares_with_ideal) r.healthy_step_time_s = healthy_seconds(job, cluster, options);
  r.links = job.busiest_links(*model, run.step_time);
  r.locality = job_locality(program, plan.layout, placement, prepared.network);
  r.symmetry = job.symmetry_report(options);
  r.symmetry.repeated_s = run.skipped.seconds();
  r.events = run.totals.events;
  r.fingerprint = run.totals.fingerprint;
  add_rates(plan, cluster, r);
  if (!plan.has_profile()) {
    add_memory(
        plan, cluster.server->gpu, [&](Rank rank) { return gpu_name(prepared.network, placement[rank.index()]); }, r);
  }
  r.bottleneck = bottleneck_sentence(r);
  r.measured = {.wall_s = monotonic_seconds() - begin, .peak_rss_bytes = peak_resident_bytes()};
  return r;
}

}  // namespace lockstep
