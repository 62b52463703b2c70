// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/explain/waterfall.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/check.h"
#include "sim/experiment/explain/kernel_parts.h"
#include "sim/experiment/explain/kernel_runs.h"
#include "workloads/kernels/performance.h"
#include "workloads/model/flops.h"
#include "workloads/schedule/job_program.h"

namespace lockstep {
namespace {

struct LossName {
  const char* key;
  const char* words;
};
constexpr std::array<LossName, kLossCount> kNames = {{
    {"ideal", "model FLOPs at the peak"},
    {"compute", "compute, as measured"},
    {"product_rate", "matrix products below peak"},
    {"product_shape", "shapes of matrix products"},
    {"attention", "attention"},
    {"memory_bound", "memory-bound kernels"},
    {"logits_loss", "logits and loss"},
    {"optimizer", "optimizer"},
    {"recompute", "recompute"},
    {"host", "host, starting kernels"},
    {"imbalance", "unequal stages"},
    {"bubble", "pipeline bubble, waiting"},
    {"interference", "compute beside collectives"},
    {"tp", "exposed tp communication"},
    {"cp", "exposed cp communication"},
    {"ep", "exposed ep communication"},
    {"pp", "exposed pp communication"},
    {"dp", "exposed dp communication"},
    {"stragglers", "slow GPUs and faults"},
    {"other", "other"},
}};

// Of a mean rank, seconds.
struct KernelTimes {
  double gpu = 0;
  double all = 0;   // with what the host adds
  double most = 0;  // of the role with most
  double product_limit = 0;
  double product = 0;
  double core = 0;
  double memory = 0;
  double head = 0;
  double optimizer = 0;
};

KernelTimes kernel_times(const TrainingPlan& plan, const GpuPerformance& gpu) {
  const std::unique_ptr<Program> program = make_program(plan, gpu);
  const KernelTable& table = program->kernels();
  const std::vector<KernelParts> parts = plan.has_profile() ? std::vector<KernelParts>() : kernel_parts(plan, gpu);
  KernelTimes sum;
  for (const RoleRuns& role : kernel_runs(*program)) {
    const double share = static_cast<double>(role.ranks) / static_cast<double>(program->world_size());
    sum.gpu += share * role.gpu_seconds(table);
    sum.all += share * role.seconds(table);
    sum.most = std::max(sum.most, role.seconds(table));
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const KernelParts& p = parts[k];
      const double times = share * static_cast<double>(role.runs[k]);
      const double time = (table.kernels[k].time - table.kernels[k].host).seconds();
      if (p.owner == KernelOwner::kHead) sum.head += times * time;
      if (p.owner == KernelOwner::kOptimizer) sum.optimizer += times * time;
      if (p.owner != KernelOwner::kLayers) continue;
      sum.product_limit += times * p.product_limit;
      sum.product += times * p.product;
      sum.core += times * p.core;
      sum.memory += times * (time - p.product - p.core);
    }
  }
  return sum;
}

using Seconds = std::array<double, kLossCount>;
double& at(Seconds& s, Loss loss) { return s[static_cast<std::size_t>(loss)]; }

// Everything that is compute of a plan with FLOPs, recompute not counted.
void add_kernels(const ClusterSpec& cluster, const TrainingPlan& plan, const KernelTimes& k, Seconds& out) {
  const ForwardFlops forward = forward_flops(plan.job.model, plan.global_batch, plan.job.seq_len);
  const double rate = linear_peak(cluster.server->gpu, plan.job) * static_cast<double>(plan.layout.world_size());
  const double model = step_flops(plan).model;
  // Backward is twice forward; of products with frozen weights it is once forward.
  const double cores = 3 * (forward.attention_core + forward.mtp_core);
  const double logits = (plan.trains_adapters() ? 2 : 3) * forward.logits;
  at(out, Loss::kIdeal) = model / rate;
  at(out, Loss::kProductRate) = k.product_limit - (model - cores - logits) / rate;
  at(out, Loss::kProductShape) = k.product - k.product_limit;
  at(out, Loss::kAttention) = k.core - cores / rate;
  at(out, Loss::kMemoryBound) = k.memory;
  at(out, Loss::kLogitsLoss) = k.head - logits / rate;
  at(out, Loss::kOptimizer) = k.optimizer;
}

// What is left once everything is computed.
void add_waits(const RunResult& even, const KernelTimes& k, Seconds& out) {
  const auto of = [&even](TimeClass c) { return even.breakdown_s[static_cast<std::size_t>(c)]; };
  at(out, Loss::kInterference) = of(TimeClass::kCompute) - k.gpu;
  at(out, Loss::kHost) = of(TimeClass::kHost);
  at(out, Loss::kImbalance) = std::min(k.most - k.all, of(TimeClass::kBubble));
  at(out, Loss::kBubble) = of(TimeClass::kBubble) - at(out, Loss::kImbalance);
  at(out, Loss::kTp) = of(TimeClass::kTp);
  at(out, Loss::kCp) = of(TimeClass::kCp);
  at(out, Loss::kEp) = of(TimeClass::kEp);
  at(out, Loss::kPp) = of(TimeClass::kPp);
  at(out, Loss::kDp) = of(TimeClass::kDp);
}

// To whole picoseconds; `other` takes what is missing.
Waterfall rounded(const Seconds& seconds, Duration step, bool has_flops) {
  Waterfall out{.step = step, .terms = {}};
  Duration left = step;
  for (int i = 0; i < kLossCount; ++i) {
    const auto loss = static_cast<Loss>(i);
    const bool is_of_flops = loss == Loss::kIdeal || (loss >= Loss::kProductRate && loss <= Loss::kRecompute);
    if (loss == Loss::kOther || (has_flops ? loss == Loss::kCompute : is_of_flops)) continue;
    const double s = seconds[static_cast<std::size_t>(i)];
    const Duration time = s < 0 ? Duration() - Duration::from_seconds(-s) : Duration::from_seconds(s);
    out.terms.push_back({loss, time});
    left = left - time;
  }
  out.terms.push_back({Loss::kOther, left});
  return out;
}

}  // namespace

