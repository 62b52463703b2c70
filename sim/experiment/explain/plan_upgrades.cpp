// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/experiment/explain/upgrades.h"

namespace lockstep {
namespace {

AppliedUpgrade not_applied(std::string reason) { return {.changed = std::nullopt, .reason = std::move(reason)}; }

// A job while it is changed, and what --set would say.
class Edit {
 public:
  explicit Edit(const UpgradeCase& base) : case_(base) {}
  [[nodiscard]] JobSpec& job() { return case_.job; }
  Edit& set(const char* key, const std::string& value) {
    set_.push_back(fmt::format("job.{}={}", key, value));
    return *this;
  }
  Edit& set(const char* key, std::int64_t value) { return set(key, std::to_string(value)); }
  // The sequences of a step stay what they are.
  Edit& keep_batch(const TrainingPlan& plan) {
    if (!job().gradient_accumulation) return *this;
    job().gradient_accumulation.reset();
    job().global_batch = plan.global_batch;
    return set("gradient_accumulation", "null").set("global_batch", plan.global_batch);
  }
  // Layers by stage are for another number of stages.
  Edit& forget_stages() {
    if (job().stages.empty()) return *this;
    job().stages.clear();
    return set("stages", "[]");
  }
  Edit& sequence_parallel(bool is_on) {
    if (job().sequence_parallel == is_on) return *this;
    job().sequence_parallel = is_on;
    return set("sequence_parallel", is_on ? "true" : "false");
  }
  [[nodiscard]] AppliedUpgrade done() { return {.changed = std::move(case_), .reason = {}, .set = std::move(set_)}; }

