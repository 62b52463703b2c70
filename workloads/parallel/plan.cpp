// SPDX-License-Identifier: Apache-2.0
#include "workloads/parallel/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/wide.h"
#include "workloads/model/flops.h"
#include "workloads/parallel/model_checks.h"
#include "workloads/parallel/placement_checks.h"
#include "workloads/parallel/schedule_checks.h"

namespace lockstep {
namespace {

// The largest power of two (up to `limit`) that divides n: what to try instead.
std::int64_t largest_power_of_two(std::int64_t n, std::int64_t limit) {
  std::int64_t p = 1;
  while (p * 2 <= limit && n % (p * 2) == 0) p *= 2;
  return p;
}

class Resolver {
 public:
  Resolver(const JobSpec& job, const ClusterSize& cluster, const ReportFault& report)
      : job_(job), cluster_(cluster), report_(report) {
    plan_.job = job;
  }

  std::optional<TrainingPlan> resolve() {
    if (job_.profile) {
      check_profile();
    } else {
      check_shards();
      check_stages();
      check_options();
      check_context(job_, on_fault_);
      check_experts(job_, on_fault_);
      check_adapters(job_, on_fault_);
    }
    gpus_ = check_gpus(job_, cluster_, on_fault_);
    const std::optional<std::int64_t> dp = data_parallel_size();
    if (dp) check_batch(*dp);
    if (dp && !has_failed_) {
      check_schedule(plan_, on_fault_);
    }
    if (dp && !job_.profile) check_overlapped_exchange();
    if (dp) check_shard_group(*dp);
    if (dp && !job_.profile) check_expert_groups(job_, *dp, on_fault_);
    check_placement(job_, cluster_, gpus_, on_fault_);
    if (!has_failed_ && !job_.profile) check_magnitude();
    if (has_failed_) return std::nullopt;
    plan_.layout = ParallelLayout({.tp = static_cast<std::uint32_t>(job_.tp),
                                   .cp = static_cast<std::uint32_t>(job_.cp),
                                   .dp = static_cast<std::uint32_t>(*dp),
                                   .pp = static_cast<std::uint32_t>(job_.pp),
                                   .ep = static_cast<std::uint32_t>(job_.ep),
                                   .expert_tp = static_cast<std::uint32_t>(job_.model.moe ? job_.expert_tp : 0),
                                   .shard_group = static_cast<std::uint32_t>(job_.shard_group.value_or(0))});
    return plan_;
  }

 private:
  void fail(std::string_view key, std::string message, std::string hint) {
    has_failed_ = true;
    if (report_) report_(key, std::move(message), std::move(hint));
  }

  void check_divides(std::string_view what, std::int64_t count) {
    if (count % job_.tp == 0) return;
    fail("tp", fmt::format("{} {} are not divisible by tp {}", count, what, job_.tp),
         fmt::format("tp {} divides them", largest_power_of_two(count, job_.tp)));
  }

  void check_shards() {
    const TransformerSpec& m = job_.model;
    check_divides("attention heads", m.heads);
    check_divides("FFN channels", m.ffn);
    // Fewer KV heads than ranks are copied; more must divide.
    if (m.kv_heads > job_.tp) {
      check_divides("KV heads", m.kv_heads);
    } else if (job_.tp % m.kv_heads != 0) {
      fail("tp", fmt::format("tp {} is no multiple of {} KV heads", job_.tp, m.kv_heads),
           "KV heads are copied whole: tp must be a multiple or a divisor of their number");
    }
    if (m.heads % m.kv_heads != 0) {
      fail("model", fmt::format("{} attention heads do not share {} KV heads evenly", m.heads, m.kv_heads),
           "heads must be a multiple of kv_heads");
    }
    const std::int64_t cut = checked_mul(job_.tp, job_.cp);
    if (job_.sequence_parallel && job_.seq_len % cut != 0) {
      const std::string by = job_.cp > 1 ? fmt::format("tp {} x cp {}", job_.tp, job_.cp) : fmt::format("tp {}", job_.tp);
      fail("seq_len", fmt::format("{} tokens are not divisible by {}", job_.seq_len, by),
           "sequence parallelism cuts the sequence into tp parts");
    }
  }

