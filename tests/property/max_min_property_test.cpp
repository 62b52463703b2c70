// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "sim/network/max_min/max_min_solver.h"
#include "sim/network/max_min/reference_filling.h"
#include "tests/property/max_min_random.h"

namespace lockstep::max_min {
namespace {

using test::any_capacity;
using test::random_shares;

// A system that is changed in batches; after each one all strategies must agree with filling from nothing.
class Twins {
 public:
  explicit Twins(std::vector<std::int64_t> capacities) : capacities_(std::move(capacities)) {
    std::vector<Rate> rates;
    for (const std::int64_t c : capacities_) rates.push_back(Rate::units(c));
    for (const Strategy s : {Strategy::kAuto, Strategy::kLocal, Strategy::kGlobal}) {
      solvers_.emplace_back(rates, s, AuditScope::kEverything);
    }
  }

  void add(std::vector<LinkShare> shares) {
    std::vector<EntityId> ids;
    for (MaxMinSolver& s : solvers_) ids.push_back(s.add(shares));
    ids_.push_back(ids);
    shares_.push_back(std::move(shares));
  }

  void remove(std::size_t i) {
    for (std::size_t s = 0; s < solvers_.size(); ++s) solvers_[s].remove(ids_[i][s]);
    ids_.erase(ids_.begin() + static_cast<std::ptrdiff_t>(i));
    shares_.erase(shares_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  void set_capacity(std::size_t link, std::int64_t capacity) {
    capacities_[link] = capacity;
    for (MaxMinSolver& s : solvers_) s.set_capacity(LinkId::from_index(link), capacity);
  }

  void solve_and_compare() {
    const std::vector<std::int64_t> truth = reference_filling(capacities_, shares_);
    for (std::size_t s = 0; s < solvers_.size(); ++s) {
      solvers_[s].solve();
      for (std::size_t e = 0; e < shares_.size(); ++e) RC_ASSERT(solvers_[s].level(ids_[e][s]) == truth[e]);
    }
  }

  [[nodiscard]] std::size_t size() const { return shares_.size(); }

 private:
  std::vector<std::int64_t> capacities_;
  std::vector<MaxMinSolver> solvers_;
  std::vector<std::vector<LinkShare>> shares_;
  std::vector<std::vector<EntityId>> ids_;
};

void random_batch(Twins& twins, std::size_t links, std::size_t most_entities, std::size_t path) {
  const auto changes = *rc::gen::inRange(1, 6);
  std::size_t before = twins.size();  // only entities that have been solved can be removed
  for (int c = 0; c < changes; ++c) {
    const int kind = *rc::gen::weightedElement<int>({{5, 0}, {5, 1}, {1, 2}});
    if (kind == 0 && twins.size() < most_entities) {
      twins.add(random_shares(links, path));
    } else if (kind == 1 && before > 0) {
      twins.remove(*rc::gen::inRange<std::size_t>(0, before));
      --before;
    } else {
      twins.set_capacity(*rc::gen::inRange<std::size_t>(0, links), *any_capacity());
    }
  }
}

// Any batch of arrivals, departures and capacity changes -> levels of every strategy == progressive filling from nothing,
// integer for integer.
RC_GTEST_PROP(MaxMinProperty, EveryStrategyEqualsFillingFromNothing, ()) {
  const auto links = *rc::gen::inRange<std::size_t>(1, 13);
  Twins twins(*rc::gen::container<std::vector<std::int64_t>>(links, any_capacity()));
  const auto batches = *rc::gen::inRange(1, 60);
  for (int b = 0; b < batches; ++b) {
    random_batch(twins, links, 40, 4);
    twins.solve_and_compare();
  }
}

}  // namespace
}  // namespace lockstep::max_min
