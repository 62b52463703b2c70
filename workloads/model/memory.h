// SPDX-License-Identifier: Apache-2.0
// Bytes of GPU memory one rank needs at its peak, by part, per pipeline stage.
//
// Weights, gradients, optimizer: 2 bytes per weight, grad_dtype per gradient, 12 for Adam (32-bit master weight and two
// moments): 18 in all with 32-bit gradients, 16 with 16-bit ones (Rajbhandari et al. 2019, arXiv 1910.02054). FSDP (ZeRO-3) divides
// all three by the data-parallel size D (or its shard group), ZeRO-2 gradients and optimizer, a distributed optimizer (ZeRO-1) the 12
// alone (6 + 12/D in all, as Megatron-LM counts). Experts are held by 1/(ep x expert_tp) and their shards are those of the ranks that
// hold the same ones: tp x dp x cp / (ep x expert_tp). DeepSpeed's BF16 optimizer keeps 16-bit gradients beside the 32-bit ones it
// accumulates in (deepspeed/runtime/bf16_optimizer.py). With precision fp32 the weights are their own master copy.
// 8- and 4-bit matrix products read two casts of the layers' weights, as stored and transposed, kept from one micro-batch to the next
// (Transformer Engine): 2 bytes in 8 bits, 1.125 in 4. Where weights are updated in shards Megatron gathers them in 8 bits (fp8 param
// gather), so that casts take the place of the 16-bit ones.
// Frozen weights (LoRA) have no gradients, no optimizer and no master copy; nobody updates them, so that casts take the place of the
// 16-bit ones. Adapters have all of the above.
// optimizer_offload moves its share of the optimizer to the host, with room there for the gradients that feed it.
// Activations: activations.h. Buffers: buffers.h.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/model/activations.h"
#include "workloads/model/buffers.h"
#include "workloads/parallel/plan.h"

namespace lockstep {

// Elements of a rank, before data-parallel sharding.
struct StageWeights {
  std::int64_t layers = 0;         // but for routed experts
  std::int64_t experts = 0;        // routed
  std::int64_t root = 0;           // embedding and head
  std::int64_t largest_layer = 0;  // experts included
  [[nodiscard]] std::int64_t total() const { return layers + experts + root; }
};
[[nodiscard]] StageWeights stage_weights(const TrainingPlan& plan, std::int64_t stage);
// Of them those that have gradients.
[[nodiscard]] StageWeights trained_weights(const TrainingPlan& plan, std::int64_t stage);
// Ranks that hold the same routed experts.
[[nodiscard]] std::int64_t expert_replicas(const TrainingPlan& plan);

struct MemoryBytes {
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  std::int64_t activations = 0;
  BufferBytes buffer_parts;
  std::int64_t host = 0;  // of the host's memory: the offloaded part of the optimizer and its gradients
  [[nodiscard]] std::int64_t buffers() const { return buffer_parts.total(); }
  [[nodiscard]] std::int64_t total() const { return parameters + gradients + optimizer + activations + buffers(); }
  // Without the allowance for fragmentation: the allocator returns what it cannot use before it gives up (PyTorch frees its cached blocks
  // and tries again), which costs time but no room.
  [[nodiscard]] std::int64_t needed() const { return total() - buffer_parts.fragmentation; }
};
// What the rank holds on a GPU of `capacity`: with as much of the allowance as there is room for.
[[nodiscard]] MemoryBytes held_within(MemoryBytes memory, std::int64_t capacity);

[[nodiscard]] MemoryBytes stage_memory(const TrainingPlan& plan, std::int64_t stage);
// The stage that needs most, the first of equals.
[[nodiscard]] std::int64_t fullest_stage(const TrainingPlan& plan);
[[nodiscard]] MemoryBytes peak_memory(const TrainingPlan& plan);
// Every stage has room for what it needs.
[[nodiscard]] bool fits_into(const TrainingPlan& plan, std::int64_t capacity);

}  // namespace lockstep
