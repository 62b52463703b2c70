// SPDX-License-Identifier: Apache-2.0
// One optimizer step of a training plan, as per-rank stream programs. A slot is one unit (a layer, the embedding, the head)
// of one micro-batch in one direction; the last slot holds the optimizer.
//
// What waits for what, and its source:
// - Tensor parallel (Korthikanti et al. 2022, arXiv 2205.05198): per layer two all-reduces forward and two backward, or with
//   sequence parallelism an all-gather before and a reduce-scatter after each part, and in backward one more all-gather per
//   part for the saved norm output. Full recompute runs the forward ones again. All block the compute stream, except that with
//   TpOverlap::kBackward (Megatron-LM's linear layers) the saved norm output is gathered beside the gradient of the part's
//   input, and that gradient is reduced beside the gradient of the weights.
// - Pipeline (Narayanan et al. 2021, arXiv 2104.04473): order of pipeline_order.h or pipeline_table.h. The plain schedule is Megatron's: compute
//   waits for its own sends as well as for its receives. The interleaved one overlaps sends.
//   GPipe's waits for sends as well; the zero-bubble ones do not. They compute the gradients of weights in passes of their own, without
//   collectives: what those need was brought by the pass before (B), and stays. Data-parallel reductions follow them.
//   DualPipe (DeepSeek-AI 2024, arXiv 2412.19437): a forward and the backward beside it run one after the other, so that what the
//   real one hides of communication inside the pair is not hidden; at the end of a step the two ranks that hold the same layers exchange
//   their gradients (their optimizers are not sharded over each other).
//   A step begins and ends on all stages together: what a stage could begin of the next step before the others end (the post-validation of
//   Qi et al. 2023, arXiv 2401.10241, section 4) is not modelled; it is what makes zb_h2 faster than zb_h1 there.
// - DDP (Li et al. 2020, arXiv 2006.15704): buckets of buckets.h are all-reduced during the last micro-batch's backward.
// - Distributed optimizer (ZeRO-1: Rajbhandari et al. 2020, arXiv 1910.02054; as Megatron-LM runs it): the same buckets are
//   reduce-scattered, every rank updates its share, and the weights come back by an all-gather per bucket in 16 bits. The program
//   is a step in the steady state: with overlap_param_gather it begins with the gathers of the step before, all issued at once in
//   the order forward needs them (Megatron's aligned gather), and a part waits for the buckets that hold its weights; without,
//   it ends with its own. The optimizer is not overlapped.
// - ZeRO-2 (Rajbhandari et al. 2020; as DeepSpeed runs it): the buckets of every micro-batch are reduce-scattered as they become ready,
//   for no rank has room for whole gradients; with overlap_grad_reduce beside backward, without it backward waits for each. The weights
//   are gathered bucket by bucket after the optimizer.
// - FSDP (Zhao et al. 2023, arXiv 2304.11277): units are gathered before forward and again before backward, at most `prefetch`
//   units ahead of the one that computes; every backward reduce-scatters its unit. Embedding and head form the root unit: it
//   is gathered once per micro-batch and stays until its gradients leave. The first gather and the last scatter are exposed.
//   In shard groups (PyTorch's HYBRID_SHARD) gathers and scatters stay within a group; what a rank is left with of a unit's gradient
//   is all-reduced with its likes in the other groups right after its scatter, on a stream of its own.
// - Context and expert parallelism: layer_writer.cpp.
// - A tied embedding is all-reduced between the first and the last stage after the data-parallel reduction.
// Not modelled: gradient-norm and loss scalars across data-parallel ranks, data loading.
//
// Complexity: expand() is O(operations appended) and allocates nothing; memory is O(stages x buckets).
#pragma once

#include <array>
#include <vector>

#include "workloads/kernels/roofline.h"
#include "workloads/parallel/plan.h"
#include "workloads/program.h"
#include "workloads/schedule/buckets.h"
#include "workloads/schedule/part_slices.h"
#include "workloads/schedule/pipeline_order.h"
#include "workloads/schedule/pipeline_table.h"

