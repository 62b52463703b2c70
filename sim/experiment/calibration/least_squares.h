// SPDX-License-Identifier: Apache-2.0
// Robust non-linear least squares with priors, by Levenberg and Marquardt (Nocedal and Wright, Numerical Optimization, 10.3):
//
//   minimise  sum_i huber(r_i(x))  +  sum_k (x_k / s_k)^2 / 2
//
// r are residuals in units of their standard deviation, x offsets from what was believed before, s how far from it they may well be. What the
// observations cannot tell stays where it was. Huber's loss is r^2 / 2 up to kHuberBound and linear beyond, so that an outlier pulls with a
// bounded force. The Jacobian is numeric: r may have kinks (another algorithm is chosen), not jumps.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace lockstep {

inline constexpr double kHuberBound = 2;  // standard deviations

struct FitParameter {
  double prior_deviation = 1;  // s
  double lowest = 0;           // x stays within; 0 is inside
  double highest = 0;
};

struct LeastSquaresFit {
  std::vector<double> values;      // x
  std::vector<double> deviations;  // standard deviations of x after the observations; at most those before
  int iterations = 0;
};

// `residuals` of x are equally many for every x.
[[nodiscard]] LeastSquaresFit fit_least_squares(
    std::span<const FitParameter> parameters,
    const std::function<std::vector<double>(const std::vector<double>& x)>& residuals);

}  // namespace lockstep
