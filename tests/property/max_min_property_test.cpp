// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <Eigen/Dense>

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
TEST(MaxMinProperty, EveryStrategyEqualsFillingFromNothing) {
  test::check_property(3000, [] {
    const auto links = *rc::gen::inRange<std::size_t>(1, 13);
    Twins twins(*rc::gen::container<std::vector<std::int64_t>>(links, any_capacity()));
    const auto batches = *rc::gen::inRange(1, 60);
    for (int b = 0; b < batches; ++b) {
      random_batch(twins, links, 40, 4);
      twins.solve_and_compare();
    }
  });
}

// The same with hundreds of entities on few links, where groups are large and the choice between local and global really changes.
TEST(MaxMinProperty, EveryStrategyEqualsFillingFromNothingInDenseSystems) {
  test::check_property(40, [] {
    const auto links = *rc::gen::inRange<std::size_t>(8, 40);
    Twins twins(*rc::gen::container<std::vector<std::int64_t>>(links, any_capacity()));
    for (int i = 0; i < 300; ++i) twins.add(random_shares(links, 5));
    twins.solve_and_compare();
    for (int b = 0; b < 60; ++b) {
      random_batch(twins, links, 320, 5);
      twins.solve_and_compare();
    }
  });
}

// An independent dense solver in doubles: rounds of progressive filling on the matrix of coefficients.
Eigen::VectorXd dense_levels(const Eigen::VectorXd& capacities, const Eigen::MatrixXd& coefficients) {
  constexpr double kSame = 1e-12;  // links this close freeze together
  Eigen::VectorXd levels = Eigen::VectorXd::Zero(coefficients.cols());
  Eigen::VectorXd open = Eigen::VectorXd::Ones(coefficients.cols());
  while (open.sum() > 0) {
    const Eigen::ArrayXd residual = (capacities - coefficients * levels).array();
    const Eigen::ArrayXd weight = (coefficients * open).array();
    const Eigen::ArrayXd level = (weight > 0).select(residual / weight.max(1e-300), std::numeric_limits<double>::infinity());
    const double lowest = level.minCoeff();
    for (Eigen::Index l = 0; l < level.size(); ++l) {
      if (level(l) > lowest * (1 + kSame)) continue;
      for (Eigen::Index e = 0; e < open.size(); ++e) {
        if (open(e) == 0 || coefficients(l, e) == 0) continue;
        open(e) = 0;
        levels(e) = lowest;
      }
    }
  }
  return levels;
}

// Capacities from 1 to 800 Gbit/s and small weights -> the rounding to units of 2^-16 byte/s stays below 1e-9 of every rate.
TEST(MaxMinProperty, AgreesWithADenseSolverInDoubles) {
  test::check_property(1000, [] {
    const auto links = *rc::gen::inRange<std::size_t>(1, 12);
    const auto entities = *rc::gen::inRange<std::size_t>(1, 30);
    std::vector<Rate> capacities;
    Eigen::VectorXd dense_capacities(static_cast<Eigen::Index>(links));
    for (std::size_t l = 0; l < links; ++l) {
      capacities.push_back(Rate::units(Rate::gbps(*rc::gen::inRange<std::int64_t>(3, 2401)).units() / 3));
      dense_capacities(static_cast<Eigen::Index>(l)) = static_cast<double>(capacities.back().units());
    }
    MaxMinSolver solver(capacities, *rc::gen::element(Strategy::kAuto, Strategy::kLocal, Strategy::kGlobal));
    Eigen::MatrixXd coefficients = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(links), static_cast<Eigen::Index>(entities));
    std::vector<EntityId> ids;
    for (std::size_t e = 0; e < entities; ++e) {
      std::vector<LinkShare> shares = random_shares(links, 4);
      for (LinkShare& s : shares) {
        s.coefficient = 1 + s.coefficient % 3;
        coefficients(static_cast<Eigen::Index>(s.link.index()), static_cast<Eigen::Index>(e)) =
            static_cast<double>(s.coefficient);
      }
      ids.push_back(solver.add(shares));
      if (*rc::gen::inRange(0, 4) == 0) solver.solve();  // on the way as well, so that later ones are re-solves
    }
    if (solver.has_changes()) solver.solve();
    const Eigen::VectorXd truth = dense_levels(dense_capacities, coefficients);
    for (std::size_t e = 0; e < entities; ++e) {
      const double expected = truth(static_cast<Eigen::Index>(e));
      RC_ASSERT(std::abs(static_cast<double>(solver.level(ids[e])) - expected) <= 1e-9 * expected);
    }
  });
}

}  // namespace
}  // namespace lockstep::max_min
