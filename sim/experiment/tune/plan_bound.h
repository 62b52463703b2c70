// SPDX-License-Identifier: Apache-2.0
// What a plan takes at least, and about: from its program alone, without running it.
//
// Bound. A program is a fixed order of operations on in-order streams with waits between them, so no operation ends earlier when others
// take longer (an event graph over max and plus). Let collectives and messages take no time and compute no slow-down by them; then, of one
// rank of each pipeline stage s of p,
//   total(s)  all its kernels                              head(s)  its kernels that the first message to the next stage waits for
//   tail(s)   its kernels after the last one from there    mid(s)   those of them that the last message to the stage before waits for
//   sent(s)   its kernels that that message waits for
// a stage whose first kernel waits for a message cannot begin before begin(s) = begin(s - 1) + head(s - 1), its last message to the stage
// before leaves no earlier than last(s) = max(begin(s) + sent(s), last(s + 1) + mid(s)), and
//   step >= max over s of begin(s) + total(s), last(s + 1) + tail(s)
// where the time of a kernel holds what the host adds to it (Kernel::host). Whatever lengthens kernels (slow GPUs, interference) or adds
// waiting (the network) only adds to it.
// Kernels of a rank run one after the other, so those between two points of its program take at least their sum; the n-th receive from a stage
// is its n-th send; and of two things that a message waits for the later one counts. A term is left out where the program has no such wait:
// last(s + 1) + mid(s) where the last message to the stage before does not wait for the last one from the next (DualPipe, whose two directions
// end apart), tail(s) where nobody waits for that, begin(s - 1) where the first kernel needs no message. What goes to other stages than the two
// beside (gradients of DualPipe's copies) is not among the messages. With 1F1B and equal stages
// it is (m + p - 1)(F + B) plus the optimizer, the ideal pipeline of Narayanan et al. 2021, arXiv 2104.04473, section 2.2.
//
// Estimate. The bound plus communication at the bandwidth of one GPU's way out, inside its node or between nodes, with the overlap that
// the plan asks for: as good as deciding in which order plans are evaluated, and nothing else depends on it.
//
// Every micro-batch holds the same kernels, so programs of many are walked for 2 p and 4 p of them and the totals drawn on. Heads and tails
// are those of 4 p: before the first and after the last message a stage runs passes of at most 2 p - 1 micro-batches, and the same ones however
// many there are. Schedules in a V are walked as they are.
// Complexity: O(layers x stages x operations of a layer), with a V x micro-batches / p.
#pragma once

#include "topology/network.h"
#include "workloads/kernels/roofline.h"
#include "workloads/parallel/plan.h"

namespace lockstep {

// Bytes per second that a GPU can send to another one of its node, and with all others of its node to another node. For the estimate alone.
// PRE: no faults, for failed links may leave the first GPUs without a path where those of the job have one.
struct PairRates {
  double inside = 0;
  double outside = 0;
  std::int64_t gpus_per_node = 1;
};
[[nodiscard]] PairRates pair_rates(const Network& network);

struct PlanCost {
  double bound_s = 0;
  double estimate_s = 0;
};
// PRE: the plan has a model.
[[nodiscard]] PlanCost cost_of(const TrainingPlan& plan, const GpuPerformance& gpu, const PairRates& rates);

}  // namespace lockstep
