// SPDX-License-Identifier: Apache-2.0
// A training job as the user states it (values with units, not yet checked against a cluster). resolve_plan()
// (workloads/parallel/plan.h) turns it into numbers that can run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/units.h"
#include "workloads/collectives/algorithm.h"
#include "workloads/model/adapters.h"
#include "workloads/model/profile.h"
#include "workloads/model/transformer.h"
#include "workloads/parallel/auto_count.h"
#include "workloads/parallel/placement_spec.h"

namespace lockstep {

template <class T>
class FieldTable;
struct KernelTimings;  // workloads/kernels/timings.h

// How the data-parallel replicas keep weights in step: DDP all-reduces gradients (or with a distributed optimizer scatters them
// and gathers weights), FSDP shards everything (ZeRO-3), over all replicas or in groups that are copies of each other.
// ZeRO-2 is DDP whose gradients are scattered every micro-batch and stored sharded, like the optimizer.
enum class Strategy : std::uint8_t { kDdp, kZero2, kFsdp };
// Order of the passes of a pipeline (workloads/schedule/pipeline_order.h). kOneForwardOneBackward interleaves where a stage has chunks.
enum class PipelineSchedule : std::uint8_t {
  kOneForwardOneBackward,
  kGpipe,
  kZeroBubbleH1,  // weight gradients apart, at the memory of 1F1B
  kZeroBubbleH2,  // ... at twice that
  kZeroBubbleV,   // two chunks a stage, down and up again
  kVHalf,         // ... at half the memory
  kVMin,          // ... at a third
  kDualPipe,      // both ends feed micro-batches; weights twice
};
// How the ranks that share a sequence exchange keys and values.
enum class CpExchange : std::uint8_t { kRing, kAllGather, kAllToAll };
// How tokens travel to experts: once per expert, or once per node that holds any of their experts.
enum class ExpertDispatch : std::uint8_t { kPlain, kDeduplicated };
// What starts kernels: the framework one by one, compiled graphs with fused kernels, or recorded CUDA graphs.
enum class Execution : std::uint8_t { kEager, kCompiled, kCudaGraphs };
enum class Framework : std::uint8_t { kMegatron, kPytorch, kDeepspeed };
// The training software. Its release decides which kernels it has and what the host pays for each (configs/hardware/software).
struct SoftwareSpec {
  Framework framework = Framework::kMegatron;
  std::string released;  // "2024-06"; empty: the newest known
};
// What backward computes again: nothing, the attention core, or the whole layer.
enum class Recompute : std::uint8_t { kNone, kSelective, kFull };
// Fused attention keeps scores on chip; the unfused one writes them to memory.
// kFlash: the newest that the software's release and the GPU have.
enum class AttentionKernel : std::uint8_t { kFlash, kUnfused, kFlash1, kFlash2, kFlash3 };
// What hides tensor-parallel collectives: nothing, in backward the gradient kernels that do not need their result,
// or every collective in chunks beside the matrix product it belongs to (user buffers).
enum class TpOverlap : std::uint8_t { kNone, kBackward, kPipelined };
// Of matrix products. The 8- and 4-bit ones keep weights and activations in 16 bits and convert on the way in; kMxfp8 and kNvfp4 scale blocks.
enum class DataType : std::uint8_t { kBf16, kFp16, kFp32, kFp8, kMxfp8, kNvfp4 };
enum class Optimizer : std::uint8_t { kAdam };

// As stored.
[[nodiscard]] constexpr std::int64_t bytes_per_element(DataType t) { return t == DataType::kFp32 ? 4 : 2; }

// Per data-parallel rank and step.
inline constexpr std::int64_t kMostMicroBatches = 1'000'000;

struct JobSpec {
  std::string name;
  TransformerSpec model;               // or
  std::optional<ProfileSpec> profile;  // data parallelism only; samples stand for sequences, and there is no seq_len
  std::optional<LoraSpec> lora;        // adapters are trained and the model is frozen; absent: all weights are trained

  std::int64_t seq_len = 0;
  std::int64_t micro_batch = 1;                       // sequences
  std::optional<std::int64_t> global_batch;           // sequences; or
  std::optional<std::int64_t> gradient_accumulation;  // micro-batches per data-parallel rank and step

  std::int64_t tp = 1;
  std::int64_t pp = 1;
  AutoCount dp;
  std::int64_t cp = 1;  // ranks that share a sequence
  CpExchange cp_exchange = CpExchange::kRing;
  std::int64_t ep = 1;  // ranks that share the experts of a layer, carved out of dp x cp (and of tp where expert_tp is 1)
  std::int64_t expert_tp = 1;  // tensor-parallel ranks of one expert
  double expert_skew = 1;      // tokens of the busiest expert rank over the mean
  ExpertDispatch expert_dispatch = ExpertDispatch::kPlain;
  bool overlap_shared_expert = false;    // the shared expert computes beside the exchange of tokens
  bool overlap_expert_exchange = false;  // exchanges of one micro-batch beside the computation of another
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
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
  std::optional<std::int64_t> recompute_layers;  // of each stage, with kFull: so many, the first ones; absent: all
  Fraction optimizer_offload{0};                 // share of the optimizer's state kept and updated in host memory
  Execution execution = Execution::kEager;
  SoftwareSpec software;
  AttentionKernel attention = AttentionKernel::kFlash;
  DataType precision = DataType::kBf16;   // of weights and activations
  DataType grad_dtype = DataType::kFp32;  // of gradients, stored and reduced
  Optimizer optimizer = Optimizer::kAdam;
  // WHY shared: plans of one job are made by the thousand, and all read the same table.
  std::shared_ptr<const KernelTimings> kernel_timings = {};  // what was measured; none: all times are the model's

  std::optional<std::int64_t> gpus;     // that the job takes; absent: all that its placement leaves it
  PlacementSpec placement;              // which nodes
  std::optional<RankOrder> rank_order;  // over their GPUs; absent: tp-cp-dp-pp, or that of the placement policy
};

// kind: job. Checks of the job against a cluster are resolve_plan()'s.
[[nodiscard]] const FieldTable<JobSpec>& job_fields();

}  // namespace lockstep
