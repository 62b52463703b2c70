// SPDX-License-Identifier: Apache-2.0
// Orders of schedules whose second chunk runs up the stages: V-shaped (zb_v, v_half, v_min) and two-way (dualpipe). Internal to
// pipeline_table.cpp, where they are stored.
//
// V shape (Qi et al. 2024, arXiv 2405.15362): every micro-batch does the same passes at the same distances, a building block, one block
// begins every 6 ticks (a tick is a pass; a stage has 6 of a micro-batch), and no two passes of a stage meet. Chunk 0 goes down a stage
// every `down` ticks, chunk 1 up every `up`, backward likewise. A chunk is then held over 2p (down + up) ticks of the two, which is
// p (down + up)/3 chunks at once (2p are what the first stage of 1F1B holds):
//   v_min   1 + 1    2p/3 chunks, a third of 1F1B's
//   v_half  1 + 2    p
//   zb_v    3 + 3    2p
// The order of forwards and backwards on a stage is that of their ticks; each runs as soon as it can, and gradients of weights run, oldest
// first, when it cannot or when the stage holds its limit: with unit passes, list scheduling in O(p m).
// With F = B = W for a chunk the step takes 6m + p - 1 (zb_v), 6m + 3p - 4 (v_half; p > 2), 6m + 4p - 5 (v_min; p a multiple of 3: 4p - 3),
// where 1F1B takes 6m + 6(p - 1).
// The source counts from each stage's own first pass to its last and finds no idle time in zb_v; p - 1 is the time that the first micro-batch
// needs to reach the last stage, which no order avoids where stages begin and end together.
//
// Two-way (DeepSeek-AI 2024, arXiv 2412.19437, section 3.2.1, and their published schedule): see dual_pipe_order().
#pragma once

#include <vector>

#include "workloads/schedule/pipeline_order.h"

namespace lockstep {

// By stage. PRE: a V-shaped schedule.
[[nodiscard]] std::vector<std::vector<PipelineAction>> v_orders(const PipelineShape& shape);
// Chunks a stage holds at most.
[[nodiscard]] std::int64_t v_limit(const PipelineShape& shape);

// Stage i runs chunk 0 (down) of the first half of the micro-batches and chunk 1 (up) of the second. With n = p/2 - 1 - min(i, p - 1 - i) and
// "own" the direction whose beginning is nearer:
//   2n F own; p/2 - n times F own, F other; n times B W other, F other; then alternately F own with B other and F other with B own;
//   n times B other, F other with B own; p/2 - n times B other, B own, the last of them without their W; n times W, B own; and W.
// A backward that runs beside a forward computes its weight gradients at once. Idle (p/2 - 1)(F&B + B - 3W) in the source, where B has its W
// and the pair F&B hands on at its end; here passes hand on at once: (p/2 - 1)(F + B - W) for equal ones, B without W. Held p + 1.
// PRE: p even, micro-batches even and at least 2p.
[[nodiscard]] std::vector<PipelineAction> dual_pipe_order(const PipelineShape& shape, std::int64_t stage);

}  // namespace lockstep
