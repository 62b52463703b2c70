// SPDX-License-Identifier: Apache-2.0
#include "sim/report/comparison/metric.h"

#include <fnmatch.h>

#include <iterator>
#include <string>

namespace lockstep {
namespace {

struct Known {
  const char* pattern;
  Aspect aspect;
  Direction better;
  bool is_headline = false;
};

constexpr Direction kLower = Direction::kLowerIsBetter;
constexpr Direction kHigher = Direction::kHigherIsBetter;
constexpr Direction kNeither = Direction::kNone;

// In the order of importance; the first match counts. Patterns match the whole key.
constexpr Known kKnown[] = {
    {"measured.*", Aspect::kSimulator, kLower},
    {"symmetry.*", Aspect::kSimulator, kNeither},
    {"events", Aspect::kSimulator, kNeither},
    {"packet_hops", Aspect::kSimulator, kNeither},

    {"schema_version", Aspect::kQuestion, kNeither},
    {"version", Aspect::kQuestion, kNeither},
    {"scenario", Aspect::kQuestion, kNeither},
    {"suite", Aspect::kQuestion, kNeither},
    {"rule", Aspect::kQuestion, kNeither},
    {"collective", Aspect::kQuestion, kNeither},
    {"cluster", Aspect::kQuestion, kNeither},
    {"server", Aspect::kQuestion, kNeither},
    {"wiring", Aspect::kQuestion, kNeither},
    {"fabric", Aspect::kQuestion, kNeither},
    {"routing", Aspect::kQuestion, kNeither},
    {"job", Aspect::kQuestion, kNeither},
    {"jobs.job", Aspect::kQuestion, kNeither},
    {"plan", Aspect::kQuestion, kNeither},
    {"jobs.plan", Aspect::kQuestion, kNeither},
    {"set", Aspect::kQuestion, kNeither},
    {"network", Aspect::kQuestion, kNeither},
    {"seed", Aspect::kQuestion, kNeither},
    {"seeds", Aspect::kQuestion, kNeither},
    {"asked.*", Aspect::kQuestion, kNeither},
    {"gpus", Aspect::kQuestion, kNeither},
    {"jobs.gpus", Aspect::kQuestion, kNeither},
    {"jobs.start_s", Aspect::kQuestion, kNeither},
    {"flows", Aspect::kQuestion, kNeither},
    {"flop_convention", Aspect::kQuestion, kNeither},
    {"jobs.flop_convention", Aspect::kQuestion, kNeither},
    {"cost.usd_per_gpu_hour", Aspect::kQuestion, kNeither},
    {"jobs.cost.usd_per_gpu_hour", Aspect::kQuestion, kNeither},
    {"measured", Aspect::kQuestion, kNeither},  // of a validation: the published number

    {"step_time_s", Aspect::kAnswer, kLower, true},
    {"jobs.step_time_s", Aspect::kAnswer, kLower, true},
    {"time_s", Aspect::kAnswer, kLower, true},
    {"makespan_s", Aspect::kAnswer, kLower, true},
    {"end_s", Aspect::kAnswer, kLower},
    {"fct_s", Aspect::kAnswer, kLower, true},
    {"predicted", Aspect::kAnswer, kNeither, true},
    {"*tokens_per_s*", Aspect::kAnswer, kHigher},
    {"*samples_per_s", Aspect::kAnswer, kHigher},
    {"*tflops_per_gpu", Aspect::kAnswer, kHigher},
    {"*mfu", Aspect::kAnswer, kHigher},
    {"*hfu", Aspect::kAnswer, kHigher},
    {"busbw_gb_per_s", Aspect::kAnswer, kHigher},
    {"algbw_gb_per_s", Aspect::kAnswer, kHigher},
    {"*abs_error", Aspect::kAnswer, kLower},
    {"*abs_error_*", Aspect::kAnswer, kLower},
    {"worst_busbw_gb_per_s", Aspect::kAnswer, kHigher},
    {"worst_*_s", Aspect::kAnswer, kLower},
    {"*_fct_s", Aspect::kAnswer, kLower},
    {"collision_factor", Aspect::kAnswer, kLower},
    {"loss_against_spray", Aspect::kAnswer, kLower},
    {"*exposed_communication_s", Aspect::kAnswer, kLower},
    {"*breakdown_s.*", Aspect::kAnswer, kLower},
    {"*slowdown", Aspect::kAnswer, kLower},
    {"*effective_gpus", Aspect::kAnswer, kHigher},
    {"*usd_per_*", Aspect::kAnswer, kLower},
    {"*price_*", Aspect::kAnswer, kLower},
    {"*alone_step_time_s", Aspect::kAnswer, kLower},
    {"*ideal_step_time_s", Aspect::kAnswer, kLower},
    {"*fits", Aspect::kAnswer, kHigher},
    {"*memory_bytes_per_gpu.capacity", Aspect::kAnswer, kHigher},
    {"*memory_bytes_per_gpu.*", Aspect::kAnswer, kLower},
    {"*memory.host_bytes_per_gpu", Aspect::kAnswer, kLower},
    {"*memory.buffers.*", Aspect::kAnswer, kLower},
    {"*memory.stages.*", Aspect::kAnswer, kLower},
    {"bisection*_bps", Aspect::kAnswer, kHigher},
    {"disjoint_paths", Aspect::kAnswer, kHigher},
    {"equal_cost_paths", Aspect::kAnswer, kHigher},
    {"diameter_hops", Aspect::kAnswer, kLower},
    {"switches.oversubscription.real", Aspect::kAnswer, kLower},
    {"connected", Aspect::kAnswer, kHigher},
    {"*holds", Aspect::kAnswer, kHigher},
    {"*within_factor_2", Aspect::kAnswer, kHigher},
    {"*slow_gpus", Aspect::kAnswer, kLower},
};

bool glob(const char* pattern, const std::string& text) { return ::fnmatch(pattern, text.c_str(), FNM_NOESCAPE) == 0; }

}  // namespace

MetricFacts metric_facts(std::string_view metric) {
  const std::string name(metric);
  for (const Known& k : kKnown) {
    if (glob(k.pattern, name)) return {k.aspect, k.better, k.is_headline, static_cast<int>(&k - kKnown)};
  }
  return {.rank = static_cast<int>(std::size(kKnown))};
}

bool matches_metric(std::string_view pattern, std::string_view metric) {
  const std::string glob_text(pattern);
  for (std::size_t at = 0; at != std::string_view::npos;) {
    if (glob(glob_text.c_str(), std::string(metric.substr(at)))) return true;
    at = metric.find('.', at);
    if (at != std::string_view::npos) ++at;
  }
  return false;
}

}  // namespace lockstep
