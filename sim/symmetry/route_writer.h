// SPDX-License-Identifier: Apache-2.0
// Fills a table of routes of a placed job, activity by activity.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/wide.h"
#include "sim/engine/flat_index.h"
#include "sim/symmetry/placed_job.h"

namespace lockstep {

class RouteWriter {
 public:
  explicit RouteWriter(RouteTable& table) : table_(table) {}

  // Coefficients are multiplied by `factor`.
  void add(const Route& route, RouteForm form, std::int64_t factor = 1, std::uint32_t state = 0) {
    for (const LinkShare& s : route.shares)
      table_.rows.push({s.link, label_of(form, state, checked_mul(s.coefficient, factor))});
  }
  // The same row again.
  void repeat(std::size_t row) {
    for (std::size_t i = 0; i < table_.rows[row].size(); ++i) table_.rows.push(RouteShare(table_.rows[row][i]));
  }
  void end() { table_.rows.end_row(); }

 private:
  std::uint32_t label_of(RouteForm form, std::uint32_t state, std::int64_t coefficient) {
    static_assert(kMostRouteForms == 64 && FaultStates::kMostStates == 64);
    LOCKSTEP_CHECK(static_cast<std::uint32_t>(form) < kMostRouteForms && coefficient >> 51 == 0, "form {}, coefficient {}",
                   static_cast<std::uint32_t>(form), coefficient);
    const std::uint64_t key =
        static_cast<std::uint64_t>(coefficient) << 12 | std::uint64_t{state} << 6 | static_cast<std::uint64_t>(form);
    if (key == last_key_) return last_label_;
    std::uint32_t known = labels_.find(key);
    if (known == FlatIndex::kAbsent) {
      known = static_cast<std::uint32_t>(table_.labels.size());
      labels_.insert(key, known);
      table_.labels.push_back({form, state, coefficient});
    }
    last_key_ = key;
    last_label_ = known;
    return known;
  }

  RouteTable& table_;
  FlatIndex labels_;  // by coefficient, fault state and form
  std::uint64_t last_key_ = ~std::uint64_t{0};
  std::uint32_t last_label_ = 0;
};

}  // namespace lockstep
