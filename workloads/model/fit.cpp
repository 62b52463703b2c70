// SPDX-License-Identifier: Apache-2.0
#include "workloads/model/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>

#include "workloads/model/memory.h"

namespace lockstep {
namespace {

struct Change {
  std::string text;
  std::function<void(JobSpec&)> apply;
};

using Changes = std::vector<Change>;

void append_activation_changes(const JobSpec& job, Changes& out) {
  if (job.attention == AttentionKernel::kUnfused) {
    out.push_back({"attention: flash", [](JobSpec& j) { j.attention = AttentionKernel::kFlash; }});
  }
  if (job.tp > 1 && !job.sequence_parallel) {
    out.push_back({"sequence_parallel: true", [](JobSpec& j) {
                     j.sequence_parallel = true;
                     j.scatter_gather = false;
                   }});
  }
  if (job.recompute == Recompute::kNone && job.attention == AttentionKernel::kUnfused) {
    out.push_back({"recompute: selective", [](JobSpec& j) { j.recompute = Recompute::kSelective; }});
  }
  if (job.recompute != Recompute::kFull || job.recompute_layers) {
    out.push_back({"recompute: full", [](JobSpec& j) {
                     j.recompute = Recompute::kFull;
                     j.recompute_layers.reset();
                   }});
  }
  for (std::int64_t smaller = job.micro_batch / 2; smaller >= 1; smaller /= 2) {
    out.push_back({fmt::format("micro_batch: {}", smaller), [smaller](JobSpec& j) { j.micro_batch = smaller; }});
  }
}

void append_state_changes(const JobSpec& job, Changes& out) {
  if (job.shard_group) {
    out.push_back({"no shard_group", [](JobSpec& j) { j.shard_group.reset(); }});
  }
  if (job.strategy == Strategy::kFsdp) return;
  if (job.strategy == Strategy::kDdp) {
    if (!job.distributed_optimizer) {
      out.push_back({"distributed_optimizer: true", [](JobSpec& j) { j.distributed_optimizer = true; }});
    }
    out.push_back({"strategy: zero2", [](JobSpec& j) {
                     j.strategy = Strategy::kZero2;
                     j.distributed_optimizer = false;
                   }});
  }
  out.push_back({"strategy: fsdp", [](JobSpec& j) {
                   j.strategy = Strategy::kFsdp;
                   j.distributed_optimizer = false;
                 }});
}

void append_parallelism_changes(const JobSpec& job, Changes& out) {
  constexpr std::int64_t factors[] = {2, 4, 8};
  for (const std::int64_t factor : factors) {
    if (job.tp * factor > 8) continue;
    out.push_back({fmt::format("tp: {}", job.tp * factor), [factor](JobSpec& j) {
                     if (j.expert_tp > 1) j.expert_tp *= factor;
                     j.tp *= factor;
                   }});
  }
  for (const std::int64_t factor : factors) {
    out.push_back({fmt::format("pp: {}", job.pp * factor), [factor](JobSpec& j) {
                     j.pp *= factor;
                     j.stages.clear();
                   }});
  }
  for (const std::int64_t factor : factors) {
    out.push_back({fmt::format("cp: {}", job.cp * factor), [factor](JobSpec& j) { j.cp *= factor; }});
  }
  for (const std::int64_t factor : factors) {
    if (!job.model.moe) break;
    out.push_back({fmt::format("ep: {}", job.ep * factor), [factor](JobSpec& j) { j.ep *= factor; }});
  }
}

// In the order in which they are told: what costs least time first.
Changes changes_of(const JobSpec& job) {
  Changes out;
  append_activation_changes(job, out);
  append_state_changes(job, out);
  append_parallelism_changes(job, out);
  if (job.optimizer_offload.value < 1) {
    out.push_back({"optimizer_offload: 1", [](JobSpec& j) { j.optimizer_offload = Fraction{1}; }});
  }
  return out;
}

std::string_view key_of(const Change& c) { return std::string_view(c.text).substr(0, c.text.find(':')); }

bool fits(JobSpec job, std::int64_t gpus, std::int64_t capacity) {
  job.dp = AutoCount();
  job.gpus.reset();
  job.placement = {};
  if (job.global_batch) job.gradient_accumulation.reset();
  const std::optional<TrainingPlan> plan = resolve_plan(job, gpus, ReportFault());
  return plan && fits_into(*plan, capacity);
}

}  // namespace

std::optional<std::int64_t> layers_to_recompute(const TrainingPlan& plan, std::int64_t capacity) {
  if (plan.job.recompute == Recompute::kFull && !plan.job.recompute_layers) return std::nullopt;
  TrainingPlan changed = plan;
  changed.job.recompute = Recompute::kFull;
  const auto fits_with = [&](std::int64_t layers) {
    changed.job.recompute_layers = layers;
    return fits_into(changed, capacity);
  };
  std::int64_t too_few = plan.job.recompute_layers.value_or(0);
  std::int64_t enough = *std::max_element(plan.stage_layers.begin(), plan.stage_layers.end());
  if (enough - too_few < 2 || !fits_with(enough)) return std::nullopt;
  while (enough - too_few > 1) {
    const std::int64_t middle = (too_few + enough) / 2;
    (fits_with(middle) ? enough : too_few) = middle;
  }
  return enough;
}

std::vector<std::string> ways_to_fit(const TrainingPlan& plan, std::int64_t capacity) {
  std::vector<std::string> out;
  if (fits_into(plan, capacity)) return out;
  const std::int64_t gpus = plan.layout.world_size();
  const std::vector<Change> changes = changes_of(plan.job);
  std::string_view told;  // a larger change of the same key would do as well
  for (const Change& c : changes) {
    const bool is_number = c.text.back() >= '0' && c.text.back() <= '9';
    if (is_number && key_of(c) == told) continue;
    JobSpec job = plan.job;
    c.apply(job);
    if (!fits(job, gpus, capacity)) continue;
    told = key_of(c);
    out.push_back(c.text);
  }
  if (const std::optional<std::int64_t> layers = layers_to_recompute(plan, capacity)) {
    out.push_back(fmt::format("recompute: full, recompute_layers: {}", *layers));
  }
  if (!out.empty()) return out;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    for (std::size_t k = i + 1; k < changes.size(); ++k) {
      if (key_of(changes[i]) == key_of(changes[k])) continue;
      JobSpec job = plan.job;
      changes[i].apply(job);
      changes[k].apply(job);
      if (fits(job, gpus, capacity)) out.push_back(changes[i].text + ", " + changes[k].text);
    }
  }
  return out;
}

}  // namespace lockstep
