// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/tune/plan_space.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {
namespace {

constexpr std::int64_t kMostMicroBatch = 16;
constexpr std::int64_t kMostChunks = 8;
constexpr std::int64_t kLongSequence = 16'384;  // tokens, from which on splitting sequences is looked at
constexpr std::int64_t kLeastTokens = 4'096;    // of a sequence on one rank
constexpr std::int64_t kPartialRecompute[] = {25, 50, 75};

std::vector<std::int64_t> divisors(std::int64_t n, std::int64_t most) {
  std::vector<std::int64_t> out;
  for (std::int64_t d = 1; d <= std::min(n, most); ++d) {
    if (n % d == 0) out.push_back(d);
  }
  return out;
}

}  // namespace

const char* to_text(DataParallelKind kind) {
  switch (kind) {
    case DataParallelKind::kDdp:
      return "ddp";
    case DataParallelKind::kDistributedOptimizer:
      return "distributed_optimizer";
    case DataParallelKind::kZero2:
      return "zero2";
    case DataParallelKind::kFsdp:
      return "fsdp";
    case DataParallelKind::kHybrid:
      return "hybrid";
  }
  return "";
}

std::string to_text(RecomputeChoice choice) {
  if (choice.kind == Recompute::kNone) return "none";
  if (choice.kind == Recompute::kSelective) return "selective";
  return choice.percent == 100 ? "full" : fmt::format("{}%", choice.percent);
}

PlanSpace::PlanSpace(JobSpec job, std::int64_t global_batch, const ClusterSize& cluster)
    : job_(std::move(job)), global_batch_(global_batch), cluster_(cluster), gpus_(job_.gpus.value_or(cluster.gpus)) {}

PlanSpace::Counts PlanSpace::tp_values() const {
  if (!tp_.empty()) return tp_;
  Counts out;
  for (const std::int64_t tp : divisors(gpus_, 2 * cluster_.gpus_per_node)) {
    if (job_.model.heads % tp == 0) out.push_back(tp);
  }
  return out;
}

PlanSpace::Counts PlanSpace::pp_values(const PlanChoice& c) const {
  if (!pp_.empty()) return pp_;
  return gpus_ % c.tp == 0 ? divisors(gpus_ / c.tp, job_.model.layers) : Counts{1};
}

std::int64_t PlanSpace::replicas(const PlanChoice& c) const { return gpus_ % (c.tp * c.pp) == 0 ? gpus_ / (c.tp * c.pp) : 0; }

std::int64_t PlanSpace::replicas_of_a_node(const PlanChoice& c) const {
  return std::max<std::int64_t>(1, cluster_.gpus_per_node / c.tp);
}

PlanSpace::Counts PlanSpace::cp_values(const PlanChoice& c) const {
  if (!cp_.empty()) return cp_;
  Counts out = {1};
  if (job_.seq_len < kLongSequence) return out;
  for (std::int64_t cp = 2; cp <= replicas(c) && job_.seq_len / cp >= kLeastTokens; cp *= 2) {
    if (replicas(c) % cp == 0) out.push_back(cp);
  }
  return out;
}

PlanSpace::Counts PlanSpace::expert_tp_values(const PlanChoice& c) const {
  if (!expert_tp_.empty()) return expert_tp_;
  return job_.model.moe && c.tp > 1 ? Counts{1, c.tp} : Counts{1};
}

PlanSpace::Counts PlanSpace::ep_values(const PlanChoice& c) const {
  if (!ep_.empty()) return ep_;
  if (!job_.model.moe) return {1};
  const std::int64_t ranks = replicas(c) * (c.expert_tp == 1 ? c.tp : 1);
  Counts out;
  for (const std::int64_t ep : divisors(job_.model.moe->experts, ranks)) {
    if (ranks % ep == 0) out.push_back(ep);
  }
  return out.empty() ? Counts{1} : out;
}

std::int64_t PlanSpace::layers_of_a_stage(const PlanChoice& c) const { return (job_.model.layers + c.pp - 1) / c.pp; }

