// SPDX-License-Identifier: Apache-2.0
// What one run of one job says, in numbers; renderings are in render.h. Optional members are absent where they have no meaning
// (tokens of a job without tokens) or no input (cost without a price). The JSON contract is in docs/output.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workloads/parallel/locality.h"
#include "workloads/program.h"

namespace lockstep {

struct LinkReport {
  std::string name;
  std::string tier;
  double utilization = 0;  // time mean of rate / capacity over the step
  std::int64_t bytes = 0;  // delivered over it
};

// Bytes of every rank of a pipeline stage.
struct StageMemoryReport {
  std::int64_t stage = 0;
  std::int64_t rank = 0;  // the first of it
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  std::int64_t activations = 0;
  std::int64_t buffers = 0;
  std::int64_t total = 0;
};

struct MemoryReport {
  // Of the fullest GPU.
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  std::int64_t activations = 0;
  std::int64_t buffers = 0;
  std::int64_t total = 0;
  std::int64_t capacity = 0;
  std::int64_t host = 0;  // of host memory, per GPU: the offloaded optimizer
  std::int64_t fullest_stage = 0;
  std::vector<std::pair<std::string, std::int64_t>> buffer_parts;  // what `buffers` is made of
  std::vector<StageMemoryReport> stages;

  // The first rank that does not fit, by number.
  struct Misfit {
    std::int64_t stage = 0;
    std::int64_t rank = 0;
    std::string gpu;  // "node3.gpu1"
  };
  std::optional<Misfit> misfit;
};

struct CostReport {
  double usd_per_gpu_hour = 0;  // as given
  double usd_per_step = 0;      // gpus x price x step / 3600
  std::optional<double> usd_per_million_tokens;
  double effective_usd_per_gpu_hour = 0;  // price x step / step on an ideal network
};

// How many classes of equals stood for how many.
struct SymmetryReport {
  bool is_used = true;
  std::int64_t rank_classes = 0;
  std::int64_t activity_classes = 0;  // communicators and point-to-point channels
  std::int64_t activities = 0;
  std::int64_t link_classes = 0;
  std::int64_t links = 0;  // that the job uses
  // Classes of ranks that the plan alone asks for (its pipeline stages); with slow GPUs; the rest is placement, fabric and routing.
  std::int64_t rank_classes_by_plan = 0;
  std::int64_t rank_classes_with_slowdowns = 0;
  double repeated_s = 0;  // of the step: equal to what came before and not simulated again
};

// A fault that took effect.
struct FaultReport {
  std::string what;  // "leaf0>spine1 failed"
  std::string when;  // "from 200 ms until 500 ms"; empty: from the start, for good
  double first_s = 0;
  std::int64_t times = 1;     // that it began during the run
  std::int64_t rerouted = 0;  // transfers under way that took another way because of it, or back
  bool operator==(const FaultReport&) const = default;
};

// What was taken from a job's table of measured kernels.
struct KernelTimingsReport {
  std::string file;
  std::int64_t rows = 0;
  std::int64_t unused_rows = 0;  // of no kernel of the plan
  std::int64_t products = 0;     // matrix products of a micro-batch with a measured time, each kernel of a part once
  std::int64_t parts = 0;        // whole operations
};

struct Measured {
  double wall_s = 0;
  std::int64_t peak_rss_bytes = 0;
};

struct RunResult {
  std::string scenario;
  std::string version;
  std::string cluster;
  std::string job;
  std::string plan;              // "tp 8 x pp 4 x dp 32"
  std::vector<std::string> set;  // --set of the command line, in order
  std::string network;           // analytic | flow | packet
  std::uint64_t seed = 0;
  std::int64_t gpus = 0;
  std::int64_t stages = 1;      // of the pipeline
  std::int64_t slow_gpus = 0;   // stragglers
  bool has_stragglers = false;  // the cluster asks for some, whether or not any was drawn

  double step_time_s = 0;
  double ideal_step_time_s = 0;  // infinite bandwidth, zero latency
  std::optional<double> tokens_per_s;
  std::optional<double> samples_per_s;
  std::optional<double> tflops_per_gpu;  // model FLOPs
  std::optional<double> mfu;
  std::optional<double> hfu;
  double peak_tflops = 0;  // what mfu and hfu are shares of; with flop_convention unused where these are absent
  std::string flop_convention;
  std::optional<MemoryReport> memory;  // of the fullest GPU
  std::string memory_advice;           // empty when it fits
  std::array<double, kTimeClassCount> breakdown_s = {};
  std::vector<LinkReport> links;  // busiest first
  std::vector<GroupLocality> locality;
  std::string bottleneck;
  std::optional<CostReport> cost;

  std::optional<KernelTimingsReport> kernel_timings;
  std::vector<FaultReport> faults;
  std::optional<double> healthy_step_time_s;  // the same run with nothing broken; absent where nothing is

  SymmetryReport symmetry;
  std::int64_t events = 0;
  std::uint64_t fingerprint = 0;
  Measured measured;

  [[nodiscard]] bool fits() const { return !memory || memory->total <= memory->capacity; }
  // Communication that is waited for: tp + pp + dp + cp + ep.
  [[nodiscard]] double exposed_communication_s() const;
};

// One sentence: what holds the run back and what would help. Reads step time, breakdown, stages, slow GPUs and links.
[[nodiscard]] std::string bottleneck_sentence(const RunResult& r);

// How many classes stood for how many ranks, and what made them more than the plan's.
[[nodiscard]] std::string symmetry_sentence(const SymmetryReport& s, std::int64_t gpus);

}  // namespace lockstep
