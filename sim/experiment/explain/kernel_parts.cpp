// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/explain/kernel_parts.h"

#include <string_view>
#include <utility>

#include "workloads/kernels/timed_kernels.h"
#include "workloads/parallel/stage.h"
#include "workloads/schedule/training_program.h"

namespace lockstep {
namespace {

bool is_product(const KernelWork& work) { return work.kind == KernelClass::kGemm || work.kind == KernelClass::kLinear; }

bool is_core(const KernelWork& work) {
  if (work.kind == KernelClass::kAttentionForward || work.kind == KernelClass::kAttentionBackward) return true;
  const std::string_view name = work.name;
  return name == "softmax" || (name.starts_with("attention_") && name != "attention_output");
}

class PartsTable {
 public:
  PartsTable(const TrainingPlan& plan, const GpuPerformance& gpu) : plan_(plan), gpu_(gpu) {}

  std::vector<KernelParts> take() {
    for (const ModelPart part : kModelParts) add_part(part);
    for (std::int64_t stage = 0; stage < plan_.pp(); ++stage) {
      add(optimizer_kernel_id(stage), KernelOwner::kOptimizer,
          optimizer_kernels(plan_, stage_optimizer_parameters(plan_, stage)));
    }
    return std::move(table_);
  }

 private:
  void add_part(ModelPart part) {
    const bool is_of_experts = part == ModelPart::kMoe || part == ModelPart::kExperts || part == ModelPart::kCombine;
    if (is_of_experts && !plan_.job.model.moe) return;
    const KernelOwner owner = part == ModelPart::kHead ? KernelOwner::kHead : KernelOwner::kLayers;
    for (const bool is_forward : {true, false}) {
      const std::vector<KernelWork> all = of(part, is_forward ? Direction::kForward : Direction::kBackward);
      add(part_kernel_id(part, is_forward), owner, all);
      for (const OverlapSlice slice : kOverlapSlices) {
        add(slice_kernel_id(part, slice, is_forward), owner, slice_kernels(plan_, part, slice, all));
      }
    }
    add(weight_gradient_kernel_id(part), owner, of(part, Direction::kWeightGradient));
  }

  [[nodiscard]] std::vector<KernelWork> of(ModelPart part, Direction d) const {
    return timed_part_kernels(plan_, part, d, gpu_);
  }

  void add(KernelId id, KernelOwner owner, const std::vector<KernelWork>& works) {
    if (table_.size() <= id.index()) table_.resize(id.index() + 1);
    KernelParts& parts = table_[id.index()];
    parts.owner = owner;
    for (const KernelWork& work : works) {
      const double seconds = kernel_seconds(gpu_, work);
      if (is_core(work)) {
        parts.core += seconds;
      } else if (is_product(work)) {
        const double asymptote = efficiency(gpu_, work) / shape_efficiency(gpu_.gemm_costs, work.shape);
        parts.product += seconds;
        parts.product_limit += work.flops / (peak_flops(gpu_, work) * asymptote);
      } else {
        parts.other += seconds;
      }
    }
  }

  const TrainingPlan& plan_;
  const GpuPerformance& gpu_;
  std::vector<KernelParts> table_;
};

}  // namespace

std::vector<KernelParts> kernel_parts(const TrainingPlan& plan, const GpuPerformance& gpu) {
  return PartsTable(plan, gpu).take();
}

}  // namespace lockstep
