// SPDX-License-Identifier: Apache-2.0
// A training job as the user states it (values with units, not yet checked against a cluster). resolve_plan()
// (workloads/parallel/plan.h) turns it into numbers that can run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "workloads/collectives/algorithm.h"
#include "workloads/model/profile.h"
#include "workloads/model/transformer.h"
#include "workloads/parallel/auto_count.h"
#include "workloads/parallel/placement_spec.h"

namespace lockstep {

template <class T>
class FieldTable;

// How the data-parallel replicas keep weights in step: DDP all-reduces gradients (or with a distributed optimizer scatters them
// and gathers weights), FSDP shards everything (ZeRO-3), over all replicas or in groups that are copies of each other.
enum class Strategy : std::uint8_t { kDdp, kFsdp };
// What backward computes again: nothing, the attention core, or the whole layer.
enum class Recompute : std::uint8_t { kNone, kSelective, kFull };
// Fused attention keeps scores on chip; the unfused one writes them to memory.
enum class AttentionKernel : std::uint8_t { kFlash, kUnfused };
// What hides tensor-parallel collectives: nothing, or in backward the gradient kernels that do not need their result.
enum class TpOverlap : std::uint8_t { kNone, kBackward };
enum class DataType : std::uint8_t { kBf16, kFp32 };
enum class Optimizer : std::uint8_t { kAdam };

[[nodiscard]] constexpr std::int64_t bytes_per_element(DataType t) { return t == DataType::kBf16 ? 2 : 4; }

// Per data-parallel rank and step.
inline constexpr std::int64_t kMostMicroBatches = 1'000'000;

struct JobSpec {
  std::string name;
  TransformerSpec model;               // or
  std::optional<ProfileSpec> profile;  // data parallelism only; samples stand for sequences, and there is no seq_len

  std::int64_t seq_len = 0;
  std::int64_t micro_batch = 1;                       // sequences
  std::optional<std::int64_t> global_batch;           // sequences; or
  std::optional<std::int64_t> gradient_accumulation;  // micro-batches per data-parallel rank and step

  std::int64_t tp = 1;
  std::int64_t pp = 1;
  AutoCount dp;
  std::int64_t virtual_stages = 1;   // model chunks per pipeline stage; above 1 the schedule is interleaved
  std::vector<std::int64_t> stages;  // layers per stage; empty: the default split
  bool sequence_parallel = false;
  TpOverlap tp_overlap = TpOverlap::kNone;
  bool scatter_gather = false;  // pipeline messages cut by tp and gathered again on arrival

  Strategy strategy = Strategy::kDdp;
  bool distributed_optimizer = false;       // DDP: optimizer state sharded over the replicas (ZeRO-1)
  bool overlap_param_gather = true;         // ... whose weights come back during the first forward of the next step
  std::int64_t prefetch = 1;                // FSDP units gathered ahead of the one that computes
  std::optional<std::int64_t> shard_group;  // FSDP: replicas that shard together, consecutive ones; absent: all
  std::optional<Bytes> bucket_size;         // DDP: a bucket closes when it holds this much; absent: see bucket_limits()
  std::optional<Bytes> first_bucket_size;   // DDP: so that the first reduction starts early
  bool overlap_grad_reduce = true;          // DDP: buckets leave during the last backward, not after it

  Algorithm algorithm = Algorithm::kRing;  // of its collectives, where it can do them; kAuto: of each the fastest when alone

  Recompute recompute = Recompute::kNone;
  AttentionKernel attention = AttentionKernel::kFlash;
  DataType precision = DataType::kBf16;   // of weights and activations
  DataType grad_dtype = DataType::kFp32;  // of gradients, stored and reduced
  Optimizer optimizer = Optimizer::kAdam;

  std::optional<std::int64_t> gpus;     // that the job takes; absent: all that its placement leaves it
  PlacementSpec placement;              // which nodes
  std::optional<RankOrder> rank_order;  // over their GPUs; absent: tp-cp-dp-pp, or that of the placement policy
};

// kind: job. Checks of the job against a cluster are resolve_plan()'s.
[[nodiscard]] const FieldTable<JobSpec>& job_fields();

}  // namespace lockstep