PlanSpace::Counts PlanSpace::virtual_values(const PlanChoice& c) const {
  if (!virtual_stages_.empty()) return virtual_stages_;
  if (c.pp == 1) return {1};
  if (job_.schedule != PipelineSchedule::kOneForwardOneBackward) return {job_.virtual_stages};
  if (job_.model.layers % c.pp != 0) return {1};
  return divisors(job_.model.layers / c.pp, kMostChunks);
}

std::vector<DataParallelKind> PlanSpace::kinds(const PlanChoice& c) const {
  if (!kinds_.empty()) return kinds_;
  if (replicas(c) <= 1) return {DataParallelKind::kDdp};
  std::vector<DataParallelKind> out = {DataParallelKind::kDdp, DataParallelKind::kDistributedOptimizer,
                                       DataParallelKind::kZero2, DataParallelKind::kFsdp};
  const std::int64_t group = replicas_of_a_node(c);
  if (group > 1 && group < replicas(c) && replicas(c) % group == 0) out.push_back(DataParallelKind::kHybrid);
  return out;
}

PlanSpace::Counts PlanSpace::micro_batch_values(const PlanChoice& c) const {
  if (!micro_batch_.empty()) return micro_batch_;
  Counts out = {1};
  const std::int64_t dp = replicas(c) / c.cp;
  if (dp == 0 || global_batch_ % dp != 0) return out;
  for (std::int64_t b = 2; b <= kMostMicroBatch && global_batch_ / dp % b == 0; b *= 2) out.push_back(b);
  return out;
}

std::vector<RecomputeChoice> PlanSpace::recomputes(const PlanChoice& c) const {
  if (!recomputes_.empty()) return recomputes_;
  std::vector<RecomputeChoice> out = {{Recompute::kNone}};
  if (job_.attention == AttentionKernel::kUnfused) out.push_back({Recompute::kSelective});
  // Fewer layers than parts: the parts are not what they are called.
  for (const std::int64_t percent : kPartialRecompute) {
    if (layers_of_a_stage(c) >= std::ssize(kPartialRecompute) + 1) out.push_back({Recompute::kFull, percent});
  }
  out.push_back({Recompute::kFull});
  return out;
}

std::vector<bool> PlanSpace::sequence_parallels(const PlanChoice& c) const {
  return sequence_parallels_.empty() ? std::vector<bool>{c.tp > 1} : sequence_parallels_;
}

void PlanSpace::each(const std::function<void(const PlanChoice&)>& take) const {
  for (const std::int64_t tp : tp_values()) {
    PlanChoice c;
    c.tp = tp;
    for (const std::int64_t pp : pp_values(c)) {
      c.pp = pp;
      each_cut(c, take);
    }
  }
}

void PlanSpace::each_cut(PlanChoice c, const std::function<void(const PlanChoice&)>& take) const {
  for (const std::int64_t cp : cp_values(c)) {
    c.cp = cp;
    for (const std::int64_t expert_tp : expert_tp_values(c)) {
      c.expert_tp = expert_tp;
      for (const std::int64_t ep : ep_values(c)) {
        c.ep = ep;
        each_schedule(c, take);
      }
    }
  }
}

void PlanSpace::each_schedule(PlanChoice c, const std::function<void(const PlanChoice&)>& take) const {
  for (const std::int64_t v : virtual_values(c)) {
    c.virtual_stages = v;
    for (const DataParallelKind kind : kinds(c)) {
      c.data_parallel = kind;
      for (const std::int64_t b : micro_batch_values(c)) {
        c.micro_batch = b;
        each_other(c, take);
      }
    }
  }
}

void PlanSpace::each_other(PlanChoice c, const std::function<void(const PlanChoice&)>& take) const {
  std::size_t combinations = 1;
  for (const OtherKey& o : others_) combinations *= o.texts.size();
  for (const RecomputeChoice& recompute : recomputes(c)) {
    c.recompute = recompute;
    for (const bool is_on : sequence_parallels(c)) {
      c.sequence_parallel = is_on;
      for (std::size_t i = 0; i < combinations; ++i) {
        c.others.clear();
        std::size_t rest = i;
        for (const OtherKey& o : others_) {
          c.others.push_back(static_cast<std::uint32_t>(rest % o.texts.size()));
          rest /= o.texts.size();
        }
        take(c);
      }
    }
  }
}