const char* to_text(Loss loss) { return kNames[static_cast<std::size_t>(loss)].key; }
const char* words(Loss loss) { return kNames[static_cast<std::size_t>(loss)].words; }

Duration Waterfall::time(Loss loss) const {
  const auto found = std::find_if(terms.begin(), terms.end(), [loss](const WaterfallTerm& t) { return t.loss == loss; });
  return found == terms.end() ? Duration() : found->time;
}

double Waterfall::share(Loss loss) const { return step > Duration() ? time(loss).seconds() / step.seconds() : 0; }

std::optional<double> Waterfall::mfu_after(std::size_t i) const {
  if (!has_flops()) return std::nullopt;
  Duration sum;
  for (std::size_t t = 0; t <= i; ++t) sum += terms[t].time;
  return terms.front().time.seconds() / sum.seconds();
}

Waterfall waterfall_of(const ClusterSpec& cluster, const TrainingPlan& plan, const RunResult& even, Duration step) {
  LOCKSTEP_CHECK(cluster.server.has_value(), "a job needs servers with GPUs");
  const GpuPerformance gpu = performance_of(*cluster.server, cluster.software, plan.job);
  const KernelTimes all = kernel_times(plan, gpu);
  Seconds seconds = {};
  add_waits(even, all, seconds);
  if (plan.has_profile()) {
    at(seconds, Loss::kCompute) = all.gpu;
  } else {
    TrainingPlan kept = plan;
    kept.job.recompute = Recompute::kNone;
    kept.job.recompute_layers.reset();
    const KernelTimes once = kernel_times(kept, gpu);
    add_kernels(cluster, plan, once, seconds);
    at(seconds, Loss::kRecompute) = all.gpu - once.gpu;
  }
  at(seconds, Loss::kStragglers) = step.seconds() - even.step_time_s;
  return rounded(seconds, step, !plan.has_profile());
}

std::optional<ClusterSpec> without_slow_parts(const ClusterSpec& cluster) {
  if (!cluster.stragglers && !cluster.gpu_variation && cluster.faults.empty()) return std::nullopt;
  ClusterSpec even = cluster;
  even.stragglers.reset();
  even.gpu_variation.reset();
  even.faults.clear();
  return even;
}

}  // namespace lockstep
