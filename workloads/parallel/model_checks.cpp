// SPDX-License-Identifier: Apache-2.0
#include "workloads/parallel/model_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/wide.h"

namespace lockstep {

// The parts of a sequence: two per rank, one from each end, so that all see equally much of the causal mask.
void check_context(const JobSpec& job, const ReportFault& report) {
  if (job.cp == 1) return;
  const bool splits_heads = job.cp_exchange == CpExchange::kAllToAll;
  const std::int64_t parts = checked_mul(job.cp, splits_heads ? 1 : 2);
  if (job.seq_len % parts != 0) {
    report("cp", fmt::format("{} tokens are not divisible by {} cp {}", job.seq_len, splits_heads ? "" : "2 x", job.cp),
           splits_heads ? "ranks hold equal parts of a sequence"
                        : "a rank holds two parts, one from each end, for an equal share of the causal mask");
  }
  const std::int64_t cut = checked_mul(job.tp, job.cp);
  if (splits_heads && job.model.heads % cut != 0) {
    report("cp", fmt::format("{} attention heads are not divisible by tp {} x cp {}", job.model.heads, job.tp, job.cp),
           "cp_exchange: all_to_all splits heads over cp; ring and all_gather do not");
  }
}

void check_experts(const JobSpec& job, const ReportFault& report) {
  if (!job.model.moe) {
    const auto needs_experts = [&](bool is_default, std::string_view key, std::string_view hint) {
      if (!is_default) report(key, "the model has no experts", std::string(hint));
    };
    needs_experts(job.ep == 1, "ep", "ep: 1, or a model with experts");
    needs_experts(job.expert_tp == 1, "expert_tp", "leave it out, or a model with experts");
    needs_experts(job.expert_skew == 1, "expert_skew", "leave it out, or a model with experts");
    needs_experts(job.expert_dispatch == ExpertDispatch::kPlain, "expert_dispatch", "leave it out, or a model with experts");
    needs_experts(!job.overlap_shared_expert, "overlap_shared_expert", "leave it out, or a model with experts");
    needs_experts(!job.overlap_expert_exchange, "overlap_expert_exchange", "leave it out, or a model with experts");
    return;
  }
  const MoeSpec& moe = *job.model.moe;
  if (moe.experts % job.ep != 0) {
    report("ep", fmt::format("{} experts are not divisible by ep {}", moe.experts, job.ep),
           fmt::format("ep {} divides them", std::gcd(moe.experts, job.ep)));
  }
  if (job.expert_tp != 1 && job.expert_tp != job.tp) {
    report("expert_tp", fmt::format("experts cut by {}, the rest of a layer by tp {}", job.expert_tp, job.tp),
           fmt::format("expert_tp: 1{}", job.tp > 1 ? fmt::format(" or {}", job.tp) : ""));
  } else if (moe.ffn % job.expert_tp != 0) {
    report("expert_tp", fmt::format("{} FFN channels of an expert are not divisible by {}", moe.ffn, job.expert_tp),
           "expert_tp: 1");
  }
  if (job.tp > 1 && job.expert_tp == 1 && !job.sequence_parallel) {
    report("expert_tp", fmt::format("without sequence_parallel all {} tensor-parallel ranks hold the same tokens", job.tp),
           fmt::format("sequence_parallel: true, or expert_tp: {}", job.tp));
  }
  if (job.overlap_shared_expert && moe.shared_ffn == 0) {
    report("overlap_shared_expert", "the model has no shared expert", "leave it out");
  }
  // The busiest rank cannot receive more than all ranks together.
  if (job.expert_skew > static_cast<double>(job.ep)) {
    report(
        "expert_skew", fmt::format("the busiest of {} ranks would receive {} times the mean", job.ep, job.expert_skew),
        job.ep == 1 ? "leave it out: one rank holds all experts" : fmt::format("at most {}, all tokens on one rank", job.ep));
  }
  if (job.ep == 1) {
    const auto needs_ep = [&](bool is_default, std::string_view key) {
      if (!is_default) report(key, "with ep 1 no tokens are exchanged", "leave it out, or set ep above 1");
    };
    needs_ep(job.expert_dispatch == ExpertDispatch::kPlain, "expert_dispatch");
    needs_ep(!job.overlap_shared_expert, "overlap_shared_expert");
    needs_ep(!job.overlap_expert_exchange, "overlap_expert_exchange");
  }
  if (job.shard_group && (job.ep > 1 || job.expert_tp != job.tp)) {
    report("shard_group", "experts are copied on other ranks than the rest, which do not fall into the same groups",
           "no shard_group, or ep: 1");
  }
}

void check_expert_groups(const JobSpec& job, std::int64_t dp, const ReportFault& report) {
  if (!job.model.moe) return;
  const bool is_whole = job.expert_tp == 1;
  const std::int64_t ranks = checked_mul(checked_mul(job.cp, dp), is_whole ? job.tp : 1);
  if (ranks % job.ep == 0) return;
  const std::string what = is_whole && job.tp > 1 ? fmt::format("tp {} x cp {} x dp {}", job.tp, job.cp, dp)
                                                  : fmt::format("cp {} x dp {}", job.cp, dp);
  report("ep", fmt::format("{} = {} ranks of a stage are not divisible by ep {}", what, ranks, job.ep),
         fmt::format("ep {} divides them", std::gcd(ranks, job.ep)));
}

void check_adapters(const JobSpec& job, const ReportFault& report) {
  if (!job.lora) return;
  const LoraSpec& lora = *job.lora;
  const TransformerSpec& m = job.model;
  std::int64_t narrowest = m.hidden;
  if (lora.adapts(ModelPart::kMlp)) narrowest = std::min(narrowest, m.ffn);
  if (lora.adapts(ModelPart::kAttention)) narrowest = std::min(narrowest, m.mla ? m.mla->kv_rank : m.heads * m.head_dim);
  if (lora.rank > narrowest) {
    report("lora.rank", fmt::format("adapters of rank {} are wider than a projection of {}", lora.rank, narrowest),
           fmt::format("at most {}; 8 to 64 are usual", narrowest));
  }
  if (job.model.moe && lora.adapts(ModelPart::kMlp)) {
    report("lora.targets", "adapters of experts are not modelled", "targets: attention");
  }
  if (job.schedule != PipelineSchedule::kOneForwardOneBackward && job.schedule != PipelineSchedule::kGpipe) {
    report("schedule", "frozen weights have no gradients to move into bubbles", "schedule: 1f1b or gpipe, or no lora");
  }
}

}  // namespace lockstep
