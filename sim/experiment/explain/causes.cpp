// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/explain/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/experiment/explain/explain.h"
#include "sim/experiment/explain/upgrades.h"
#include "workloads/model/memory.h"

namespace lockstep {
namespace {

constexpr double kHolds = 0.05;
constexpr double kSlowPartsHold = 0.02;
constexpr double kUsualMemoryBound = 0.10;
constexpr std::int64_t kSmallMicroBatch = 4096;  // tokens
constexpr double kWorthIt = 0.02;                // gain of an upgrade that confirms a cause

class Suspects {
 public:
  explicit Suspects(const CauseInput& input) : in_(input), w_(input.waterfall) {}

  std::vector<Cause> find() {
    network();
    pipeline();
    kernels();
    slow_parts();
    std::stable_sort(causes_.begin(), causes_.end(), [](const Cause& a, const Cause& b) { return a.share > b.share; });
    if (causes_.empty()) compute();
    return std::move(causes_);
  }

 private:
  void add(const char* name, double share, std::string text, std::string remedy, double from = kHolds) {
    if (share < from) return;
    causes_.push_back({name, share, fmt::format("{} ({:.0f} % of the step)", text, 100 * share), std::move(remedy)});
  }

  [[nodiscard]] double nodes_of(const char* family) const {
    for (const GroupLocality& g : in_.run.locality) {
      if (g.name == family) return g.mean(g.nodes);
    }
    return 1;
  }

