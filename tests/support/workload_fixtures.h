// SPDX-License-Identifier: Apache-2.0
// Models, GPUs and plans that workload tests share.
#pragma once

#include <stdexcept>
#include <string>

#include "workloads/kernels/roofline.h"
#include "workloads/parallel/plan.h"

namespace lockstep::test {

inline TransformerSpec llama3_8b() {
  return {.name = "llama3-8b",
          .layers = 32,
          .hidden = 4096,
          .heads = 32,
          .kv_heads = 8,
          .head_dim = 128,
          .ffn = 14336,
          .vocab = 128256,
          .max_positions = 8192};
}
inline TransformerSpec llama3_70b() {
  return {.name = "llama3-70b",
          .layers = 80,
          .hidden = 8192,
          .heads = 64,
          .kv_heads = 8,
          .head_dim = 128,
          .ffn = 28672,
          .vocab = 128256,
          .max_positions = 8192};
}
inline TransformerSpec llama3_405b() {
  return {.name = "llama3-405b",
          .layers = 126,
          .hidden = 16384,
          .heads = 128,
          .kv_heads = 8,
          .head_dim = 128,
          .ffn = 53248,
          .vocab = 128256,
          .max_positions = 131072};
}
// GPT-3 style: biases everywhere, learned positions, tied embeddings, dropout.
inline TransformerSpec gpt(std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  return {.name = "gpt",
          .layers = layers,
          .hidden = hidden,
          .heads = heads,
          .kv_heads = heads,
          .head_dim = hidden / heads,
          .ffn = 4 * hidden,
          .vocab = 51200,
          .max_positions = 2048,
          .is_gated = false,
          .has_tied_embeddings = true,
          .positions = PositionKind::kLearned,
          .has_linear_biases = true,
          .has_dropout = true,
          .norm = NormKind::kLayer};
}
// Small enough to run every rank in a test.
inline TransformerSpec tiny(std::int64_t layers) {
  return {.name = "tiny",
          .layers = layers,
          .hidden = 256,
          .heads = 8,
          .kv_heads = 4,
          .head_dim = 32,
          .ffn = 512,
          .vocab = 1024,
          .max_positions = 512};
}

// 1 PFLOP/s and 1 TB/s without losses: times can be computed by hand.
inline GpuPerformance ideal_gpu() { return {.peak_flops = 1e15, .hbm_bytes_per_s = 1e12}; }

inline TrainingPlan plan_of(const JobSpec& job, std::int64_t gpus) {
  Diagnostics d;
  std::optional<TrainingPlan> plan = resolve_plan(
      job, gpus, [](std::string_view) { return Position{}; }, d);
  if (!plan) throw std::runtime_error(d.items().empty() ? "no plan" : d.items().front().message);
  return *plan;
}

}  // namespace lockstep::test
