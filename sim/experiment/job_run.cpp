// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/job_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <future>
#include <memory>
#include <numeric>
#include <vector>

#include "sim/engine/process_usage.h"
#include "sim/network/ideal_network.h"
#include "sim/runtime/runtime.h"
#include "sim/symmetry/reduced_job.h"
#include "workloads/model/fit.h"
#include "workloads/model/flops.h"
#include "workloads/model/memory.h"
#include "workloads/parallel/locality.h"
#include "workloads/parallel/placement.h"
#include "workloads/schedule/job_program.h"

namespace lockstep {
namespace {

constexpr std::size_t kBusiestLinks = 20;

SymmetryReport symmetry_report(const PlacedJob& job, const Partition& p, bool is_used) {
  const auto count = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  return {.is_used = is_used,
          .rank_classes = count(p.ranks.count()),
          .activity_classes = count(p.activities.count()),
          .activities = count(job.activity_count()),
          .link_classes = count(p.links.count()),
          .links = std::accumulate(p.links.size.begin(), p.links.size.end(), std::int64_t{0}),
          .rank_classes_by_plan = count(p.rank_classes_by_plan),
          .rank_classes_with_slowdowns = count(p.rank_classes_with_slowdowns)};
}

std::string plan_text(const TrainingPlan& plan) {
  const ParallelLayout::Sizes& s = plan.layout.sizes();
  if (plan.has_profile()) {
    return fmt::format("dp {}, {} x {} samples per replica", s.dp, plan.micro_batches, plan.job.micro_batch);
  }
  const char* strategy = plan.job.strategy == Strategy::kFsdp ? "fsdp" : "dp";
  std::string note = plan.job.distributed_optimizer ? ", distributed optimizer" : "";
  if (plan.is_hybrid()) note = fmt::format(" in groups of {}", plan.layout.shard_group());
  return fmt::format("tp {} x pp {} x {} {}{}, {} x {} sequences per replica", s.tp, s.pp, strategy, s.dp, note,
                     plan.micro_batches, plan.job.micro_batch);
}

// `classes`: of the links that the router uses; the model's links are these classes. Cost: usage by class, a look at every link.
std::vector<LinkReport> busiest_links(const Router& router, const Classes& classes, const NetworkModel& model, Duration step) {
  struct Busy {
    LinkId link;
    LinkUsage usage;
  };
  std::vector<LinkUsage> usage_of;
  for (std::size_t c = 0; c < classes.count(); ++c) usage_of.push_back(model.usage(LinkId::from_index(c), Instant() + step));

  const Network& network = router.network();
  std::vector<Busy> busiest;
  for (std::size_t i = 0; i < network.link_count(); ++i) {
    const LinkId id = LinkId::from_index(i);
    const std::uint32_t c = classes.class_of[router.representative(id).index()];
    if (c == Classes::kNone || usage_of[c].bytes == 0) continue;
    // Of equally busy links the one with the smaller id comes first, and that one has been met before.
    const auto is_less_busy = [&usage_of, c](const Busy& b) { return b.usage.busy_s < usage_of[c].busy_s; };
    if (busiest.size() == kBusiestLinks && !is_less_busy(busiest.back())) continue;
    busiest.insert(std::find_if(busiest.begin(), busiest.end(), is_less_busy), {id, usage_of[c]});
    if (busiest.size() > kBusiestLinks) busiest.pop_back();
  }
  std::vector<LinkReport> out;
  for (const Busy& b : busiest) {
    out.push_back({.name = network.name(b.link),
                   .tier = std::string(to_text(network.link(b.link).tier)),
                   .utilization = b.usage.busy_s / step.seconds(),
                   .bytes = b.usage.bytes});
  }
  return out;
}

void add_memory(const TrainingPlan& plan, const GpuSpec& gpu, RunResult& r) {
  const MemoryBytes m = peak_memory(plan);
  r.memory = MemoryReport{.parameters = m.parameters,
                          .gradients = m.gradients,
                          .optimizer = m.optimizer,
                          .activations = m.activations,
                          .buffers = m.buffers,
                          .total = m.total(),
                          .capacity = gpu.memory.count()};
  if (r.fits()) return;
  const std::vector<std::string> ways = ways_to_fit(plan, gpu.memory.count());
  for (const std::string& way : ways) r.memory_advice += (r.memory_advice.empty() ? "" : "; or ") + way;
  if (ways.empty()) r.memory_advice = "more GPUs (add nodes), or a smaller model";
}

// What a model's geometry adds.
void add_tokens_and_flops(const TrainingPlan& plan, const ClusterSpec& cluster, RunResult& r) {
  r.tokens_per_s = static_cast<double>(plan.global_batch) * static_cast<double>(plan.job.seq_len) / r.step_time_s;
  const StepFlops flops = step_flops(plan);
  const double peak = cluster.server->gpu.peak.training().per_second;
  const double per_gpu_second = static_cast<double>(r.gpus) * r.step_time_s;
  r.peak_tflops = peak * 1e-12;
  r.tflops_per_gpu = flops.model / per_gpu_second * 1e-12;
  r.mfu = flops.model / per_gpu_second / peak;
  r.hfu = flops.hardware / per_gpu_second / peak;
  r.flop_convention = kFlopConvention;
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

std::vector<std::int64_t> rank_slowdowns(const std::vector<std::int64_t>& by_gpu, const std::vector<EndpointId>& placement) {
  std::vector<std::int64_t> out;
  if (by_gpu.empty()) return out;
  for (const EndpointId gpu : placement) out.push_back(by_gpu[gpu.index()]);
  return out;
}

// A job ready to run on any network model.
struct RunnableJob {
  RunnableJob(const PreparedCluster& on, const ClusterSpec& cluster, const Program& of, const TrainingPlan& plan,
              const RunOptions& options)
      : prepared(on),
        program(of),
        gpu(performance_of(cluster.server->gpu)),
        placement(place_ranks(plan, on.network, options.seed)),
        slow_gpus(gpu_slowdowns(cluster, options.seed)),
        placed(place_job(program, placement, prepared.router, rank_slowdowns(slow_gpus, placement))),
        partition(options.uses_symmetry ? coarsest_partition(placed, options.symmetry_fault) : finest_partition(placed)),
        job(placed, partition) {}

  [[nodiscard]] RuntimeResult run(NetworkModel& model, const RunOptions& options, bool shows_progress) const {
    return run_program({.program = program,
                        .job = job,
                        .network = model,
                        .message_weight = prepared.router.weight() * kSharerWeight,
                        .tunings = prepared.tunings,
                        .link_name = [&](LinkId link) { return prepared.network.name(job.representative(link)); },
                        .comm_slowdown = gpu.comm_slowdown,
                        .skips_repetition = options.uses_symmetry,
                        .tie_seed = options.tie_seed,
                        .on_progress = shows_progress ? options.on_progress : nullptr});
  }

  const PreparedCluster& prepared;
  const Program& program;
  GpuPerformance gpu;
  std::vector<EndpointId> placement;
  std::vector<std::int64_t> slow_gpus;
  PlacedJob placed;
  Partition partition;
  ReducedJob job;
};

double ideal_seconds(const RunnableJob& job, const ClusterSpec& cluster, const TrainingPlan& plan, const RunOptions& options) {
  IdealNetwork ideal;
  if (!options.uses_symmetry || cluster.routing_policy() == RoutingPolicy::kSpray) {
    return job.run(ideal, options, false).step_time.seconds();
  }
  ClusterSpec sprayed = cluster;
  sprayed.routing = RoutingPolicy::kSpray;
  const PreparedCluster prepared(sprayed, options.seed);
  return RunnableJob(prepared, sprayed, job.program, plan, options).run(ideal, options, false).step_time.seconds();
}

}  // namespace

RunResult run_job(const ClusterSpec& cluster, const TrainingPlan& plan, const RunOptions& options) {
  return run_job(PreparedCluster(cluster, options.seed), cluster, plan, options);
}

RunResult run_job(const PreparedCluster& prepared, const ClusterSpec& cluster, const TrainingPlan& plan,
                  const RunOptions& options) {
  LOCKSTEP_CHECK(cluster.server.has_value(), "a job needs servers with GPUs");
  const double begin = monotonic_seconds();
  const std::unique_ptr<Program> program = make_program(plan, performance_of(cluster.server->gpu));
  const RunnableJob job(prepared, cluster, *program, plan, options);
  // The yardstick shares nothing that changes with the run and takes a thread of its own. The future joins it, also when the run throws.
  std::future<double> ideal;
  if (options.compares_with_ideal) {
    ideal = std::async(options.uses_one_thread ? std::launch::deferred : std::launch::async,
                       [&] { return ideal_seconds(job, cluster, plan, options); });
  }
  const std::unique_ptr<NetworkModel> model = make_network_model(options.network, job.job.link_capacities());
  const RuntimeResult run = job.run(*model, options, true);

  RunResult r;
  r.cluster = cluster.name;
  r.job = plan.job.name;
  r.plan = plan_text(plan);
  r.seed = options.seed;
  r.gpus = program->world_size();
  r.stages = plan.pp();
  r.has_stragglers = cluster.stragglers.has_value();
  r.slow_gpus = std::count_if(job.placed.slowdowns.begin(), job.placed.slowdowns.end(), [](std::int64_t s) { return s > 0; });
  r.step_time_s = run.step_time.seconds();
  r.ideal_step_time_s = ideal.valid() ? ideal.get() : r.step_time_s;
  r.breakdown_s = run.breakdown_s;
  r.links = busiest_links(prepared.router, job.partition.links, *model, run.step_time);
  r.locality = job_locality(*program, plan.layout, job.placement, prepared.network);
  r.symmetry = symmetry_report(job.placed, job.partition, options.uses_symmetry);
  r.symmetry.repeated_s = run.skipped.seconds();
  r.events = run.totals.events;
  r.fingerprint = run.totals.fingerprint;
  add_rates(plan, cluster, r);
  if (!plan.has_profile()) add_memory(plan, cluster.server->gpu, r);
  r.bottleneck = bottleneck_sentence(r);
  r.measured = {.wall_s = monotonic_seconds() - begin, .peak_rss_bytes = peak_resident_bytes()};
  return r;
}

}  // namespace lockstep