  [[nodiscard]] std::optional<double> gain_of(const char* upgrade) const {
    for (const UpgradeResult& u : in_.upgrades) {
      if (u.name == upgrade && u.gain) return u.gain;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_across_nodes() const { return in_.cluster.network && in_.cluster.node_count() > 1; }
  [[nodiscard]] bool is_confirmed(const char* upgrade) const { return gain_of(upgrade).value_or(kWorthIt) >= kWorthIt; }

  [[nodiscard]] bool is_held_by_host_path() const {
    return is_across_nodes() && !in_.cluster.uses_gpudirect() && is_confirmed("gpudirect");
  }
  [[nodiscard]] bool is_held_by_fabric() const {
    const std::optional<double> ratio = oversubscription_of(in_.cluster);
    if (!is_across_nodes() || !ratio || *ratio <= 1.01) return false;
    if (const auto gain = gain_of("fabric_1to1")) return *gain >= kWorthIt;
    const std::string tier = in_.run.links.empty() ? "" : in_.run.links.front().tier;
    return tier == to_text(LinkTier::kLeafSpine) || tier == to_text(LinkTier::kSpineCore);
  }

  void network() {
    const bool tp_crosses = nodes_of("tp") > 1;
    const double between = w_.share(Loss::kDp) + w_.share(Loss::kEp) + w_.share(Loss::kPp) + w_.share(Loss::kCp) +
                           (tp_crosses ? w_.share(Loss::kTp) : 0);
    if (tp_crosses) {
      add("tp_across_nodes", w_.share(Loss::kTp),
          fmt::format("tensor parallelism crosses nodes: a group of {} is on {:.0f}", in_.plan.tp(), nodes_of("tp")),
          "tp within one node, with more pp or dp instead");
    } else {
      add("tp_communication", w_.share(Loss::kTp), "tensor-parallel collectives are waited for",
          "a smaller tp, tp_overlap, or faster links between the GPUs of a node");
    }
    if (is_held_by_host_path()) {
      add("gpudirect_off", between, "NICs do not read GPU memory, so that communication goes through host memory", "GPUDirect");
    }
    if (is_held_by_fabric()) {
      add("oversubscription", between,
          fmt::format("the fabric is oversubscribed {:.2g} to 1", oversubscription_of(in_.cluster).value_or(1)),
          "more spines, or groups that communicate placed under the same leaf");
    }
    if (!is_held_by_host_path() && !is_held_by_fabric()) {
      add("dp_network", w_.share(Loss::kDp), "the network is too slow for data parallelism",
          "faster links, larger micro-batches or more accumulation, sharding within a node, or overlap");
    }
    add("cp", w_.share(Loss::kCp), "context-parallel exchanges are waited for", "a smaller cp, or cp within a node");
    add("ep", w_.share(Loss::kEp), "the exchange of tokens with experts is waited for",
        "ep within a node, deduplicated dispatch, or overlap_expert_exchange");
    add("pp", w_.share(Loss::kPp), "messages between pipeline stages are waited for", "fewer stages, or virtual_stages");
  }

  void pipeline() {
    add("imbalance", w_.share(Loss::kImbalance), "pipeline stages hold unequal work",
        "stages that count embedding and head as layers");
    if (in_.plan.pp() > 1) {
      add("bubble", w_.share(Loss::kBubble),
          fmt::format("the pipeline bubble of {} stages and {} micro-batches", in_.plan.pp(), in_.plan.micro_batches),
          "more micro-batches per step, virtual_stages, or fewer stages");
    } else {
      add("uneven_ranks", w_.share(Loss::kBubble), "ranks wait for slower ones", "evenly loaded links, as by routing: spray");
    }
  }

  void kernels() {
    const std::int64_t tokens = in_.plan.has_profile() ? kSmallMicroBatch : in_.plan.micro_batch_tokens();
    const double shapes = w_.share(Loss::kProductShape);
    const double host = w_.share(Loss::kHost);
    const bool is_small =
        tokens < kSmallMicroBatch && in_.plan.micro_batches > 1 && shapes + host >= kHolds && is_confirmed("micro_batch_x2");
    if (is_small) {
      add("small_micro_batch", shapes + host, fmt::format("a micro-batch of {} tokens is too small for the GPU", tokens),
          "a larger micro-batch");
    } else {
      add("host_bound", host, "the host starts kernels more slowly than they run", "CUDA graphs, or a larger micro-batch");
    }
    add("recompute", w_.share(Loss::kRecompute), recompute_text(), "recompute: selective or of fewer layers");
    add("hbm_bound", w_.share(Loss::kMemoryBound) + w_.share(Loss::kOptimizer) - kUsualMemoryBound,
        "memory bandwidth bounds more of the step than the usual 10 %: beyond that",
        "fused kernels, a sharded optimizer, or GPUs with faster memory");
    if (!in_.plan.has_profile() && in_.plan.job.attention == AttentionKernel::kUnfused) {
      add("unfused_attention", w_.share(Loss::kAttention), "attention writes its scores to memory", "attention: flash");
    }
    add("interference", w_.share(Loss::kInterference), "collectives take compute from the kernels they run beside",
        "less communication, or none beside compute");
  }

  [[nodiscard]] std::string recompute_text() const {
    if (in_.plan.has_profile()) return {};
    TrainingPlan kept = in_.plan;
    kept.job.recompute = Recompute::kNone;
    kept.job.recompute_layers.reset();
    const bool is_forced = !fits_into(kept, in_.cluster.server->gpu.memory.count());
    return is_forced ? "memory forces to recompute" : "activations are recomputed, though they would fit in memory";
  }

  void slow_parts() {
    add("slow_parts", w_.share(Loss::kStragglers), "all wait for slow GPUs or what is broken", "leaving them out",
        kSlowPartsHold);
  }

  void compute() {
    if (!w_.has_flops()) {
      causes_.push_back(
          {"compute", w_.share(Loss::kCompute),
           fmt::format("none of the usual causes: GPUs compute {:.0f} % of the step", 100 * w_.share(Loss::kCompute)),
           "faster GPUs, or more of them"});
      return;
    }
    const double products =
        w_.share(Loss::kIdeal) + w_.share(Loss::kProductRate) + w_.share(Loss::kProductShape) + w_.share(Loss::kAttention);
    causes_.push_back({"compute", products,
                       fmt::format("none of the usual causes: matrix products and attention take {:.0f} % of the step, MFU is "
                                   "{:.0f} %",
                                   100 * products, 100 * w_.share(Loss::kIdeal)),
                       "faster GPUs, or a lower precision"});
  }

  const CauseInput& in_;
  const Waterfall& w_;
  std::vector<Cause> causes_;
};

}  // namespace

std::vector<Cause> find_causes(const CauseInput& input) { return Suspects(input).find(); }

}  // namespace lockstep
