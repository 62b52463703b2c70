// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/calibration/least_squares.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"

namespace lockstep {
namespace {

constexpr int kMostIterations = 60;
constexpr double kStep = 1e-3;  // of the numeric Jacobian
constexpr int kMostRounds = 8;
constexpr double kGain = 0.05;       // that is worth another round
constexpr double kConverged = 1e-5;  // largest change of an x
constexpr double kLowestDamping = 1e-6;
constexpr double kHighestDamping = 1e9;

using Residuals = std::function<std::vector<double>(const std::vector<double>&)>;

double huber(double r) {
  const double a = std::abs(r);
  return a <= kHuberBound ? r * r / 2 : kHuberBound * (a - kHuberBound / 2);
}

// Of the cost at a point: how it falls, and how that changes.
struct Curvature {
  Eigen::VectorXd gradient;
  Eigen::MatrixXd hessian;  // Gauss's and Newton's approximation
};

class Problem {
 public:
  Problem(std::span<const FitParameter> parameters, const Residuals& residuals)
      : parameters_(parameters), residuals_(residuals) {}

  [[nodiscard]] double cost(const std::vector<double>& x, const std::vector<double>& r) const {
    double sum = 0;
    for (const double v : r) sum += huber(v);
    for (std::size_t k = 0; k < x.size(); ++k) {
      const double z = x[k] / parameters_[k].prior_deviation;
      sum += z * z / 2;
    }
    return sum;
  }

  [[nodiscard]] std::vector<double> residuals(const std::vector<double>& x) const { return residuals_(x); }
  [[nodiscard]] const FitParameter& parameter(std::size_t k) const { return parameters_[k]; }

  // At x, of the residuals r.
  [[nodiscard]] Curvature curvature(const std::vector<double>& x, const std::vector<double>& r) const {
    const auto n = static_cast<Eigen::Index>(x.size());
    const auto m = static_cast<Eigen::Index>(r.size());
    Eigen::MatrixXd jacobian(m, n);
    Eigen::VectorXd residual(m);
    Eigen::VectorXd weight(m);
    for (Eigen::Index i = 0; i < m; ++i) {
      residual(i) = r[static_cast<std::size_t>(i)];
      weight(i) = std::min(1.0, kHuberBound / std::max(std::abs(residual(i)), 1e-300));
    }
    for (Eigen::Index k = 0; k < n; ++k) {
      std::vector<double> moved = x;
      double& v = moved[static_cast<std::size_t>(k)];
      const double step = v + kStep <= parameters_[static_cast<std::size_t>(k)].highest ? kStep : -kStep;
      v += step;
      const std::vector<double> there = residuals_(moved);
      LOCKSTEP_CHECK(there.size() == r.size(), "{} residuals, then {}", r.size(), there.size());
      for (Eigen::Index i = 0; i < m; ++i) jacobian(i, k) = (there[static_cast<std::size_t>(i)] - residual(i)) / step;
    }
    Curvature at{.gradient = jacobian.transpose() * (weight.asDiagonal() * residual),
                 .hessian = jacobian.transpose() * weight.asDiagonal() * jacobian};
    for (Eigen::Index k = 0; k < n; ++k) {
      const double s = parameters_[static_cast<std::size_t>(k)].prior_deviation;
      at.gradient(k) += x[static_cast<std::size_t>(k)] / (s * s);
      at.hessian(k, k) += 1 / (s * s);
    }
    return at;
  }

  [[nodiscard]] std::vector<double> moved(const std::vector<double>& x, const Curvature& at, double damping) const {
    Eigen::MatrixXd damped = at.hessian;
    damped.diagonal() *= 1 + damping;
    const Eigen::VectorXd step = damped.ldlt().solve(-at.gradient);
    std::vector<double> next = x;
    for (std::size_t k = 0; k < x.size(); ++k) {
      next[k] = std::clamp(x[k] + step(static_cast<Eigen::Index>(k)), parameters_[k].lowest, parameters_[k].highest);
    }
    return next;
  }

