// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/v_order.h"

#include <algorithm>
#include <deque>

#include "base/check.h"
#include "base/wide.h"
#include "workloads/parallel/schedule_kind.h"

namespace lockstep {
namespace {

constexpr std::int64_t kInterval = 6;  // ticks between micro-batches
constexpr std::int64_t kNever = std::int64_t{1} << 62;

// Distances in ticks. Gaps keep passes of a stage apart modulo kInterval.
struct BuildingBlock {
  std::int64_t down = 1;
  std::int64_t up = 1;
  std::int64_t gap_at_loss = 0;  // between forward and backward of chunk 1 on the first stage
  std::int64_t gap_at_turn = 0;  // between backward of chunk 1 and of chunk 0 on the last
};

BuildingBlock block_of(const PipelineShape& s) {
  switch (s.schedule) {
    case PipelineSchedule::kVMin:
      return {.down = 1, .up = 1, .gap_at_loss = s.stages % 3 == 0 ? 2 : 0};
    case PipelineSchedule::kVHalf:
      if (s.stages % 2 == 0) return {.down = 1, .up = 2, .gap_at_turn = 4};
      return {.down = 1, .up = 2, .gap_at_loss = 1};
    default:
      return {.down = 3, .up = 3};
  }
}

// Forwards and backwards of a stage by tick.
std::vector<PipelineAction> ticked_passes(const PipelineShape& s, std::int64_t stage) {
  const BuildingBlock b = block_of(s);
  const std::int64_t last = s.stages - 1;
  const std::int64_t turn = b.down * last + 1;                              // forward of chunk 1 on the last stage
  const std::int64_t loss = turn + b.up * last + 1 + b.gap_at_loss;         // its backward on the first
  const std::int64_t turn_back = loss + b.down * last + 1 + b.gap_at_turn;  // backward of chunk 0 on the last
  struct Ticked {
    std::int64_t tick;
    PipelineAction action;
  };
  std::vector<Ticked> passes;
  for (std::int64_t k = 0; k < s.micro_batches; ++k) {
    const std::int64_t begin = kInterval * k;
    passes.push_back({begin + b.down * stage, {Pass::kForward, 0, k}});
    passes.push_back({begin + turn + b.up * (last - stage), {Pass::kForward, 1, k}});
    passes.push_back({begin + loss + b.down * stage, {Pass::kBackward, 1, k}});
    passes.push_back({begin + turn_back + b.up * (last - stage), {Pass::kBackward, 0, k}});
  }
  std::sort(passes.begin(), passes.end(), [](const Ticked& x, const Ticked& y) { return x.tick < y.tick; });
  std::vector<PipelineAction> out;
  for (const Ticked& p : passes) out.push_back(p.action);
  return out;
}

class ListScheduler {
 public:
  explicit ListScheduler(const PipelineShape& shape)
      : shape_(shape), limit_(v_limit(shape)), done_(static_cast<std::size_t>(4 * shape.micro_batches * shape.stages), kNever) {
    for (std::int64_t i = 0; i < shape.stages; ++i) stages_.emplace_back().passes = ticked_passes(shape, i);
  }

  std::vector<std::vector<PipelineAction>> run() {
    const auto total = static_cast<std::size_t>(action_count(shape_));
    std::size_t left = stages_.size() * total;
    for (std::int64_t tick = 0; left > 0; ++tick) {
      bool is_idle = true;
      for (std::int64_t i = 0; i < shape_.stages; ++i) {
        if (!step(i, tick)) continue;
        --left;
        is_idle = false;
      }
      LOCKSTEP_CHECK(!is_idle, "{} micro-batches on {} stages wait for each other", shape_.micro_batches, shape_.stages);
    }
    std::vector<std::vector<PipelineAction>> out;
    for (Stage& s : stages_) out.push_back(std::move(s.order));
    return out;
  }

 private:
  struct Stage {
    std::vector<PipelineAction> passes;  // forwards and backwards
    std::size_t next = 0;
    std::deque<PipelineAction> weights;  // that may run
    std::int64_t held = 0;
    std::vector<PipelineAction> order;
  };

  std::int64_t& done(std::int64_t stage, const PipelineAction& a) {
    const std::int64_t kind = (a.is_forward() ? 0 : 2) + a.chunk;
    return done_[static_cast<std::size_t>((kind * shape_.micro_batches + a.micro_batch) * shape_.stages + stage)];
  }

  // Whether everything the pass needs ended by `tick`.
  bool is_ready(std::int64_t i, const PipelineAction& a, std::int64_t tick) {
    if (a.is_forward() && stages_[static_cast<std::size_t>(i)].held >= limit_) return false;
    if (!a.is_forward() && done(i, {Pass::kForward, a.chunk, a.micro_batch}) > tick) return false;
    const std::int64_t from = i - heading(shape_.schedule, a.pass, a.chunk);
    if (from >= 0 && from < shape_.stages) return done(from, a) <= tick;
    if (from < 0) return true;  // the start of the model, or of backward: the forward above
    return done(i, {a.pass, 1 - a.chunk, a.micro_batch}) <= tick;
  }

  bool step(std::int64_t i, std::int64_t tick) {
    Stage& s = stages_[static_cast<std::size_t>(i)];
    if (s.next < s.passes.size() && is_ready(i, s.passes[s.next], tick)) {
      const PipelineAction a = s.passes[s.next++];
      done(i, a) = tick + 1;
      if (a.is_forward()) ++s.held;
      if (!a.is_forward()) s.weights.push_back({Pass::kWeight, a.chunk, a.micro_batch});
      s.order.push_back(a);
      return true;
    }
    if (s.weights.empty()) return false;
    s.order.push_back(s.weights.front());
    s.weights.pop_front();
    --s.held;
    return true;
  }

  const PipelineShape& shape_;
  std::int64_t limit_;
  std::vector<Stage> stages_;
  std::vector<std::int64_t> done_;
};

}  // namespace

std::vector<std::vector<PipelineAction>> v_orders(const PipelineShape& shape) { return ListScheduler(shape).run(); }

std::int64_t v_limit(const PipelineShape& s) {
  switch (s.schedule) {
    case PipelineSchedule::kVMin:
      return ceil_div(2 * s.stages, 3) + 2;
    case PipelineSchedule::kVHalf:
      return s.stages + (s.stages % 2 == 0 ? 2 : 1);
    default:
      return 2 * s.stages;
  }
}

}  // namespace lockstep
