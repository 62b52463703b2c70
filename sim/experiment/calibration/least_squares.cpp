// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/calibration/least_squares.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace lockstep {
namespace {

constexpr int kMostIterations = 60;
constexpr double kStep = 1e-3;       // of the numeric Jacobian
constexpr double kConverged = 1e-5;  // largest change of an x
constexpr double kLowestDamping = 1e-6;
constexpr double kHighestDamping = 1e9;

using Residuals = std::function<std::vector<double>(const std::vector<double>&)>;

double huber(double r) {
  const double a = std::abs(r);
  return a <= kHuberBound ? r * r / 2 : kHuberBound * (a - kHuberBound / 2);
}

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

  // Gradient and curvature of the cost at x, of the residuals r.
  void linearize(const std::vector<double>& x, const std::vector<double>& r) {
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
    gradient_ = jacobian.transpose() * (weight.asDiagonal() * residual);
    curvature_ = jacobian.transpose() * weight.asDiagonal() * jacobian;
    for (Eigen::Index k = 0; k < n; ++k) {
      const double s = parameters_[static_cast<std::size_t>(k)].prior_deviation;
      gradient_(k) += x[static_cast<std::size_t>(k)] / (s * s);
      curvature_(k, k) += 1 / (s * s);
    }
  }

  [[nodiscard]] std::vector<double> moved(const std::vector<double>& x, double damping) const {
    Eigen::MatrixXd damped = curvature_;
    damped.diagonal() *= 1 + damping;
    const Eigen::VectorXd step = damped.ldlt().solve(-gradient_);
    std::vector<double> next = x;
    for (std::size_t k = 0; k < x.size(); ++k) {
      next[k] = std::clamp(x[k] + step(static_cast<Eigen::Index>(k)), parameters_[k].lowest, parameters_[k].highest);
    }
    return next;
  }

  [[nodiscard]] std::vector<double> deviations() const {
    const Eigen::MatrixXd covariance = curvature_.ldlt().solve(Eigen::MatrixXd::Identity(curvature_.rows(), curvature_.cols()));
    std::vector<double> result;
    for (Eigen::Index k = 0; k < covariance.rows(); ++k) result.push_back(std::sqrt(std::max(0.0, covariance(k, k))));
    return result;
  }

 private:
  std::span<const FitParameter> parameters_;
  const Residuals& residuals_;
  Eigen::VectorXd gradient_;
  Eigen::MatrixXd curvature_;
};

double largest_change(const std::vector<double>& a, const std::vector<double>& b) {
  double change = 0;
  for (std::size_t k = 0; k < a.size(); ++k) change = std::max(change, std::abs(a[k] - b[k]));
  return change;
}

}  // namespace

LeastSquaresFit fit_least_squares(std::span<const FitParameter> parameters, const Residuals& residuals) {
  LeastSquaresFit fit;
  fit.values.assign(parameters.size(), 0);
  if (parameters.empty()) return fit;
  Problem problem(parameters, residuals);
  std::vector<double> r = residuals(fit.values);
  double cost = problem.cost(fit.values, r);
  double damping = 1e-3;
  bool is_done = false;
  problem.linearize(fit.values, r);
  while (!is_done && fit.iterations < kMostIterations && damping < kHighestDamping) {
    ++fit.iterations;
    const std::vector<double> next = problem.moved(fit.values, damping);
    is_done = largest_change(next, fit.values) < kConverged;
    std::vector<double> there = residuals(next);
    const double lower = problem.cost(next, there);
    if (lower > cost) {
      damping *= 10;
      continue;
    }
    fit.values = next;
    r = std::move(there);
    cost = lower;
    damping = std::max(damping / 10, kLowestDamping);
    problem.linearize(fit.values, r);
  }
  fit.deviations = problem.deviations();
  return fit;
}

}  // namespace lockstep
