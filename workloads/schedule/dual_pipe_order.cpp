// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>

#include "base/check.h"
#include "workloads/schedule/v_order.h"

namespace lockstep {
namespace {

class DualPipeWriter {
 public:
  DualPipeWriter(const PipelineShape& shape, std::int64_t stage)
      : half_(shape.micro_batches / 2), own_(2 * stage < shape.stages ? 0 : 1) {}

  enum class Side : std::uint8_t { kOwn, kOther };
  static constexpr Side kOwn = Side::kOwn;
  static constexpr Side kOther = Side::kOther;

  void forward(Side side) { push(Pass::kForward, side, forwards_[index(side)]++); }
  void backward(Side side) {
    backward_without_weights(side);
    weights();
  }
  void backward_without_weights(Side side) {
    push(Pass::kBackward, side, backwards_[index(side)]++);
    const PipelineAction& b = out_.back();
    waiting_.push_back({Pass::kWeight, b.chunk, b.micro_batch});
  }
  // The oldest that waits.
  void weights() {
    out_.push_back(waiting_.front());
    waiting_.pop_front();
  }
  std::vector<PipelineAction> take() { return std::move(out_); }

 private:
  static std::size_t index(Side side) { return static_cast<std::size_t>(side); }
  void push(Pass pass, Side side, std::int64_t n) {
    const std::int64_t chunk = side == kOwn ? own_ : 1 - own_;
    out_.push_back({pass, chunk, chunk * half_ + n});
  }

  std::int64_t half_;
  std::int64_t own_;  // chunk
  std::int64_t forwards_[2] = {};
  std::int64_t backwards_[2] = {};
  std::deque<PipelineAction> waiting_;
  std::vector<PipelineAction> out_;
};

void repeat(std::int64_t times, const auto& what) {
  for (std::int64_t i = 0; i < times; ++i) what(i);
}

}  // namespace

std::vector<PipelineAction> dual_pipe_order(const PipelineShape& s, std::int64_t stage) {
  LOCKSTEP_CHECK(s.stages % 2 == 0 && s.micro_batches % 2 == 0 && s.micro_batches >= 2 * s.stages,
                 "{} micro-batches on {} stages cannot go both ways", s.micro_batches, s.stages);
  DualPipeWriter w(s, stage);
  using W = DualPipeWriter;
  const std::int64_t depth = std::min(stage, s.stages - 1 - stage);
  const std::int64_t inner = s.stages / 2 - 1 - depth;  // pairs of stages between this one and the middle
  const std::int64_t outer = depth + 1;
  const std::int64_t both_ways = s.micro_batches / 2 - s.stages + outer;

  repeat(2 * inner, [&](std::int64_t) { w.forward(W::kOwn); });
  repeat(outer, [&](std::int64_t) {
    w.forward(W::kOwn);
    w.forward(W::kOther);
  });
  repeat(inner, [&](std::int64_t) {
    w.backward(W::kOther);
    w.forward(W::kOther);
  });
  repeat(both_ways, [&](std::int64_t) {
    w.forward(W::kOwn);
    w.backward(W::kOther);
    w.forward(W::kOther);
    w.backward(W::kOwn);
  });
  repeat(inner, [&](std::int64_t) {
    w.backward(W::kOther);
    w.forward(W::kOther);
    w.backward(W::kOwn);
  });
  // Of 2 outer backwards the second `outer` keep their weight gradients for the end.
  std::int64_t done = 0;
  const auto drain = [&](W::Side side) {
    if (done++ < outer) {
      w.backward(side);
    } else {
      w.backward_without_weights(side);
    }
  };
  repeat(outer, [&](std::int64_t) {
    drain(W::kOther);
    drain(W::kOwn);
  });
  repeat(inner, [&](std::int64_t) {
    w.weights();
    w.backward_without_weights(W::kOwn);
  });
  repeat(outer, [&](std::int64_t) { w.weights(); });
  return w.take();
}

}  // namespace lockstep
