// SPDX-License-Identifier: Apache-2.0
// Runs the order of passes of every stage with given pass times and free messages, as max-plus algebra: a pass starts when its stage is
// free and what it needs is done. Knows of a schedule only where its chunks lie. Throws where the orders wait for each other.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "workloads/schedule/pipeline_order.h"

namespace lockstep::test {

struct PassTimes {
  std::int64_t forward = 1;
  std::int64_t backward = 1;
  std::int64_t weight = 1;
  [[nodiscard]] std::int64_t of(Pass p) const {
    return p == Pass::kForward ? forward : p == Pass::kBackward ? backward : weight;
  }
};

class PipelineExecutor {
 public:
  using Order = std::vector<std::vector<PipelineAction>>;  // by stage

  PipelineExecutor(Order order, PassTimes times, PipelineSchedule schedule, std::int64_t chunks)
      : order_(std::move(order)), times_(times), schedule_(schedule), chunks_(chunks) {
    const auto p = static_cast<std::int64_t>(order_.size());
    std::vector<std::size_t> next(order_.size(), 0);
    begin.assign(order_.size(), -1);
    end.assign(order_.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::int64_t stage = 0; stage < p; ++stage) {
        const auto i = static_cast<std::size_t>(stage);
        while (next[i] < order_[i].size() && run(stage, order_[i][next[i]])) {
          ++next[i];
          moved = true;
        }
      }
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (next[i] < order_[i].size()) throw std::runtime_error("stage " + std::to_string(i) + " waits for ever");
    }
  }

  // Of a stage: from the first pass to the end of the last.
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;
  [[nodiscard]] std::int64_t makespan() const { return *std::max_element(end.begin(), end.end()); }
  // The longest that a stage takes from its own beginning: what a step costs when stages need not begin together.
  [[nodiscard]] std::int64_t longest_stage() const {
    std::int64_t longest = 0;
    for (std::size_t i = 0; i < end.size(); ++i) longest = std::max(longest, end[i] - begin[i]);
    return longest;
  }
  // Passes of a stage held at most: from forward to the last pass of its kind.
  [[nodiscard]] std::int64_t most_held(std::int64_t stage, bool until_weight) const {
    std::int64_t held = 0;
    std::int64_t most = 0;
    for (const PipelineAction& a : order_[static_cast<std::size_t>(stage)]) {
      if (a.is_forward()) most = std::max(most, ++held);
      if (a.pass == (until_weight ? Pass::kWeight : Pass::kBackward)) --held;
    }
    return most;
  }

 private:
  using Key = std::tuple<std::int64_t, Pass, std::int64_t, std::int64_t>;  // stage, pass, chunk, micro-batch

  // What a pass needs from elsewhere or from before; none at the start of the model.
  [[nodiscard]] std::vector<Key> needs(std::int64_t stage, const PipelineAction& a) const {
    const auto p = static_cast<std::int64_t>(order_.size());
    const std::int64_t m = a.micro_batch;
    if (a.pass == Pass::kWeight) return {{stage, Pass::kBackward, a.chunk, m}};
    // Where chunk c of stage s lies along the model: 0 .. length - 1.
    const bool is_both_ways = schedule_ == PipelineSchedule::kDualPipe;
    const bool is_v = schedule_ == PipelineSchedule::kZeroBubbleV || schedule_ == PipelineSchedule::kVHalf ||
                      schedule_ == PipelineSchedule::kVMin;
    const std::int64_t length = is_both_ways ? p : p * chunks_;
    const auto place = [&](std::int64_t s, std::int64_t c) {
      if (is_both_ways) return c == 0 ? s : p - 1 - s;
      return is_v && c == 1 ? 2 * p - 1 - s : c * p + s;
    };
    const auto at = [&](std::int64_t where) -> std::pair<std::int64_t, std::int64_t> {
      if (is_both_ways) return {a.chunk == 0 ? where : p - 1 - where, a.chunk};
      return {is_v && where >= p ? 2 * p - 1 - where : where % p, where / p};
    };
    const std::int64_t here = place(stage, a.chunk);
    std::vector<Key> out;
    if (a.pass == Pass::kBackward) out.push_back({stage, Pass::kForward, a.chunk, m});
    const std::int64_t before = a.is_forward() ? here - 1 : here + 1;
    if (before >= 0 && before < length) out.push_back({at(before).first, a.pass, at(before).second, m});
    return out;
  }

  bool run(std::int64_t stage, const PipelineAction& a) {
    const auto i = static_cast<std::size_t>(stage);
    std::int64_t start = end[i];
    for (const Key& k : needs(stage, a)) {
      const auto it = done_.find(k);
      if (it == done_.end()) return false;
      start = std::max(start, it->second);
    }
    if (begin[i] < 0) begin[i] = start;
    end[i] = start + times_.of(a.pass);
    if (!done_.emplace(Key{stage, a.pass, a.chunk, a.micro_batch}, end[i]).second)
      throw std::runtime_error("a pass runs twice");
    return true;
  }

  Order order_;
  PassTimes times_;
  PipelineSchedule schedule_;
  std::int64_t chunks_;
  std::map<Key, std::int64_t> done_;
};

}  // namespace lockstep::test
