// SPDX-License-Identifier: Apache-2.0
// Where the time of a step goes, from what the peak of the GPUs allows down to what is achieved: terms that add up to the step time to the
// picosecond. All are means over the ranks of the job.
//
// Effects interact, so a waterfall is an order of attribution. In this one a term is what is lost when everything before it is as it is and
// everything behind it is as good as it can be:
//
//   ideal            model FLOPs / (GPUs x dense data-sheet peak of the job's matrix products)
//   product_rate     matrix products of layers at the asymptote of large ones instead of the peak, and what they compute beyond the model's
//                    FLOPs: routers, padding, the busiest expert, what every tensor-parallel rank computes again
//   product_shape    the same products in their shapes: tiles, waves, short inner dimensions, memory where that bounds them
//   attention        attention cores (with softmax and dropout where these are kernels of their own) beyond their FLOPs at the peak
//   memory_bound     embedding, norms, activations, residuals, permutations, casts
//   logits_loss      final norm, logits and loss beyond the FLOPs of the logits at the peak
//   optimizer        its kernels
//   recompute        time on the GPU minus that of the same plan with recompute: none
//   host             breakdown_s.host: what the host adds to the kernels (workloads/kernels/roofline.h), recomputed ones too
//   imbalance        kernels of the stage with most of them minus the mean over ranks, as far as it is waited for (the bubble at most)
//   bubble           the rest of breakdown_s.bubble; waiting for slower ranks where there is no pipeline
//   interference     compute beside collectives minus the same kernels undisturbed: the rest of breakdown_s.compute
//   tp cp ep pp dp   communication that is waited for: breakdown_s; that of a recomputed layer is its dimension's
//   stragglers       the step minus the same step with no slow GPU, no variation among GPUs and nothing broken; all terms above are of the
//                    latter. Where one slow GPU hides another bottleneck it may be below zero by a little.
//   other            breakdown_s.other and the rounding of the others
//
// Jobs known by measurement (profile) have no FLOPs: `compute`, their kernels, stands for everything down to the optimizer, and there is no
// MFU. Not told apart: the parts of host time; links that make a dimension wait (see causes.h for that).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "sim/report/run_result.h"
#include "topology/cluster_spec.h"
#include "workloads/parallel/plan.h"

namespace lockstep {

enum class Loss : std::uint8_t {
  kIdeal,
  kCompute,  // of a profile
  kProductRate,
  kProductShape,
  kAttention,
  kMemoryBound,
  kLogitsLoss,
  kOptimizer,
  kRecompute,
  kHost,
  kImbalance,
  kBubble,
  kInterference,
  kTp,
  kCp,
  kEp,
  kPp,
  kDp,
  kStragglers,
  kOther,
};
inline constexpr int kLossCount = 20;
[[nodiscard]] const char* to_text(Loss loss);  // "product_rate"
[[nodiscard]] const char* words(Loss loss);    // "matrix products below the peak"

struct WaterfallTerm {
  Loss loss = Loss::kIdeal;
  Duration time;
};

struct Waterfall {
  Duration step;
  std::vector<WaterfallTerm> terms;  // in the order of Loss; they add up to `step`

  [[nodiscard]] Duration time(Loss loss) const;
  [[nodiscard]] double share(Loss loss) const;  // of the step
  [[nodiscard]] bool has_flops() const { return terms.front().loss == Loss::kIdeal; }
  // MFU if the losses up to the i-th term were all; absent for a profile.
  [[nodiscard]] std::optional<double> mfu_after(std::size_t i) const;
};

// PRE: `even` is the run of the plan on the cluster without anything slow or broken, `step` that of the plan as it is.
[[nodiscard]] Waterfall waterfall_of(const ClusterSpec& cluster, const TrainingPlan& plan, const RunResult& even,
                                     Duration step);

// The cluster without stragglers, variation of GPUs and faults; nothing if it has none.
[[nodiscard]] std::optional<ClusterSpec> without_slow_parts(const ClusterSpec& cluster);

}  // namespace lockstep
