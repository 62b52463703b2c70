// SPDX-License-Identifier: Apache-2.0
#include "workloads/parallel/adapters.h"

#include "base/wide.h"

namespace lockstep {

std::vector<ParameterTensor> trained_tensors(const TrainingPlan& plan, ModelPart part) {
  if (!plan.has_adapters()) return stage_tensors(plan, part);
  if (part != ModelPart::kAttention) return {};
  const TransformerSpec& m = plan.job.model;
  const std::int64_t r = plan.job.lora_rank;
  const std::int64_t q = m.heads * m.head_dim;
  const std::int64_t qkv = (m.heads + 2 * m.kv_heads) * m.head_dim;
  return {{.name = "lora_qkv_a", .rows = m.hidden, .row_size = r, .is_split = false},
          {.name = "lora_qkv_b", .rows = qkv, .row_size = r, .is_split = true},
          {.name = "lora_output_a", .rows = q, .row_size = r, .is_split = true},
          {.name = "lora_output_b", .rows = m.hidden, .row_size = r, .is_split = false}};
}

std::int64_t stage_trained_parameters(const TrainingPlan& plan, std::int64_t stage) {
  if (!plan.has_adapters()) return stage_parameters(plan, stage);
  std::int64_t layer = 0;
  for (const ParameterTensor& t : trained_tensors(plan, ModelPart::kAttention)) {
    layer = checked_add(layer, t.rank_elements(plan.weight_cuts()));
  }
  const LayerCount count = stage_layer_count(plan, stage);
  return checked_mul(layer, count.dense + count.expert);
}

}  // namespace lockstep
