// SPDX-License-Identifier: Apache-2.0
// Seconds of the kernels of one pass over a whole model on one GPU, from the kernel table: what closed forms of a step are made of.
#pragma once

#include "sim/experiment/scenario.h"
#include "workloads/schedule/training_program.h"

namespace lockstep::test {

inline double pass_time(const TrainingProgram& program, const TransformerSpec& model, bool is_forward) {
  const auto kernel = [&](ModelPart part) { return program.kernels()[part_kernel_id(part, is_forward)].time.seconds(); };
  return kernel(ModelPart::kEmbedding) + kernel(ModelPart::kHead) +
         static_cast<double>(model.layers) * (kernel(ModelPart::kAttention) + kernel(ModelPart::kMlp));
}

}  // namespace lockstep::test
