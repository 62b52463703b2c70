// SPDX-License-Identifier: Apache-2.0
// A job that fits its GPUs on paper: sizes resolved, layers dealt to stages, batch cut into micro-batches. Everything after
// this point (kernels, memory, programs) reads the plan and asks no more questions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "workloads/parallel/job.h"
#include "workloads/parallel/layout.h"
#include "workloads/parallel/schedule_kind.h"

namespace lockstep {

struct TrainingPlan {
  JobSpec job;
  ParallelLayout layout{ParallelLayout::Sizes{}};
  std::int64_t micro_batches = 1;  // per data-parallel rank and step
  std::int64_t global_batch = 1;   // sequences per step
  std::vector<std::int64_t> stage_layers;
  std::vector<std::int64_t>
      chunk_sizes;  // layers of each chunk, in model order, where those of a stage differ; empty: equal ones

  [[nodiscard]] std::int64_t tp() const { return layout.sizes().tp; }
  [[nodiscard]] std::int64_t pp() const { return layout.sizes().pp; }
  [[nodiscard]] std::int64_t cp() const { return layout.sizes().cp; }
  [[nodiscard]] std::int64_t ep() const { return layout.sizes().ep; }
  [[nodiscard]] std::int64_t expert_tp() const { return layout.expert_tp(); }
  // Ranks that hold the same experts.
  [[nodiscard]] std::int64_t expert_replicas() const { return layout.expert_replicas(); }
  // As optimizer_shards(), of experts.
  [[nodiscard]] std::int64_t expert_optimizer_shards() const {
    if (!layout.has_expert_groups()) return optimizer_shards();
    return job.strategy != Strategy::kDdp || job.distributed_optimizer ? expert_replicas() : 1;
  }
  [[nodiscard]] WeightCuts weight_cuts() const { return {.tp = tp(), .ep = ep(), .expert_tp = expert_tp()}; }
  // Ranks that hold the same weights: dp x cp.
  [[nodiscard]] std::int64_t replicas() const { return layout.replicas(); }
  // Parts the optimizer's state is cut into; ZeRO-2 cuts gradients into as many, FSDP weights too.
  [[nodiscard]] std::int64_t optimizer_shards() const {
    if (job.strategy == Strategy::kFsdp) return layout.shard_group();
    return job.distributed_optimizer || job.strategy == Strategy::kZero2 ? replicas() : 1;
  }
  // Sharded in groups that hold copies of each other.
  [[nodiscard]] bool is_hybrid() const { return layout.shard_groups() > 1; }
  // Model chunks of a stage.
  [[nodiscard]] std::int64_t chunks() const { return chunks_of(job.schedule, job.virtual_stages); }
  // Copies of the model in one pipeline.
  [[nodiscard]] std::int64_t weight_copies() const { return is_bidirectional(job.schedule) ? 2 : 1; }
  [[nodiscard]] std::int64_t chunk_layers(std::int64_t stage, std::int64_t chunk) const {
    if (!chunk_sizes.empty()) return chunk_sizes[static_cast<std::size_t>(chunk * pp() + stage)];
    const bool is_mirrored = is_bidirectional(job.schedule) && chunk == 1;
    const std::int64_t layers = stage_layers[static_cast<std::size_t>(is_mirrored ? pp() - 1 - stage : stage)];
    return layers * weight_copies() / chunks();
  }
  // Of the model's layers. Chunks take turns: the first chunk of every stage, then the second, and so on; an upward one begins at the last
  // stage, of a V after all of the first.
  [[nodiscard]] std::int64_t first_layer(std::int64_t stage, std::int64_t chunk) const;
  [[nodiscard]] bool is_first(std::int64_t stage) const { return stage == 0; }
  [[nodiscard]] bool is_last(std::int64_t stage) const { return stage == pp() - 1; }
  // Which stages begin and end the model: of a V both are the first, of two copies both are both.
  [[nodiscard]] bool holds_embedding(std::int64_t stage) const {
    return is_first(stage) || (is_bidirectional(job.schedule) && is_last(stage));
  }
  [[nodiscard]] bool holds_head(std::int64_t stage) const {
    return has_upward_chunk(job.schedule) ? holds_embedding(stage) : is_last(stage);
  }
  // Backward is two passes: gradients of activations, and later those of weights (Direction::kWeightGradient).
  [[nodiscard]] bool splits_passes() const { return lockstep::splits_passes(job.schedule); }
  // Tokens of one micro-batch on one rank.
  [[nodiscard]] std::int64_t micro_batch_tokens() const { return job.micro_batch * job.seq_len / layout.sizes().cp; }
  // Of them, those that a rank norms, and sends to experts.
  [[nodiscard]] std::int64_t own_tokens() const {
    const std::int64_t tokens = micro_batch_tokens();
    return job.sequence_parallel ? (tokens + tp() - 1) / tp() : tokens;
  }
  // The weights of the model are frozen and low-rank adapters trained beside them.
  [[nodiscard]] bool trains_adapters() const { return job.lora.has_value(); }
  // Backward splits off the gradient of the weights that a part's input meets, to compute beside collectives. Frozen weights have none.
  [[nodiscard]] bool splits_backward() const {
    return job.tp_overlap != TpOverlap::kNone && tp() > 1 && !splits_passes() && !trains_adapters();
  }
  // Collectives of a part run in chunks beside its first and its last matrix product.
  [[nodiscard]] bool pipelines_tp() const {
    return job.tp_overlap == TpOverlap::kPipelined && job.sequence_parallel && tp() > 1;
  }
  // Of the ranks over the GPUs of the placement. With pipeline stages inside the nodes, replicas keep to equal GPU numbers.
  [[nodiscard]] RankOrder rank_order() const;
  // Pipeline messages are cut by tp and gathered on arrival; sequence parallelism cuts them anyway.
  [[nodiscard]] bool scatters_messages() const { return job.scatter_gather && !job.sequence_parallel; }
  // The last stage computes logits with a copy of the word embedding of the first; where one stage holds both they are one.
  [[nodiscard]] bool has_embedding_copy() const {
    return job.model.has_tied_embeddings && pp() > 1 && !has_upward_chunk(job.schedule);
  }
  // ... and adds up its gradient with that of the first.
  [[nodiscard]] bool ties_gradients() const { return has_embedding_copy() && !trains_adapters(); }
  // Known by measurement: no geometry, hence no FLOPs, tokens or memory, and data parallelism only.
  [[nodiscard]] bool has_profile() const { return job.profile.has_value(); }
};

// Layers per stage. Equal where it divides; otherwise embedding and head count as a layer each (126 layers on 16 stages: 7,
// 14 times 8, 7), and where that leaves no even deal either, the middle stages take what is left over.
// PRE: 1 <= stages <= layers.
[[nodiscard]] std::vector<std::int64_t> default_stage_layers(std::int64_t layers, std::int64_t stages);
// The same of all chunks of an interleaved pipeline, in model order; a chunk with the embedding or the head may be left without layers.
[[nodiscard]] std::vector<std::int64_t> default_chunk_layers(std::int64_t layers, std::int64_t stages, std::int64_t chunks);

// Told of every fault: the key of the job it belongs to, what is wrong, what to do.
using ReportFault = std::function<void(std::string_view key, std::string message, std::string hint)>;

// What a job must know of its cluster.
struct ClusterSize {
  std::int64_t gpus = 0;
  std::int64_t gpus_per_node = 0;

  ClusterSize(std::int64_t all) : ClusterSize(all, all) {}  // NOLINT(google-explicit-constructor): one node
  ClusterSize(std::int64_t all, std::int64_t per_node) : gpus(all), gpus_per_node(per_node) {}
  [[nodiscard]] std::int64_t nodes() const { return gpus / gpus_per_node; }
};

// Checks the job against its cluster. Reports every fault found and returns nothing if there was one.
[[nodiscard]] std::optional<TrainingPlan> resolve_plan(const JobSpec& job, const ClusterSize& cluster,
                                                       const ReportFault& report);
// The same with faults as diagnostics; position_of("tp") is where that key was written.
using PositionOf = std::function<Position(std::string_view key)>;
[[nodiscard]] std::optional<TrainingPlan> resolve_plan(const JobSpec& job, const ClusterSize& cluster,
                                                       const PositionOf& position_of, Diagnostics& diagnostics);

}  // namespace lockstep
