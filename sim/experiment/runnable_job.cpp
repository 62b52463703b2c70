// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/runnable_job.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lockstep {
namespace {

constexpr std::size_t kBusiestLinks = 20;

std::vector<std::int64_t> rank_slowdowns(const std::vector<std::int64_t>& by_gpu, const std::vector<EndpointId>& placement) {
  std::vector<std::int64_t> out;
  if (by_gpu.empty()) return out;
  for (const EndpointId gpu : placement) out.push_back(by_gpu[gpu.index()]);
  return out;
}

PlacedFaults placed_faults(const Detours& detours) {
  if (detours.timeline().is_empty()) return {};
  return {.timeline = &detours.timeline(), .detours = detours.routers()};
}

}  // namespace

RunnableJob::RunnableJob(const PreparedCluster& on, const ClusterSpec& cluster, const Program& of, std::vector<EndpointId> at,
                         const RunOptions& options)
    : prepared(on),
      program(of),
      gpu(performance_of(cluster.server->gpu)),
      placement(std::move(at)),
      placed(place_job(program, placement, prepared.router, rank_slowdowns(gpu_slowdowns(cluster, options.seed), placement),
                       placed_faults(prepared.detours))),
      partition(options.uses_symmetry ? coarsest_partition(placed, options.symmetry_fault) : finest_partition(placed)),
      job(placed, partition) {}

FaultClock RunnableJob::fault_clock() const {
  std::vector<FaultClock::LinkInUse> in_use;
  for (const LinkId link : prepared.detours.timeline().links()) {
    const std::uint32_t c = partition.links.class_of[prepared.router.representative(link).index()];
    if (c != Classes::kNone) in_use.push_back({.link = link, .in_model = LinkId(c)});
  }
  return {prepared.detours.timeline(), std::move(in_use), job.has_detours()};
}

RuntimeResult RunnableJob::run(NetworkModel& model, const RunOptions& options, bool shows_progress) const {
  FaultClock faults = fault_clock();
  const auto name_of = [&](LinkId link) {
    const std::string state = faults.describe(link);
    return prepared.network.name(job.representative(link)) + (state.empty() ? state : ", which " + state);
  };
  return run_program({.program = program,
                      .job = job,
                      .network = model,
                      .message_weight = prepared.router.weight() * kSharerWeight,
                      .tunings = prepared.tunings,
                      .faults = faults.is_empty() ? nullptr : &faults,
                      .link_name = name_of,
                      .comm_slowdown = gpu.comm_slowdown,
                      .skips_repetition = options.uses_symmetry,
                      .tie_seed = options.tie_seed,
                      .on_progress = shows_progress ? options.on_progress : nullptr});
}

std::vector<LinkReport> RunnableJob::busiest_links(const NetworkModel& model, Duration duration,
                                                   const std::vector<bool>& is_of_interest) const {
  const Classes& classes = partition.links;
  struct Busy {
    LinkId link;
    LinkUsage usage;
  };
  std::vector<LinkUsage> usage_of;
  for (std::size_t c = 0; c < classes.count(); ++c)
    usage_of.push_back(model.usage(LinkId::from_index(c), Instant() + duration));

  const Network& network = prepared.network;
  std::vector<Busy> busiest;
  for (std::size_t i = 0; i < network.link_count(); ++i) {
    const LinkId id = LinkId::from_index(i);
    const std::uint32_t c = classes.class_of[prepared.router.representative(id).index()];
    if (c == Classes::kNone || usage_of[c].bytes == 0 || (!is_of_interest.empty() && !is_of_interest[c])) continue;
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
                   .utilization = b.usage.busy_s / duration.seconds(),
                   .bytes = b.usage.bytes});
  }
  return out;
}

std::vector<bool> RunnableJob::links_of_job(std::uint32_t number) const {
  std::vector<bool> carries(job.link_capacities().size(), false);
  const auto add = [&](const ActivityClass& a) {
    const auto mark = [&carries](const std::vector<ReducedShares>& routes) {
      for (const ReducedShares& shares : routes) {
        for (const LinkShare& s : shares.all) carries[s.link.index()] = true;
      }
    };
    mark(a.routes);
    for (const std::vector<ReducedShares>& routes : a.detours) mark(routes);
  };
  for (const ActivityClass& a : job.activities()) {
    const std::uint32_t member = a.communicator == nullptr ? a.sender : a.members.empty() ? 0 : a.members.front();
    if (program.job_of(job.ranks()[member].representative) == number) add(a);
  }
  return carries;
}

SymmetryReport RunnableJob::symmetry_report(const RunOptions& options) const {
  const Partition& p = partition;
  const auto count = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  return {.is_used = options.uses_symmetry,
          .rank_classes = count(p.ranks.count()),
          .activity_classes = count(p.activities.count()),
          .activities = count(placed.activity_count()),
          .link_classes = count(p.links.count()),
          .links = std::accumulate(p.links.size.begin(), p.links.size.end(), std::int64_t{0}),
          .rank_classes_by_plan = count(p.rank_classes_by_plan),
          .rank_classes_with_slowdowns = count(p.rank_classes_with_slowdowns)};
}

}  // namespace lockstep