  void check_stages() {
    const std::int64_t layers = job_.model.layers;
    if (layers < job_.pp) {
      fail("pp", fmt::format("{} layers are fewer than {} pipeline stages", layers, job_.pp),
           fmt::format("at most pp {}", layers));
      return;
    }
    if (job_.stages.empty()) {
      plan_.stage_layers = default_stage_layers(layers, job_.pp);
    } else {
      plan_.stage_layers = job_.stages;
      if (std::ssize(job_.stages) != job_.pp) {
        fail("stages", fmt::format("{} entries for pp {}", job_.stages.size(), job_.pp), "one number of layers per stage");
        return;
      }
      const std::int64_t sum = std::accumulate(job_.stages.begin(), job_.stages.end(), std::int64_t{0});
      if (sum != layers) {
        fail("stages", fmt::format("the stages hold {} layers, the model has {}", sum, layers), "they must add up");
      }
    }
    check_virtual_stages();
  }

  void check_virtual_stages() {
    const std::int64_t v = job_.virtual_stages;
    if (v == 1) return;
    if (job_.pp == 1) {
      fail("virtual_stages", fmt::format("{} chunks per stage need a pipeline", v), "set pp above 1, or virtual_stages to 1");
    }
    const std::int64_t chunks = checked_mul(job_.pp, v);
    if (job_.stages.empty() && job_.model.layers % chunks != 0) return deal_chunks(chunks);
    for (const std::int64_t n : plan_.stage_layers) {
      if (n % v == 0) continue;
      fail("virtual_stages", fmt::format("a stage of {} layers does not split into {} chunks", n, v),
           "every stage must hold a multiple of virtual_stages layers");
      break;
    }
  }

  void deal_chunks(std::int64_t chunks) {
    if (job_.model.layers + 2 < chunks) {
      fail("virtual_stages", fmt::format("{} layers, embedding and head are fewer than {} chunks", job_.model.layers, chunks),
           fmt::format("at most virtual_stages {}", (job_.model.layers + 2) / job_.pp));
      return;
    }
    plan_.chunk_sizes = default_chunk_layers(job_.model.layers, job_.pp, job_.virtual_stages);
    plan_.stage_layers.assign(static_cast<std::size_t>(job_.pp), 0);
    for (std::size_t i = 0; i < plan_.chunk_sizes.size(); ++i) {
      plan_.stage_layers[i % plan_.stage_layers.size()] += plan_.chunk_sizes[i];
    }
  }

  void check_overlapped_exchange() {
    if (!job_.overlap_expert_exchange || job_.pp == 1) {
      if (job_.overlap_expert_exchange && plan_.micro_batches == 1) {
        fail("overlap_expert_exchange", "there is no other micro-batch to compute", "gradient_accumulation above 1");
      }
      return;
    }
    // In plain 1F1B the last stage runs backward of the micro-batch whose forward has just ended.
    if (job_.virtual_stages == 1 &&
        (job_.schedule == PipelineSchedule::kOneForwardOneBackward || job_.schedule == PipelineSchedule::kGpipe)) {
      fail("overlap_expert_exchange", "forward and backward passes of this schedule leave no other micro-batch to compute",
           "virtual_stages above 1, or schedule: dualpipe");
    }
  }

  void check_options() {
    if (job_.sequence_parallel && job_.tp == 1) {
      fail("sequence_parallel", "sequence parallelism needs tp above 1", "set tp, or sequence_parallel: false");
    }
    if (job_.distributed_optimizer && job_.strategy != Strategy::kDdp) {
      fail("distributed_optimizer",
           fmt::format("{} shards the optimizer already", job_.strategy == Strategy::kFsdp ? "fsdp" : "zero2"),
           "strategy: ddp, or distributed_optimizer: false");
    }
    if (job_.recompute_layers && job_.recompute != Recompute::kFull) {
      fail("recompute_layers", "only full recompute has a number of layers", "recompute: full, or no recompute_layers");
    }
    if (job_.model.has_learned_positions() && job_.seq_len > job_.model.max_positions) {
      fail("seq_len", fmt::format("{} tokens, but the model has {} learned positions", job_.seq_len, job_.model.max_positions),
           fmt::format("at most {}", job_.model.max_positions));
    }
  }

  // "the cluster has 128": of which the sizes must be a part.
  [[nodiscard]] std::string available() const {
    return gpus_ == cluster_.gpus ? fmt::format("the cluster has {}", gpus_) : fmt::format("the job takes {}", gpus_);
  }

