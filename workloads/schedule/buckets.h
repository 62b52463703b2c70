// SPDX-License-Identifier: Apache-2.0
// Gradient buckets of distributed data parallel: tensors enter in the order backward produces their gradients and a bucket
// closes when it holds at least its limit; the first bucket of a rank has a limit of its own, so that communication starts
// early. Source: Li et al. 2020, arXiv 2006.15704, section 3.2.3; limits as PyTorch's defaults (25 MiB, first 1 MiB).
// A tensor is never cut; frozen weights have no gradients. Buckets do not span model chunks. Routed experts, whose copies are on other ranks than those of the rest, have
// buckets of their own (Megatron Core, distributed_data_parallel.py).
//
// A distributed optimizer scatters the gradients of a bucket and gathers its weights: buckets are padded to equal shards, and the
// limit is Megatron-LM's, max(40 M, 1 M x replicas) gradients. Read backwards the buckets are the order in which forward needs
// the weights, each first at its last tensor. Not modelled: Megatron's padding to 128 elements, and its single bucket on
// stages after the first.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/parallel/stage.h"

namespace lockstep {

// Where in a backward pass of a stage: chunk by chunk (last first), unit by unit, part by part.
struct GradientPoint {
  std::int64_t chunk = 0;
  std::int64_t unit = 0;  // position of the layer, embedding or head in the chunk's forward order
  ModelPart part = ModelPart::kAttention;
  bool operator==(const GradientPoint&) const = default;
};

struct GradientBucket {
  std::int64_t bytes = 0;         // of gradients
  std::int64_t weight_bytes = 0;  // of the weights they belong to
  GradientPoint ready;            // after this part's backward of the last micro-batch; forward first needs the weights here
  bool is_expert = false;         // of routed experts: reduced among the ranks that hold the same ones
};

// Gradients in a bucket of DeepSpeed's ZeRO (reduce_bucket_size).
inline constexpr std::int64_t kDeepspeedBucket = 500'000'000;

// A bucket closes when its gradients fill this much: what the job says, or the defaults above.
struct BucketLimits {
  std::int64_t first = 0;
  std::int64_t other = 0;
};
[[nodiscard]] BucketLimits bucket_limits(const TrainingPlan& plan);

// In the order they become ready.
[[nodiscard]] std::vector<GradientBucket> gradient_buckets(const TrainingPlan& plan, std::int64_t stage);

}  // namespace lockstep
