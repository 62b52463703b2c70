// SPDX-License-Identifier: Apache-2.0
#include "workloads/parallel/stage.h"

#include "base/check.h"
#include "base/wide.h"

namespace lockstep {
namespace {

// base each, and one more for `extra` stages in the middle.
std::vector<std::int64_t> deal(std::int64_t stages, std::int64_t base, std::int64_t extra) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(stages), base);
  const std::int64_t first = (stages - extra) / 2;
  for (std::int64_t i = 0; i < extra; ++i) ++out[static_cast<std::size_t>(first + i)];
  return out;
}

}  // namespace

std::vector<std::int64_t> default_stage_layers(std::int64_t layers, std::int64_t stages) {
  LOCKSTEP_CHECK(stages >= 1 && stages <= layers, "{} layers on {} stages", layers, stages);
  if (layers % stages == 0) return deal(stages, layers / stages, 0);
  const std::int64_t units = layers + 2;
  if (units / stages < 2) return deal(stages, layers / stages, layers % stages);
  std::vector<std::int64_t> out = deal(stages, units / stages, units % stages);
  --out.front();
  --out.back();
  return out;
}

ChunkUnits chunk_units(const TrainingPlan& plan, std::int64_t stage, std::int64_t chunk) {
  const bool is_mirrored = is_bidirectional(plan.job.schedule) && chunk == 1;
  const bool is_last_chunk = is_bidirectional(plan.job.schedule) || chunk == plan.chunks() - 1;
  return {.has_embedding = is_mirrored ? plan.is_last(stage) : plan.is_first(stage) && chunk == 0,
          .has_head =
              (has_upward_chunk(plan.job.schedule) && chunk == 1 ? plan.is_first(stage) : plan.is_last(stage)) && is_last_chunk,
          .layers = plan.chunk_layers(stage, chunk)};
}

std::vector<ParameterTensor> stage_tensors(const TrainingPlan& plan, ModelPart part) {
  std::vector<ParameterTensor> tensors = parameter_tensors(plan.job.model, part);
  if (part == ModelPart::kHead && plan.has_embedding_copy()) {
    tensors.push_back(parameter_tensors(plan.job.model, ModelPart::kEmbedding).front());
  }
  return tensors;
}

std::int64_t stage_part_parameters(const TrainingPlan& plan, ModelPart part) {
  std::int64_t sum = 0;
  for (const ParameterTensor& t : stage_tensors(plan, part)) sum = checked_add(sum, t.rank_elements(plan.tp()));
  return sum;
}

std::int64_t stage_parameters(const TrainingPlan& plan, std::int64_t stage) {
  const std::int64_t layer = stage_part_parameters(plan, ModelPart::kAttention) + stage_part_parameters(plan, ModelPart::kMlp);
  std::int64_t sum = 0;
  for (std::int64_t c = 0; c < plan.chunks(); ++c) sum = checked_add(sum, checked_mul(layer, plan.chunk_layers(stage, c)));
  if (plan.holds_embedding(stage)) sum += stage_part_parameters(plan, ModelPart::kEmbedding);
  if (plan.holds_head(stage)) sum += stage_part_parameters(plan, ModelPart::kHead);
  return sum;
}

}  // namespace lockstep