 private:
  UpgradeCase case_;
  std::vector<std::string> set_;
};

constexpr const char* kProfile = "a profile is a whole model on one GPU";

AppliedUpgrade micro_batch(const UpgradeCase& base, const TrainingPlan& plan, std::int64_t sequences) {
  Edit e(base);
  e.job().micro_batch = sequences;
  return e.set("micro_batch", sequences).keep_batch(plan).done();
}

AppliedUpgrade micro_batch_x2(const UpgradeCase& base, const TrainingPlan& plan) {
  if (plan.micro_batches == 1) return not_applied("a step is one micro-batch already");
  return micro_batch(base, plan, 2 * base.job.micro_batch);
}

AppliedUpgrade micro_batch_half(const UpgradeCase& base, const TrainingPlan& plan) {
  if (base.job.micro_batch == 1) return not_applied("it is one sequence");
  if (base.job.micro_batch % 2 != 0) return not_applied("it is odd");
  return micro_batch(base, plan, base.job.micro_batch / 2);
}

AppliedUpgrade recompute(const UpgradeCase& base, Recompute to) {
  Edit e(base);
  e.job().recompute = to;
  e.set("recompute", to == Recompute::kNone ? "none" : "selective");
  if (e.job().recompute_layers) e.set("recompute_layers", "null");
  e.job().recompute_layers.reset();
  return e.done();
}

AppliedUpgrade recompute_none(const UpgradeCase& base, const TrainingPlan& plan) {
  if (plan.has_profile()) return not_applied(kProfile);
  if (base.job.recompute == Recompute::kNone) return not_applied("nothing is recomputed");
  return recompute(base, Recompute::kNone);
}

AppliedUpgrade recompute_selective(const UpgradeCase& base, const TrainingPlan& plan) {
  if (plan.has_profile()) return not_applied(kProfile);
  if (base.job.recompute != Recompute::kFull) return not_applied("layers are not recomputed");
  return recompute(base, Recompute::kSelective);
}

AppliedUpgrade recompute_less(const UpgradeCase& base, const TrainingPlan& plan) {
  if (plan.has_profile()) return not_applied(kProfile);
  if (base.job.recompute != Recompute::kFull) return not_applied("layers are not recomputed");
  std::int64_t most = 0;
  for (const std::int64_t layers : plan.stage_layers) most = std::max(most, layers);
  const std::int64_t half = base.job.recompute_layers.value_or(most) / 2;
  if (half == 0) return not_applied("one layer is");
  Edit e(base);
  e.job().recompute_layers = half;
  return e.set("recompute_layers", half).done();
}

AppliedUpgrade virtual_stages(const UpgradeCase& base, const TrainingPlan& plan) {
  if (plan.pp() == 1) return not_applied("there is no pipeline");
  if (base.job.schedule != PipelineSchedule::kOneForwardOneBackward) return not_applied("the schedule is another");
  Edit e(base);
  e.job().virtual_stages *= 2;
  return e.set("virtual_stages", e.job().virtual_stages).forget_stages().done();
}

AppliedUpgrade zero_bubble(const UpgradeCase& base, const TrainingPlan& plan) {
  if (plan.pp() == 1) return not_applied("there is no pipeline");
  if (base.job.schedule != PipelineSchedule::kOneForwardOneBackward) return not_applied("the schedule is another");
  if (base.job.virtual_stages > 1) return not_applied("the schedule is interleaved");
  Edit e(base);
  e.job().schedule = PipelineSchedule::kZeroBubbleH1;
  return e.set("schedule", "zb_h1").done();
}

AppliedUpgrade sequence_parallel(const UpgradeCase& base, const TrainingPlan& plan) {
  if (plan.tp() == 1) return not_applied("tp is 1");
  if (base.job.sequence_parallel) return not_applied("it is on");
  return Edit(base).sequence_parallel(true).done();
}

void halve_tp(Edit& e) {
  JobSpec& job = e.job();
  const bool cuts_experts = job.expert_tp == job.tp && job.expert_tp > 1;
  job.tp /= 2;
  e.set("tp", job.tp);
  if (job.tp == 1) e.sequence_parallel(false);
  if (!cuts_experts) return;
  job.expert_tp = job.tp;
  e.set("expert_tp", job.tp);
}

AppliedUpgrade tp_to_pp(const UpgradeCase& base, const TrainingPlan& plan) {
  if (plan.tp() % 2 != 0) return not_applied(plan.tp() == 1 ? "tp is 1" : "tp is odd");
  Edit e(base);
  halve_tp(e);
  e.job().pp *= 2;
  return e.set("pp", e.job().pp).forget_stages().done();
}

// Twice the replicas, each with half the micro-batches.
void double_dp(Edit& e, const TrainingPlan& plan) {
  if (!e.job().dp.is_auto()) {
    e.job().dp = 2 * e.job().dp.count();
    e.set("dp", e.job().dp.count());
  }
  e.keep_batch(plan);
}

AppliedUpgrade tp_to_dp(const UpgradeCase& base, const TrainingPlan& plan) {
  if (plan.tp() % 2 != 0) return not_applied(plan.tp() == 1 ? "tp is 1" : "tp is odd");
  Edit e(base);
  halve_tp(e);
  double_dp(e, plan);
  return e.done();
}

AppliedUpgrade pp_to_dp(const UpgradeCase& base, const TrainingPlan& plan) {
  if (plan.pp() % 2 != 0) return not_applied(plan.pp() == 1 ? "there is no pipeline" : "pp is odd");
  Edit e(base);
  e.job().pp /= 2;
  e.set("pp", e.job().pp).forget_stages();
  if (e.job().pp == 1 && e.job().virtual_stages > 1) {
    e.job().virtual_stages = 1;
    e.set("virtual_stages", std::int64_t{1});
  }
  double_dp(e, plan);
  return e.done();
}

AppliedUpgrade distributed_optimizer(const UpgradeCase& base, const TrainingPlan& plan) {
  if (plan.has_profile()) return not_applied(kProfile);
  if (base.job.strategy != Strategy::kDdp || base.job.distributed_optimizer) return not_applied("the optimizer is sharded");
  if (plan.replicas() == 1) return not_applied("there is one replica");
  Edit e(base);
  e.job().distributed_optimizer = true;
  return e.set("distributed_optimizer", "true").done();
}

AppliedUpgrade overlap_grad_reduce(const UpgradeCase& base, const TrainingPlan& plan) {
  if (base.job.overlap_grad_reduce || base.job.strategy == Strategy::kFsdp) return not_applied("it is on");
  if (plan.replicas() == 1) return not_applied("there is one replica");
  Edit e(base);
  e.job().overlap_grad_reduce = true;
  return e.set("overlap_grad_reduce", "true").done();
}

AppliedUpgrade overlap_param_gather(const UpgradeCase& base, const TrainingPlan& plan) {
  if (base.job.strategy != Strategy::kDdp || !base.job.distributed_optimizer) return not_applied("no weights are gathered");
  if (plan.replicas() == 1) return not_applied("there is one replica");
  if (base.job.overlap_param_gather) return not_applied("it is on");
  Edit e(base);
  e.job().overlap_param_gather = true;
  return e.set("overlap_param_gather", "true").done();
}

AppliedUpgrade overlap_tp(const UpgradeCase& base, const TrainingPlan& plan) {
  if (plan.tp() == 1) return not_applied("tp is 1");
  if (base.job.tp_overlap == TpOverlap::kPipelined) return not_applied("it is on");
  Edit e(base);
  e.job().tp_overlap = base.job.sequence_parallel ? TpOverlap::kPipelined : TpOverlap::kBackward;
  if (e.job().tp_overlap == base.job.tp_overlap) return not_applied("more of it needs sequence_parallel");
  return e.set("tp_overlap", base.job.sequence_parallel ? "pipelined" : "backward").done();
}

AppliedUpgrade prefetch(const UpgradeCase& base, const TrainingPlan& plan) {
  if (base.job.strategy != Strategy::kFsdp) return not_applied("no units are gathered");
  if (plan.optimizer_shards() == 1) return not_applied("there is one replica");
  Edit e(base);
  ++e.job().prefetch;
  return e.set("prefetch", e.job().prefetch).done();
}

AppliedUpgrade hybrid_shard(const UpgradeCase& base, const TrainingPlan& plan) {
  if (base.job.strategy != Strategy::kFsdp) return not_applied("weights are not sharded");
  const std::int64_t in_node = base.cluster.server->gpus / plan.tp();
  if (in_node < 2 || plan.layout.shard_group() <= in_node) return not_applied("they are sharded within a node");
  Edit e(base);
  e.job().shard_group = in_node;
  return e.set("shard_group", in_node).done();
}

AppliedUpgrade deduplicate(const UpgradeCase& base, const TrainingPlan& plan) {
  if (plan.ep() == 1) return not_applied("no tokens are exchanged");
  if (base.job.expert_dispatch == ExpertDispatch::kDeduplicated) return not_applied("it is on");
  Edit e(base);
  e.job().expert_dispatch = ExpertDispatch::kDeduplicated;
  return e.set("expert_dispatch", "deduplicated").done();
}

AppliedUpgrade overlap_experts(const UpgradeCase& base, const TrainingPlan& plan) {
  if (plan.ep() == 1) return not_applied("no tokens are exchanged");
  if (base.job.overlap_expert_exchange) return not_applied("it is on");
  Edit e(base);
  e.job().overlap_expert_exchange = true;
  return e.set("overlap_expert_exchange", "true").done();
}

AppliedUpgrade algorithm_auto(const UpgradeCase& base, const TrainingPlan&) {
  if (base.job.algorithm == Algorithm::kAuto) return not_applied("it is auto");
  Edit e(base);
  e.job().algorithm = Algorithm::kAuto;
  return e.set("algorithm", "auto").done();
}

AppliedUpgrade cuda_graphs(const UpgradeCase& base, const TrainingPlan& plan) {
  if (plan.has_profile()) return not_applied(kProfile);
  if (base.job.execution == Execution::kCudaGraphs) return not_applied("they are used");
  Edit e(base);
  e.job().execution = Execution::kCudaGraphs;
  return e.set("execution", "cuda_graphs").done();
}

AppliedUpgrade flash_attention(const UpgradeCase& base, const TrainingPlan& plan) {
  if (plan.has_profile()) return not_applied(kProfile);
  if (base.job.attention != AttentionKernel::kUnfused) return not_applied("attention is fused");
  Edit e(base);
  e.job().attention = AttentionKernel::kFlash;
  return e.set("attention", "flash").done();
}

constexpr Upgrade kPlan[] = {
    {"micro_batch_x2", "micro-batches of twice the size", micro_batch_x2},
    {"micro_batch_half", "micro-batches of half the size", micro_batch_half},
    {"recompute_none", "no recomputation", recompute_none},
    {"recompute_selective", "recomputation of attention cores alone", recompute_selective},
    {"recompute_half", "recomputation of half as many layers", recompute_less},
    {"virtual_stages_x2", "twice the chunks per pipeline stage", virtual_stages},
    {"zero_bubble", "weight gradients as passes of their own (zb_h1)", zero_bubble},
    {"tp_half_pp_x2", "half the tp, twice the pp", tp_to_pp},
    {"tp_half_dp_x2", "half the tp, twice the dp", tp_to_dp},
    {"pp_half_dp_x2", "half the pp, twice the dp", pp_to_dp},
    {"sequence_parallel", "sequence parallelism", sequence_parallel},
    {"tp_overlap", "overlap of tensor-parallel collectives", overlap_tp},
    {"distributed_optimizer", "a distributed optimizer", distributed_optimizer},
    {"overlap_grad_reduce", "gradients reduced beside backward", overlap_grad_reduce},
    {"overlap_param_gather", "weights gathered beside forward", overlap_param_gather},
    {"prefetch", "one more FSDP unit gathered ahead", prefetch},
    {"hybrid_shard", "FSDP shards within a node", hybrid_shard},
    {"expert_dispatch", "tokens sent once per node", deduplicate},
    {"overlap_expert_exchange", "token exchange beside another micro-batch", overlap_experts},
    {"algorithm_auto", "of each collective the fastest algorithm", algorithm_auto},
    {"cuda_graphs", "CUDA graphs", cuda_graphs},
    {"flash_attention", "fused attention", flash_attention},
};

}  // namespace

std::span<const Upgrade> plan_upgrades() { return kPlan; }

}  // namespace lockstep
