// SPDX-License-Identifier: Apache-2.0
// Orders that have no closed form, stored: of schedules with an upward chunk (workloads/schedule/v_order.h). With them, which message of a
// neighbour every pass begins with: activations of one chunk and gradients of the other travel the same way, and the neighbour sends
// them in its own order. Memory: 12 bytes a pass of a stage, 6 p m passes.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/schedule/pipeline_order.h"

namespace lockstep {

class PipelineTable {
 public:
  // Empty for schedules in closed form.
  explicit PipelineTable(const PipelineShape& shape);

  [[nodiscard]] bool is_empty() const { return stages_.empty(); }
  [[nodiscard]] PipelineAction at(std::int64_t stage, std::int64_t index) const;
  // How many messages must have come from the neighbour that the pass begins with one of; 0 where it begins with none.
  [[nodiscard]] std::int64_t arrivals(std::int64_t stage, std::int64_t index) const;

  // Actions among which each is that of kPeriod before, one micro-batch later, its message two later, and none is of the first or the
  // last micro-batch of its chunk: the longest such run.
  static constexpr std::int64_t kPeriod = 6;
  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  [[nodiscard]] Range steady(std::int64_t stage) const { return stages_[static_cast<std::size_t>(stage)].steady; }

 private:
  struct Entry {
    std::int32_t micro_batch = 0;
    std::int32_t arrivals = 0;
    Pass pass = Pass::kForward;
    std::uint8_t chunk = 0;
  };
  struct Stage {
    std::vector<Entry> entries;
    Range steady;
  };

  void number_messages(const PipelineShape& shape);
  void find_steady(const PipelineShape& shape, Stage& stage) const;

  std::vector<Stage> stages_;
};

}  // namespace lockstep
