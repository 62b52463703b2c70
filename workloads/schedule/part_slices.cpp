// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/part_slices.h"

#include <string_view>

namespace lockstep {
namespace {

// Where collectives run in chunks beside the first and the last product (`is_pipelined`), these stand alone.
OverlapSlice slice_of(ModelPart part, std::string_view kernel, bool is_pipelined) {
  const auto is = [kernel](std::string_view prefix) { return kernel.substr(0, prefix.size()) == prefix; };
  const bool is_around = is("norm") || is("rotary") || is("residual") || is("dropout_mask");
  if (is_pipelined && is_around && part != ModelPart::kMoe) return OverlapSlice::kMiddle;
  switch (part) {
    case ModelPart::kAttention:
      if (is("attention_output") || is("residual") || is("dropout_mask")) return OverlapSlice::kExit;
      return is("attention") || is("softmax") ? OverlapSlice::kMiddle : OverlapSlice::kEntry;
    case ModelPart::kMlp:
      if (is("mlp_down") || is("residual") || is("dropout_mask")) return OverlapSlice::kExit;
      return is("activation") ? OverlapSlice::kMiddle : OverlapSlice::kEntry;
    case ModelPart::kMoe:
      return is("shared") ? OverlapSlice::kMiddle : OverlapSlice::kEntry;
    case ModelPart::kEmbedding:
    case ModelPart::kExperts:
    case ModelPart::kCombine:
    case ModelPart::kHead:
      break;
  }
  return OverlapSlice::kEntry;
}

}  // namespace

std::vector<KernelWork> slice_kernels(const TrainingPlan& plan, ModelPart part, OverlapSlice slice,
                                      const std::vector<KernelWork>& kernels) {
  std::vector<KernelWork> out;
  for (const KernelWork& work : kernels) {
    if (slice_of(part, work.name, plan.pipelines_tp()) == slice) out.push_back(work);
  }
  return out;
}

}  // namespace lockstep