JobSpec PlanSpace::job(const PlanChoice& c) const {
  JobSpec j = job_;
  j.global_batch = global_batch_;
  j.gradient_accumulation.reset();
  j.dp = AutoCount();
  j.tp = c.tp;
  j.pp = c.pp;
  j.cp = c.cp;
  j.ep = c.ep;
  j.expert_tp = c.expert_tp;
  j.virtual_stages = c.virtual_stages;
  if (std::ssize(j.stages) != c.pp || c.virtual_stages != job_.virtual_stages) j.stages.clear();
  j.micro_batch = c.micro_batch;
  j.sequence_parallel = c.sequence_parallel;
  const bool is_sharded = c.data_parallel == DataParallelKind::kFsdp || c.data_parallel == DataParallelKind::kHybrid;
  j.strategy = is_sharded ? Strategy::kFsdp : c.data_parallel == DataParallelKind::kZero2 ? Strategy::kZero2 : Strategy::kDdp;
  j.distributed_optimizer = c.data_parallel == DataParallelKind::kDistributedOptimizer;
  j.shard_group.reset();
  if (c.data_parallel == DataParallelKind::kHybrid) j.shard_group = replicas_of_a_node(c);
  j.recompute = c.recompute.kind;
  j.recompute_layers.reset();
  if (c.recompute.kind == Recompute::kFull && c.recompute.percent < 100) {
    j.recompute_layers = (layers_of_a_stage(c) * c.recompute.percent + 99) / 100;
  }
  apply_others(c, j);
  return j;
}

std::vector<std::string> PlanSpace::columns() const {
  std::vector<std::string> out = {
      "tp", "pp", "cp", "ep", "expert_tp", "virtual_stages", "data_parallel", "micro_batch", "recompute", "sequence_parallel"};
  for (const OtherKey& o : others_) out.push_back(o.key);
  return out;
}

std::vector<std::string> PlanSpace::fields(const PlanChoice& c) const {
  std::vector<std::string> out;
  for (const std::int64_t n : {c.tp, c.pp, c.cp, c.ep, c.expert_tp, c.virtual_stages}) out.push_back(std::to_string(n));
  out.insert(out.end(), {to_text(c.data_parallel), std::to_string(c.micro_batch), to_text(c.recompute),
                         c.sequence_parallel ? "true" : "false"});
  for (std::size_t i = 0; i < others_.size(); ++i) out.push_back(others_[i].texts[c.others[i]]);
  return out;
}

std::string PlanSpace::text(const PlanChoice& c) const {
  std::string out = fmt::format("tp {} pp {}", c.tp, c.pp);
  if (c.virtual_stages > 1) out += fmt::format(" v{}", c.virtual_stages);
  if (c.cp > 1) out += fmt::format(" cp {}", c.cp);
  if (c.ep > 1) out += fmt::format(" ep {}", c.ep);
  if (c.ep > 1 && c.expert_tp > 1) out += fmt::format(" expert tp {}", c.expert_tp);
  if (replicas(c) > 0) out += fmt::format(" dp {}", replicas(c) / c.cp);
  if (replicas(c) > 1) out += fmt::format(" {}", to_text(c.data_parallel));
  out += fmt::format(" mb {}", c.micro_batch);
  if (c.recompute.kind != Recompute::kNone) out += fmt::format(" recompute {}", to_text(c.recompute));
  if (!sequence_parallels_.empty() && c.sequence_parallel) out += " sequence parallel";
  for (std::size_t i = 0; i < others_.size(); ++i) out += fmt::format(" {}={}", others_[i].key, others_[i].texts[c.others[i]]);
  return out;
}

}  // namespace lockstep
