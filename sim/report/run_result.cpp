// SPDX-License-Identifier: Apache-2.0
#include "sim/report/run_result.h"

#include <fmt/core.h>

#include <algorithm>

namespace lockstep {
namespace {

struct Cause {
  TimeClass time_class;
  const char* what;
  const char* remedy;
};

constexpr Cause kCauses[] = {
    {TimeClass::kTp, "tensor-parallel communication", "a smaller tp, tp_overlap, or faster links between its GPUs"},
    {TimeClass::kPp, "pipeline transfers between stages", "fewer stages, or stages closer together"},
    {TimeClass::kDp, "data-parallel communication",
     "more network bandwidth per GPU, a larger micro-batch or more accumulation"},
    {TimeClass::kCp, "context-parallel communication", "a smaller cp"},
    {TimeClass::kEp, "expert all-to-all", "experts closer together"},
    {TimeClass::kBubble, "the pipeline bubble", "more micro-batches per step or fewer stages"},
    {TimeClass::kHost, "a host that starts kernels more slowly than they run",
     "a larger micro-batch, or execution: cuda_graphs"},
};

// Without a pipeline a rank with nothing in flight is done and waits for the slower ones.
constexpr Cause kUnevenLoad = {TimeClass::kBubble, "the slowest ranks", "evenly loaded links, as routing: spray makes them,"};
constexpr Cause kSlowPipeline = {TimeClass::kBubble, "the pipeline bubble and the slow GPUs",
                                 "leaving the slow GPUs out, or more micro-batches per step,"};
constexpr Cause kSlowGpus = {TimeClass::kBubble, "the slow GPUs", "leaving them out"};
// PCIe or host memory, not the line rate, sets the pace of the NIC behind it.
constexpr const char* kPcieRemedy =
    "more NICs per node, GPUDirect where it is missing, a larger micro-batch or more accumulation";

}  // namespace

double RunResult::exposed_communication_s() const {
  double sum = 0;
  for (const TimeClass c : {TimeClass::kTp, TimeClass::kPp, TimeClass::kDp, TimeClass::kCp, TimeClass::kEp}) {
    sum += breakdown_s[static_cast<std::size_t>(c)];
  }
  return sum;
}

std::string bottleneck_sentence(const RunResult& r) {
  const Cause* worst = &kCauses[0];
  for (const Cause& c : kCauses) {
    if (r.breakdown_s[static_cast<std::size_t>(c.time_class)] > r.breakdown_s[static_cast<std::size_t>(worst->time_class)]) {
      worst = &c;
    }
  }
  // A collective waits for its last member. On links that are mostly idle it is the member, not the link, that is slow.
  constexpr double kIdleLink = 0.3;
  const bool links_are_idle = r.links.empty() || r.links.front().utilization < kIdleLink;
  if (r.slow_gpus > 0 && r.stages == 1 && worst->time_class != TimeClass::kBubble && worst->time_class != TimeClass::kHost &&
      links_are_idle) {
    worst = &kSlowGpus;
  }
  const bool is_communication = worst->time_class != TimeClass::kBubble && worst->time_class != TimeClass::kHost;
  if (worst->time_class == TimeClass::kBubble) {
    if (r.stages == 1) worst = r.slow_gpus > 0 ? &kSlowGpus : &kUnevenLoad;
    if (r.stages > 1 && r.slow_gpus > 0) worst = &kSlowPipeline;
  }
  const double waited = worst == &kSlowGpus
                            ? r.exposed_communication_s() + r.breakdown_s[static_cast<std::size_t>(TimeClass::kBubble)]
                            : r.breakdown_s[static_cast<std::size_t>(worst->time_class)];
  const double share = r.step_time_s > 0 ? waited / r.step_time_s : 0;
  const double compute = r.step_time_s > 0 ? r.breakdown_s[static_cast<std::size_t>(TimeClass::kCompute)] / r.step_time_s : 0;
  // Below a twentieth of the step no single cause is worth a change of the cluster.
  if (share < 0.05) {
    return fmt::format("compute: GPUs compute {:.0f} % of the step; no other part takes more than {:.0f} %", 100 * compute,
                       100 * share);
  }
  std::string text =
      fmt::format("{}: GPUs wait for {} {:.0f} % of the step", worst->what,
                  worst == &kUnevenLoad || worst == &kSlowGpus || worst == &kSlowPipeline ? "them" : "it", 100 * share);
  if (is_communication && !r.links.empty()) {
    const LinkReport& link = r.links.front();
    text += fmt::format(", the busiest link is {} ({}, {:.0f} % used)", link.name, link.tier, 100 * link.utilization);
  }
  const bool waits_for_pcie = worst->time_class == TimeClass::kDp && !r.links.empty() && r.links.front().tier == "pcie";
  return text + "; " + (waits_for_pcie ? kPcieRemedy : worst->remedy) + " would help";
}

std::string symmetry_sentence(const SymmetryReport& s, std::int64_t gpus) {
  if (!s.is_used) return fmt::format("not used, each of {} ranks was simulated", gpus);
  if (gpus == 1) return "there is one rank";
  const std::string stages = s.rank_classes_by_plan == 1 ? "1 is" : fmt::format("{} are", s.rank_classes_by_plan);
  std::string text;
  if (s.rank_classes == gpus) {
    text = fmt::format("no two of {} ranks are equal; {} the plan's stages", gpus, stages);
  } else if (s.rank_classes == 1) {
    text = fmt::format("one rank stands for {} equals", gpus);
  } else {
    text = fmt::format("{} classes of equals stand for {} ranks; {} the plan's stages", s.rank_classes, gpus, stages);
  }
  const std::int64_t by_slow_gpus = s.rank_classes_with_slowdowns - s.rank_classes_by_plan;
  const std::int64_t by_network = s.rank_classes - s.rank_classes_with_slowdowns;
  if (by_slow_gpus > 0) text += fmt::format(", {} more from slow GPUs", by_slow_gpus);
  if (by_network > 0) text += fmt::format(", {} more from placement and the paths through the fabric", by_network);
  if (s.repeated_s > 0) text += fmt::format("; {:.3f} s of the step repeat what came before", s.repeated_s);
  return text;
}

}  // namespace lockstep
