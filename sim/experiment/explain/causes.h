// SPDX-License-Identifier: Apache-2.0
// Which of the usual causes hold a job back: rules over the waterfall, the plan, the cluster, and what upgrades bring where they were run.
// A cause is named from a twentieth of the step on (kHolds); `share` is what it is held responsible for, and orders the suspects.
//
//   cause                 named when                                                            share
//   dp_network            exposed dp, none of the next two holds                                dp
//   gpudirect_off         NICs without GPUDirect; with upgrades: it would bring 2 % or more     exposed dp + ep + pp + cp (+ tp across nodes)
//   oversubscription      a tier above 1.01 to 1 whose link is the busiest of the job           the same
//   tp_across_nodes       groups of tp on more than one node                                    tp
//   tp_communication      groups of tp inside nodes                                             tp
//   cp, ep, pp            exposed                                                               theirs
//   small_micro_batch     a micro-batch below 4,096 tokens of a step of several                 product_shape + host
//   bubble                a pipeline                                                            bubble
//   uneven_ranks          no pipeline                                                           bubble
//   imbalance                                                                                   imbalance
//   recompute             says whether the plan fits in memory without it                       recompute
//   host_bound            no small_micro_batch                                                  host
//   hbm_bound             more than the usual 10 %: the shipped scenarios spend 1 to 10 %       memory_bound + optimizer - 10 %
//   unfused_attention     attention that writes its scores to memory                            attention
//   interference                                                                                interference
//   slow_parts            stragglers, variation of GPUs, faults; from 2 % on                    stragglers
//
// If none holds, the job is bound by its matrix products, near what kernels reach: `compute`.
// 4,096 tokens: of the shipped plans on A100 those with 2,048 tokens lose 5 to 8 % of the step to shapes, those with more less than 5 %.
#pragma once

#include <string>
#include <vector>

#include "sim/experiment/explain/waterfall.h"

namespace lockstep {

struct UpgradeResult;  // explain.h

struct Cause {
  std::string name;
  double share = 0;  // of the step
  std::string text;  // a sentence with the evidence, without its full stop
  std::string remedy;
};

struct CauseInput {
  const ClusterSpec& cluster;
  const TrainingPlan& plan;
  const RunResult& run;  // as it is
  const Waterfall& waterfall;
  const std::vector<UpgradeResult>& upgrades;  // none where none were run
};

// The largest share first; at least one.
[[nodiscard]] std::vector<Cause> find_causes(const CauseInput& input);

}  // namespace lockstep