 private:
  std::span<const FitParameter> parameters_;
  const Residuals& residuals_;
};

double largest_change(const std::vector<double>& a, const std::vector<double>& b) {
  double change = 0;
  for (std::size_t k = 0; k < a.size(); ++k) change = std::max(change, std::abs(a[k] - b[k]));
  return change;
}

// Van der Corput's sequence: the digits of i mirrored at the point.
double mirrored(int i, int base) {
  double value = 0;
  for (double digit = 1.0 / base; i > 0; i /= base, digit /= base) value += (i % base) * digit;
  return value;
}

// The i-th point of Halton's sequence, within two deviations and the bounds.
std::vector<double> spread_point(std::span<const FitParameter> parameters, int i) {
  constexpr std::array kPrimes = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29};
  std::vector<double> x;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const FitParameter& p = parameters[k];
    const double low = std::max(p.lowest, -2 * p.prior_deviation);
    const double high = std::min(p.highest, 2 * p.prior_deviation);
    x.push_back(low + (high - low) * mirrored(i, kPrimes[k % kPrimes.size()]));
  }
  return x;
}

// From one point to a better one.
class Descent {
 public:
  Descent(const Problem& problem, std::vector<double> start)
      : problem_(&problem), x_(std::move(start)), r_(problem.residuals(x_)), cost_(problem.cost(x_, r_)) {}

  [[nodiscard]] double cost() const { return cost_; }

  void run() {
    double damping = 1e-3;
    bool is_done = false;
    Curvature at = problem_->curvature(x_, r_);
    for (int i = 0; i < kMostIterations && !is_done && damping < kHighestDamping; ++i) {
      const std::vector<double> next = problem_->moved(x_, at, damping);
      is_done = largest_change(next, x_) < kConverged;
      if (!move(next)) {
        damping *= 10;
        continue;
      }
      damping = std::max(damping / 10, kLowestDamping);
      at = problem_->curvature(x_, r_);
    }
  }

  // Moves each x by itself as far as its prior goes; true when that was better.
  bool look_around() {
    const double before = cost_;
    for (std::size_t k = 0; k < x_.size(); ++k) {
      const double from = x_[k];
      for (const double deviations : {-4.0, -2.0, -1.0, -0.5, -0.25, 0.25, 0.5, 1.0, 2.0, 4.0}) {
        std::vector<double> there = x_;
        const FitParameter& p = problem_->parameter(k);
        there[k] = std::clamp(from + deviations * p.prior_deviation, p.lowest, p.highest);
        move(there);
      }
    }
    return cost_ < before - kGain;
  }

  [[nodiscard]] LeastSquaresFit result() const {
    const Eigen::MatrixXd hessian = problem_->curvature(x_, r_).hessian;
    const Eigen::MatrixXd covariance = hessian.ldlt().solve(Eigen::MatrixXd::Identity(hessian.rows(), hessian.cols()));
    LeastSquaresFit fit{.values = x_, .deviations = {}};
    for (Eigen::Index k = 0; k < covariance.rows(); ++k) fit.deviations.push_back(std::sqrt(std::max(0.0, covariance(k, k))));
    return fit;
  }

 private:
  // Unless it is worse there.
  bool move(const std::vector<double>& next) {
    std::vector<double> there = problem_->residuals(next);
    const double cost = problem_->cost(next, there);
    if (cost > cost_) return false;
    x_ = next;
    r_ = std::move(there);
    cost_ = cost;
    return true;
  }

  const Problem* problem_;
  std::vector<double> x_;
  std::vector<double> r_;
  double cost_ = 0;
};

}  // namespace

LeastSquaresFit fit_least_squares(std::span<const FitParameter> parameters, const Residuals& residuals,
                                  std::vector<double> start, int more_starts) {
  LOCKSTEP_CHECK(start.size() == parameters.size(), "{} of {} parameters", start.size(), parameters.size());
  if (parameters.empty()) return {};
  const Problem problem(parameters, residuals);
  Descent best(problem, std::move(start));
  best.run();
  for (int i = 1; i <= more_starts; ++i) {
    Descent other(problem, spread_point(parameters, i));
    other.run();
    if (other.cost() < best.cost()) best = std::move(other);
  }
  for (int round = 0; round < kMostRounds && best.look_around(); ++round) best.run();
  return best.result();
}

}  // namespace lockstep
