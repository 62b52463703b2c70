// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedule/pipeline_table.h"

#include <algorithm>

#include "base/check.h"
#include "workloads/parallel/schedule_kind.h"
#include "workloads/schedule/v_order.h"

namespace lockstep {
namespace {

bool is_inside(const PipelineShape& s, std::int64_t stage) { return stage >= 0 && stage < s.stages; }

}  // namespace

PipelineTable::PipelineTable(const PipelineShape& shape) {
  if (!has_upward_chunk(shape.schedule)) return;
  std::vector<std::vector<PipelineAction>> orders;
  if (is_v_shaped(shape.schedule)) {
    orders = v_orders(shape);
  } else {
    for (std::int64_t i = 0; i < shape.stages; ++i) orders.push_back(dual_pipe_order(shape, i));
  }
  for (const std::vector<PipelineAction>& order : orders) {
    Stage& stage = stages_.emplace_back();
    for (const PipelineAction& a : order) {
      stage.entries.push_back({.micro_batch = static_cast<std::int32_t>(a.micro_batch),
                               .pass = a.pass,
                               .chunk = static_cast<std::uint8_t>(a.chunk)});
    }
    LOCKSTEP_CHECK(std::ssize(order) == action_count(shape), "{} of {} actions", order.size(), action_count(shape));
  }
  number_messages(shape);
  for (Stage& stage : stages_) find_steady(shape, stage);
}

PipelineAction PipelineTable::at(std::int64_t stage, std::int64_t index) const {
  const Entry& e = stages_[static_cast<std::size_t>(stage)].entries[static_cast<std::size_t>(index)];
  return {.pass = e.pass, .chunk = e.chunk, .micro_batch = e.micro_batch};
}

std::int64_t PipelineTable::arrivals(std::int64_t stage, std::int64_t index) const {
  return stages_[static_cast<std::size_t>(stage)].entries[static_cast<std::size_t>(index)].arrivals;
}

void PipelineTable::number_messages(const PipelineShape& shape) {
  const auto passes = static_cast<std::size_t>(shape.micro_batches);
  // Of one stage: the number of the message that a forward or backward of a chunk ends with.
  const auto place = [&](const Entry& e) {
    return (2 * (e.pass == Pass::kForward ? 0u : 1u) + e.chunk) * passes + static_cast<std::size_t>(e.micro_batch);
  };
  std::vector<std::vector<std::int32_t>> numbers;
  for (std::int64_t i = 0; i < shape.stages; ++i) {
    std::vector<std::int32_t>& of_stage = numbers.emplace_back(4 * passes, 0);
    std::int32_t sent[2] = {};  // up, down
    for (const Entry& e : stages_[static_cast<std::size_t>(i)].entries) {
      if (e.pass == Pass::kWeight) continue;
      const std::int64_t to = heading(shape.schedule, e.pass, e.chunk);
      if (is_inside(shape, i + to)) of_stage[place(e)] = ++sent[to > 0 ? 1 : 0];
    }
  }
  for (std::int64_t i = 0; i < shape.stages; ++i) {
    for (Entry& e : stages_[static_cast<std::size_t>(i)].entries) {
      if (e.pass == Pass::kWeight) continue;
      const std::int64_t from = i - heading(shape.schedule, e.pass, e.chunk);
      if (is_inside(shape, from)) e.arrivals = numbers[static_cast<std::size_t>(from)][place(e)];
    }
  }
}

void PipelineTable::find_steady(const PipelineShape& shape, Stage& stage) const {
  const std::vector<Entry>& all = stage.entries;
  const bool is_halved = is_bidirectional(shape.schedule);
  const auto is_regular = [&](const Entry& e) {
    const std::int64_t first = is_halved && e.chunk == 1 ? shape.micro_batches / 2 : 0;
    const std::int64_t last = is_halved && e.chunk == 0 ? shape.micro_batches / 2 - 1 : shape.micro_batches - 1;
    return e.micro_batch > first && e.micro_batch < last;
  };
  // Messages of either neighbour that a stage has asked for when an action has begun.
  std::vector<std::int32_t> asked[2];
  for (const Entry& e : all) {
    const std::size_t side = e.pass != Pass::kWeight && heading(shape.schedule, e.pass, e.chunk) > 0 ? 1 : 0;
    for (std::size_t s = 0; s < 2; ++s) {
      const std::int32_t before = asked[s].empty() ? 0 : asked[s].back();
      asked[s].push_back(s == side ? std::max(before, e.arrivals) : before);
    }
  }
  const auto asks_again = [&](std::int64_t i, const std::vector<std::int32_t>& count) {
    const std::int32_t now = count[static_cast<std::size_t>(i)];
    return now == 0 || now == count[static_cast<std::size_t>(i - kPeriod)] + 2;
  };
  const auto repeats = [&](std::int64_t i) {
    if (!asks_again(i, asked[0]) || !asks_again(i, asked[1])) return false;
    const Entry& now = all[static_cast<std::size_t>(i)];
    const Entry& then = all[static_cast<std::size_t>(i - kPeriod)];
    return now.pass == then.pass && now.chunk == then.chunk && now.micro_batch == then.micro_batch + 1 &&
           now.arrivals == (then.arrivals == 0 ? 0 : then.arrivals + 2) && is_regular(then) && is_regular(now);
  };
  std::int64_t begin = kPeriod;
  for (std::int64_t i = kPeriod; i <= std::ssize(all); ++i) {
    if (i < std::ssize(all) && repeats(i)) continue;
    if (i - begin > 0 && i - begin + kPeriod > stage.steady.end - stage.steady.begin) stage.steady = {begin - kPeriod, i};
    begin = i + 1;
  }
}

}  // namespace lockstep