namespace lockstep {

// Ids of the kernels of a step: forward and backward of each ModelPart, its split-off gradient of weights (empty unless the plan
// splits backward), forward and backward of its slices, then the optimizer of each stage. What the model does not have is empty.
[[nodiscard]] KernelId part_kernel_id(ModelPart part, bool is_forward);
[[nodiscard]] KernelId weight_gradient_kernel_id(ModelPart part);
[[nodiscard]] KernelId slice_kernel_id(ModelPart part, OverlapSlice slice, bool is_forward);
[[nodiscard]] KernelId optimizer_kernel_id(std::int64_t stage);

class TrainingProgram final : public Program {
 public:
  TrainingProgram(TrainingPlan plan, const GpuPerformance& gpu);

  [[nodiscard]] std::uint32_t world_size() const override { return plan_.layout.world_size(); }
  [[nodiscard]] const KernelTable& kernels() const override { return kernels_; }
  bool expand(Rank rank, ProgramCursor& cursor, OpSink& sink) const override;
  void members(CommId comm, std::vector<Rank>& out) const override { plan_.layout.members(comm, out); }
  [[nodiscard]] std::uint32_t communicator_count() const override { return plan_.layout.communicator_count(); }
  [[nodiscard]] std::uint32_t collective_kinds(CommId comm) const override { return family_kinds(plan_.layout.family(comm)); }
  [[nodiscard]] Algorithm algorithm(CommId /*comm*/) const override { return plan_.job.algorithm; }
  [[nodiscard]] TokenRouting routing(CommId comm) const override;
  // The pipeline stage: its ranks differ in whom they talk to, not in what they do.
  [[nodiscard]] std::uint32_t role(Rank rank) const override { return plan_.layout.coordinates(rank).pp; }
  void ports(Rank rank, std::vector<Port>& out) const override;
  [[nodiscard]] std::int64_t lap(Rank rank, const ProgramCursor& at) const override;
  [[nodiscard]] std::int64_t repetitions(Rank rank, const ProgramCursor& then, const ProgramCursor& now) const override;

  [[nodiscard]] const TrainingPlan& plan() const { return plan_; }

 private:
  friend class SlotWriter;

  // Sizes of messages, the same for every rank of a stage.
  struct Messages {
    std::int64_t activations = 0;   // hidden states of a micro-batch, whole
    std::int64_t pipeline = 0;      // what a stage sends
    std::int64_t loss_scalars = 0;  // one 32-bit number per token
    std::int64_t tie = 0;
    // FSDP units of a layer, by whether it has experts, and of its routed experts where their copies are elsewhere.
    std::array<std::int64_t, 2> layer_weights = {};
    std::array<std::int64_t, 2> layer_grads = {};
    std::int64_t expert_weights = 0;
    std::int64_t expert_grads = 0;
    // Context parallelism: keys and values of all tokens for the heads of a rank; what a rank holds of each of q, k, v and the output for all others.
    std::int64_t kv = 0;
    std::int64_t cp_query = 0;
    std::int64_t cp_key = 0;
    std::int64_t cp_value = 0;
    std::int64_t cp_output = 0;
    // Tokens of a rank on their way to experts, a copy for each; on a rank that has a part of each expert, those of all its partners.
    std::int64_t tokens = 0;
    std::int64_t expert_input = 0;
  };
  struct StageData {
    std::vector<ChunkUnits> chunks;
    std::vector<GradientBucket> buckets;
    // By chunk: the gathered root unit, 0 where it holds neither embedding nor head.
    std::vector<std::int64_t> root_weights;
    std::vector<std::int64_t> root_grads;
    std::int64_t copied_grads = 0;  // exchanged with the stage that holds the same layers
  };

  void build_kernels(const GpuPerformance& gpu);
  void build_messages();
  void build_layer_units();
  void build_exchanges();
  void build_stages();
  [[nodiscard]] std::uint32_t family_kinds(CommFamily family) const;

  TrainingPlan plan_;
  PipelineShape shape_;
  PipelineTable table_;
  KernelTable kernels_;
  Messages messages_;
  std::vector<StageData> stages_;
};

}  // namespace lockstep