  // A profile says what one GPU does with a whole model.
  void check_profile() {
    const auto only = [&](bool is_good, std::string_view key, std::string_view what, std::string_view hint) {
      if (!is_good) fail(key, fmt::format("a profile is a whole model on one GPU: {}", what), std::string(hint));
    };
    only(job_.tp == 1, "tp", "it cannot be cut", "tp: 1, or a model");
    only(job_.pp == 1, "pp", "it cannot be cut", "pp: 1, or a model");
    only(job_.cp == 1, "cp", "it cannot be cut", "cp: 1, or a model");
    only(job_.ep == 1, "ep", "it has no experts", "ep: 1, or a model");
    only(job_.stages.empty(), "stages", "it has no pipeline stages", "leave it out, or give a model");
    only(job_.virtual_stages == 1, "virtual_stages", "it has no pipeline stages", "virtual_stages: 1, or a model");
    only(!job_.sequence_parallel, "sequence_parallel", "it cannot be cut", "sequence_parallel: false, or a model");
    only(job_.strategy == Strategy::kDdp, "strategy", "it cannot be sharded", "strategy: ddp, or a model");
    only(!job_.distributed_optimizer, "distributed_optimizer", "its optimizer is part of fixed_time",
         "distributed_optimizer: false, or a model");
    only(job_.tp_overlap == TpOverlap::kNone, "tp_overlap", "it has no tensor-parallel collectives",
         "leave it out, or give a model");
    only(!job_.scatter_gather, "scatter_gather", "it has no pipeline messages", "leave it out, or give a model");
    only(!job_.lora, "lora", "its gradients are given", "leave it out, or give a model");
    only(job_.recompute == Recompute::kNone, "recompute", "its time is as measured", "recompute: none, or a model");
    plan_.stage_layers = {job_.profile->parts()};
  }

  void check_shard_group(std::int64_t dp) {
    if (!job_.shard_group) return;
    if (job_.strategy != Strategy::kFsdp) {
      fail("shard_group", "ddp does not shard weights", "strategy: fsdp, or no shard_group");
      return;
    }
    dp = checked_mul(dp, job_.cp);  // weights are copied over both
    if (dp % *job_.shard_group != 0) {
      fail("shard_group", fmt::format("{} data-parallel ranks are no multiple of shard_group {}", dp, *job_.shard_group),
           dp == 1 ? "without replicas there is nothing to shard: no shard_group"
                   : fmt::format("shard_group {} divides them",
                                 std::gcd(dp, *job_.shard_group) > 1 ? std::gcd(dp, *job_.shard_group) : dp));
    }
  }

  // Nothing when it cannot be told.
  std::optional<std::int64_t> data_parallel_size() {
    const std::int64_t model_gpus = checked_mul(checked_mul(job_.tp, job_.cp), job_.pp);
    const std::string model_sizes = job_.cp > 1 ? fmt::format("tp {} x cp {} x pp {}", job_.tp, job_.cp, job_.pp)
                                                : fmt::format("tp {} x pp {}", job_.tp, job_.pp);
    const char* larger = gpus_ == cluster_.gpus ? ": the job is larger than the cluster" : "";
    if (!job_.dp.is_auto()) {
      const std::int64_t product = checked_mul(model_gpus, job_.dp.count());
      if (product == gpus_) return job_.dp.count();
      const std::string sizes = fmt::format("{} x dp {} = {} GPUs", model_sizes, job_.dp.count(), product);
      const bool divides = gpus_ % model_gpus == 0 && gpus_ > 0;
      const std::string other_dp = divides ? fmt::format("dp {} or dp: auto", gpus_ / model_gpus) : std::string();
      if (product > gpus_) {
        fail("dp", fmt::format("{}, but {}{}", sizes, available(), larger),
             divides ? other_dp : "a larger cluster, or smaller sizes");
      } else {
        fail("dp", fmt::format("{}, but {}: the job must fill {}", sizes, available(), job_.gpus ? "them" : "the cluster"),
             fmt::format("{}gpus: {}", divides ? other_dp + ", or " : "", product));
      }
      return std::nullopt;
    }
    if (model_gpus > gpus_) {
      fail("dp", fmt::format("{} = {} GPUs, but {}{}", model_sizes, model_gpus, available(), larger),
           job_.cp > 1 ? "a larger cluster, or smaller tp, cp and pp" : "a larger cluster, or smaller tp and pp");
      return std::nullopt;
    }
    if (gpus_ % model_gpus != 0) {
      fail("dp", fmt::format("{} GPUs are not divisible by {} = {}", gpus_, model_sizes, model_gpus),
           fmt::format("dp: auto fills them, so tp x {}pp must divide their number; or gpus: {}", job_.cp > 1 ? "cp x " : "",
                       gpus_ / model_gpus * model_gpus));
      return std::nullopt;
    }
    return gpus_ / model_gpus;
  }

