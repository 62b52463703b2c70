// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/scenario_jobs.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "base/field_table.h"
#include "base/wide.h"
#include "workloads/kernels/performance.h"

namespace lockstep {
namespace {

constexpr Duration kLatestStart = Duration::picos(86'400'000'000'000'000);  // a day, of the 106 that a time may have

bool names_its_gpus(const PlacementSpec& p) { return !p.hosts.empty() || !p.endpoints.empty(); }

// The job with what the entry changes. One of a list takes no more than it asks for.
JobSpec effective_job(const JobEntry& entry) {
  JobSpec job = entry.job;
  if (entry.gpus) job.gpus = entry.gpus;
  if (entry.placement) job.placement = *entry.placement;
  if (!job.gpus && !job.placement.endpoints.empty()) job.gpus = index_count(job.placement.endpoints);
  if (!job.gpus && job.placement.hosts.empty() && !job.dp.is_auto()) {
    job.gpus = checked_mul(checked_mul(job.tp, job.pp), job.dp.count());
  }
  return job;
}

// GPUs by number that the job names. PRE: its plan was resolved.
std::vector<std::int64_t> named_gpus(const TrainingPlan& plan, std::int64_t per_node) {
  const PlacementSpec& p = plan.job.placement;
  if (!p.endpoints.empty()) return all_indices(p.endpoints);
  std::vector<std::int64_t> out;
  for (const std::int64_t node : all_indices(p.hosts)) {
    for (std::int64_t i = 0; i < per_node && std::ssize(out) < plan.layout.world_size(); ++i)
      out.push_back(node * per_node + i);
  }
  return out;
}

// Who has which GPU; the first one keeps it.
class Claims {
 public:
  Claims(std::span<const ScheduledJob> jobs, const ClusterSize& cluster) : jobs_(jobs), per_node_(cluster.gpus_per_node) {
    owner_.resize(static_cast<std::size_t>(cluster.gpus), kNobody);
  }

  // Reports the first GPU of a job that another has already.
  void check(const ReportAt& report) {
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      for (const std::int64_t gpu : named_gpus(jobs_[j].plan, per_node_)) {
        std::size_t& owner = owner_[static_cast<std::size_t>(gpu)];
        if (owner == kNobody) {
          owner = j;
          continue;
        }
        report(join_path(join_path("jobs", j), "placement"),
               fmt::format("'{}' and '{}' both have GPU {} of node {}", jobs_[owner].name, jobs_[j].name, gpu % per_node_,
                           gpu / per_node_),
               "each GPU belongs to one job");
        break;
      }
    }
  }

  [[nodiscard]] NodeMask nodes() const {
    NodeMask mask(owner_.size() / static_cast<std::size_t>(per_node_));
    for (std::size_t gpu = 0; gpu < owner_.size(); ++gpu) {
      if (owner_[gpu] != kNobody) mask[gpu / static_cast<std::size_t>(per_node_)] = true;
    }
    return mask;
  }

 private:
  static constexpr std::size_t kNobody = ~std::size_t{0};
  std::span<const ScheduledJob> jobs_;
  std::int64_t per_node_;
  std::vector<std::size_t> owner_;  // by GPU
};

void check_room(std::span<const ScheduledJob> jobs, const ClusterSize& cluster, const ReportAt& report) {
  Claims claims(jobs, cluster);
  bool is_good = true;
  claims.check([&](const std::string& path, std::string message, std::string hint) {
    is_good = false;
    report(path, std::move(message), std::move(hint));
  });
  const NodeMask named = claims.nodes();
  std::int64_t free = std::count(named.begin(), named.end(), false);
  for (std::size_t j = 0; j < jobs.size() && is_good; ++j) {
    if (names_its_gpus(jobs[j].plan.job.placement)) continue;
    const std::int64_t needed = ceil_div(std::int64_t{jobs[j].plan.layout.world_size()}, cluster.gpus_per_node);
    if (needed > free) {
      report(join_path("jobs", j),
             fmt::format("'{}' needs {} nodes, but the jobs before it leave {}", jobs[j].name, needed, free),
             "fewer gpus, or a larger cluster");
      return;
    }
    free -= needed;
  }
}

}  // namespace

ClusterSize size_of(const ClusterSpec& cluster) { return {cluster.gpus(), cluster.server->gpus}; }

const FieldTable<JobEntry>& job_entry_fields() {
  static const FieldTable<JobEntry> table = [] {
    FieldTable<JobEntry> t;
    t.field("name", &JobEntry::name).required().doc("how reports call it");
    t.reference("job", &JobEntry::job, job_fields()).required().doc("what runs");
    t.field("start", &JobEntry::start).range(Duration(), kLatestStart).doc("when the job begins, after the first one could");
    t.field("gpus", &JobEntry::gpus).range(1, 1 << 20).doc("GPUs it takes; absent: the job's gpus, or tp x pp x dp");
    t.section_or_value("placement", &JobEntry::placement, placement_fields(), "policy", "endpoints")
        .doc("where it runs, among the nodes that the jobs before it leave; absent: the job's placement");
    return t;
  }();
  return table;
}

std::vector<ScheduledJob> resolve_jobs(const std::vector<JobEntry>& entries, const ClusterSpec& cluster,
                                       const ReportAt& report) {
  std::vector<ScheduledJob> jobs;
  const ClusterSize size = size_of(cluster);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string path = join_path("jobs", i);
    const JobSpec job = effective_job(entries[i]);
    const auto same = std::find_if(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(i),
                                   [&](const JobEntry& e) { return e.name == entries[i].name; });
    if (same != entries.begin() + static_cast<std::ptrdiff_t>(i)) {
      report(join_path(path, "name"), fmt::format("'{}' is the name of another job", entries[i].name), "a name for each");
    } else if (!job.gpus && job.placement.hosts.empty()) {
      report(path, fmt::format("'{}' does not say how many GPUs it takes", entries[i].name), "gpus: N");
    } else {
      const ReportFault report_key = [&](std::string_view key, std::string message, std::string hint) {
        const bool is_own = (key == "gpus" && entries[i].gpus) || (key == "placement" && entries[i].placement);
        report(join_path(is_own ? path : join_path(path, "job"), key), std::move(message), std::move(hint));
      };
      std::optional<TrainingPlan> plan = resolve_plan(job, size, report_key);
      const bool runs_there = !cluster.server || check_kernels(job, cluster.server->gpu, cluster.software, report_key);
      if (plan && runs_there) jobs.push_back({entries[i].name, entries[i].start, *std::move(plan)});
    }
  }
  if (jobs.size() != entries.size()) return {};
  bool has_room = true;
  check_room(jobs, size, [&](const std::string& path, std::string message, std::string hint) {
    has_room = false;
    report(path, std::move(message), std::move(hint));
  });
  if (!has_room) jobs.clear();
  return jobs;
}

std::vector<std::vector<EndpointId>> place_jobs(std::span<const ScheduledJob> jobs, const Network& network,
                                                std::uint64_t seed) {
  std::vector<std::vector<EndpointId>> out(jobs.size());
  NodeMask occupied(network.node_count(), false);
  const auto place = [&](std::size_t j) {
    out[j] = place_ranks(jobs[j].plan, network, seed, occupied);
    for (const EndpointId e : out[j]) occupied[network.node_of(e).index()] = true;
  };
  for (const bool is_named : {true, false}) {
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      if (names_its_gpus(jobs[j].plan.job.placement) == is_named) place(j);
    }
  }
  return out;
}

}  // namespace lockstep
