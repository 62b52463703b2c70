// SPDX-License-Identifier: Apache-2.0
#include "workloads/model/fit.h"

#include <fmt/format.h>

#include <functional>

#include "workloads/model/memory.h"

namespace lockstep {
namespace {

struct Change {
  std::string text;
  std::function<void(JobSpec&)> apply;
};

std::vector<Change> changes_of(const JobSpec& job) {
  std::vector<Change> out;
  if (job.attention == AttentionKernel::kUnfused) {
    out.push_back({"attention: flash", [](JobSpec& j) { j.attention = AttentionKernel::kFlash; }});
  }
  if (job.tp > 1 && !job.sequence_parallel) {
    out.push_back({"sequence_parallel: true", [](JobSpec& j) {
                     j.sequence_parallel = true;
                     j.scatter_gather = false;
                   }});
  }
  if (job.recompute != Recompute::kFull) {
    out.push_back({"recompute: full", [](JobSpec& j) { j.recompute = Recompute::kFull; }});
  }
  if (job.shard_group) {
    out.push_back({"no shard_group", [](JobSpec& j) { j.shard_group.reset(); }});
  }
  if (job.strategy != Strategy::kFsdp) {
    if (!job.distributed_optimizer) {
      out.push_back({"distributed_optimizer: true", [](JobSpec& j) { j.distributed_optimizer = true; }});
    }
    out.push_back({"strategy: fsdp", [](JobSpec& j) {
                     j.strategy = Strategy::kFsdp;
                     j.distributed_optimizer = false;
                   }});
  }
  if (job.micro_batch > 1) out.push_back({"micro_batch: 1", [](JobSpec& j) { j.micro_batch = 1; }});
  for (const std::int64_t factor : {2, 4, 8}) {
    if (job.tp * factor <= 8) {
      out.push_back({fmt::format("tp: {}", job.tp * factor), [factor](JobSpec& j) { j.tp *= factor; }});
    }
  }
  for (const std::int64_t factor : {2, 4, 8}) {
    out.push_back({fmt::format("pp: {}", job.pp * factor), [factor](JobSpec& j) {
                     j.pp *= factor;
                     j.stages.clear();
                   }});
  }
  return out;
}

bool fits(JobSpec job, std::int64_t gpus, std::int64_t capacity) {
  job.dp = AutoCount();
  job.gpus.reset();
  job.placement = {};
  if (job.global_batch) job.gradient_accumulation.reset();
  const std::optional<TrainingPlan> plan = resolve_plan(job, gpus, ReportFault());
  return plan && peak_memory(*plan).total() <= capacity;
}

}  // namespace

std::vector<std::string> ways_to_fit(const TrainingPlan& plan, std::int64_t capacity) {
  std::vector<std::string> out;
  if (peak_memory(plan).total() <= capacity) return out;
  const std::int64_t gpus = plan.layout.world_size();
  const std::vector<Change> changes = changes_of(plan.job);
  for (const Change& c : changes) {
    JobSpec job = plan.job;
    c.apply(job);
    if (fits(job, gpus, capacity)) out.push_back(c.text);
  }
  if (!out.empty()) return out;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    for (std::size_t k = i + 1; k < changes.size(); ++k) {
      if (changes[i].text.substr(0, 3) == changes[k].text.substr(0, 3)) continue;  // the same key twice
      JobSpec job = plan.job;
      changes[i].apply(job);
      changes[k].apply(job);
      if (fits(job, gpus, capacity)) out.push_back(changes[i].text + ", " + changes[k].text);
    }
  }
  return out;
}

}  // namespace lockstep
