// SPDX-License-Identifier: Apache-2.0
// GPU memory that belongs neither to weights nor to what backward needs: held for the whole step (context, NCCL, casts), or for a moment
// at the worst time (gathered units, gradients on their way, logits, exchanges, gradients of activations).
//
//   context        0.5 GB: CUDA context and the kernels of the frameworks
//   nccl           147 MiB a communicator: 16 channels of 4 MiB (Simple), 0.5 MiB (LL) and 4.69 MiB (LL128); NCCL v2.30.7, device.h
//   gathered       FSDP: units gathered ahead and the root unit, gradients being produced and being reduced. ZeRO-2, and DeepSpeed's
//                  ZeRO-1: a bucket (two where reduction overlaps). DeepSpeed's ZeRO-3 gathers tensor by tensor, at most 1 G
//                  weights at a time (stage3_max_live_parameters). PyTorch's DDP: its buckets are a second copy of all gradients
//                  (gradient_as_bucket_view off). DeepSpeed's ZeRO-1 casts its share of 16-bit gradients to 32 bits for the update
//   logits         16-bit logits or their gradient, beside the 32-bit softmax among the activations, which becomes its own gradient
//                  in place (Megatron-LM, vocab_parallel_cross_entropy)
//   exchange       tokens on their way to experts and back; keys and values of other context-parallel ranks; messages between stages
//   workspace      32 MiB of cuBLAS, and the gradients of activations inside the part of a layer that needs most
//   fragmentation  10 % of activations and of what comes and goes: memory the caching allocator holds and cannot use. BigScience's
//                  micro-batch sweeps show 1.04 to 1.2 bytes of peak memory per byte of activations (docs/model.md); GMLake (Guo et al.
//                  2024, arXiv 2401.08156) reports 15 % on average, up to 33 %, with recompute and offload.
//
// The first two together are 1.27 to 1.57 GB per A100 as BigScience measured for tensor, pipeline and data parallelism
// (bigscience-workshop/bigscience, experiments with Megatron-DeepSpeed, 2022): 1.1 GB here with four communicators, 1.4 GB with six.
// Not modelled: NCCL's buffers by algorithm and channel count, memory that other libraries pin, CUDA graphs' private pools.
#pragma once

#include <cstdint>

#include "workloads/parallel/plan.h"

namespace lockstep {

struct BufferBytes {
  std::int64_t context = 0;
  std::int64_t nccl = 0;
  std::int64_t gathered = 0;
  std::int64_t logits = 0;
  std::int64_t exchange = 0;
  std::int64_t workspace = 0;
  std::int64_t fragmentation = 0;
  [[nodiscard]] std::int64_t total() const { return context + nccl + gathered + logits + exchange + workspace + fragmentation; }
};

// Communicators that a rank of `stage` belongs to, with that of the whole job.
[[nodiscard]] std::int64_t communicators_of(const TrainingPlan& plan, std::int64_t stage);

// `activations`: of the stage, for the allowance.
[[nodiscard]] BufferBytes stage_buffers(const TrainingPlan& plan, std::int64_t stage, std::int64_t activations);

}  // namespace lockstep