  void check_batch(std::int64_t dp) {
    const std::int64_t per_pass = checked_mul(job_.micro_batch, dp);
    if (job_.global_batch) {
      plan_.global_batch = *job_.global_batch;
      if (plan_.global_batch % per_pass != 0) {
        const std::int64_t rounded = std::max<std::int64_t>(1, plan_.global_batch / per_pass) * per_pass;
        fail("global_batch",
             fmt::format("{} sequences are not divisible by micro_batch {} x dp {} = {}", plan_.global_batch, job_.micro_batch,
                         dp, per_pass),
             fmt::format("{} is", rounded));
        return;
      }
      plan_.micro_batches = plan_.global_batch / per_pass;
      if (plan_.micro_batches > kMostMicroBatches) {
        fail("global_batch", fmt::format("{} micro-batches per rank are more than {}", plan_.micro_batches, kMostMicroBatches),
             "a smaller global_batch, or a larger micro_batch");
        return;
      }
      if (job_.gradient_accumulation && *job_.gradient_accumulation != plan_.micro_batches) {
        fail("gradient_accumulation",
             fmt::format("global_batch {} makes {} micro-batches per rank, not {}", plan_.global_batch, plan_.micro_batches,
                         *job_.gradient_accumulation),
             "give one of the two");
      }
    } else {
      plan_.micro_batches = job_.gradient_accumulation.value_or(1);
      plan_.global_batch = checked_mul(plan_.micro_batches, per_pass);
    }
    if (job_.virtual_stages > 1 && plan_.micro_batches % job_.pp != 0) {
      fail(
          "virtual_stages",
          fmt::format("the interleaved schedule needs a multiple of pp {} micro-batches, not {}", job_.pp, plan_.micro_batches),
          "change global_batch, or virtual_stages: 1");
    }
  }

  // Byte counts are 64-bit integers and times have a range; far beyond any machine they would overflow.
  void check_magnitude() {
    const TransformerSpec& m = job_.model;
    const double parameters = forward_flops(m, 1, 1).total() / 2;
    if (parameters > 1e15) fail("model", fmt::format("about {:.1e} parameters", parameters), "at most 1e15");
    const double flops = 3 * forward_flops(m, job_.micro_batch, job_.seq_len).total();
    if (flops > 1e20) {
      fail("micro_batch", fmt::format("a micro-batch takes {:.1e} FLOPs", flops),
           "at most 1e20: a smaller micro_batch or seq_len");
    }
    const double tokens = static_cast<double>(job_.micro_batch) * static_cast<double>(job_.seq_len);
    const double width = 16.0 * static_cast<double>(m.hidden + m.ffn + m.heads * m.head_dim) +
                         5.0 * static_cast<double>(job_.seq_len) * static_cast<double>(m.heads);
    const double in_flight = static_cast<double>(std::min(plan_.micro_batches, 2 * job_.pp) * m.layers);
    const double bytes = tokens * (width * in_flight + 8.0 * static_cast<double>(m.vocab));
    if (bytes > 1e18) {
      fail("micro_batch",
           fmt::format("{} sequences of {} tokens need {:.1e} bytes of activations", job_.micro_batch, job_.seq_len, bytes),
           "at most 1e18: a smaller micro_batch or seq_len");
    }
    if (static_cast<double>(plan_.global_batch) * static_cast<double>(job_.seq_len) > 1e15) {
      fail("global_batch", fmt::format("{} sequences of {} tokens in a step", plan_.global_batch, job_.seq_len),
           "at most 1e15 tokens");
    }
  }

  const JobSpec& job_;
  ClusterSize cluster_;
  std::int64_t gpus_ = 0;  // of the job
  const ReportFault& report_;
  const ReportFault on_fault_ = [this](std::string_view key, std::string message, std::string hint) {
    fail(key, std::move(message), std::move(hint));
  };
  TrainingPlan plan_;
  bool has_failed_ = false;
};

}  // namespace

std::optional<TrainingPlan> resolve_plan(const JobSpec& job, const ClusterSize& cluster, const ReportFault& report) {
  return Resolver(job, cluster, report).resolve();
}

std::optional<TrainingPlan> resolve_plan(const JobSpec& job, const ClusterSize& cluster, const PositionOf& position_of,
                                         Diagnostics& diagnostics) {
  return resolve_plan(job, cluster, [&](std::string_view key, std::string message, std::string hint) {
    diagnostics.error(position_of(key), std::string(key), std::move(message), std::move(hint));
  });
}

RankOrder TrainingPlan::rank_order() const {
  if (job.rank_order) return *job.rank_order;
  if (job.placement.policy != PlacementPolicy::kRailAligned) return {};
  return {{ParallelAxis::kTp, ParallelAxis::kCp, ParallelAxis::kPp, ParallelAxis::kDp}};
}

}  // namespace lockstep
