// SPDX-License-Identifier: Apache-2.0
// Robust non-linear least squares with priors, by Levenberg and Marquardt (Nocedal and Wright, Numerical Optimization, 10.3):
//
//   minimise  sum_i huber(r_i(x))  +  sum_k (x_k / s_k)^2 / 2
//
// r are residuals in units of their standard deviation, x offsets from what was believed before, s how far from it they may well be. What the
// observations cannot tell stays where it was. Huber's loss is r^2 / 2 up to kHuberBound and linear beyond, so that an outlier pulls with a
// bounded force. The Jacobian is numeric. Where another algorithm is chosen r has kinks, and the sum valleys of its own: whenever the descent
// ends, each x is tried some way off by itself, and the descent goes on from what is better.
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
};

// `residuals` of x are equally many for every x. The descent begins at `start`, within the bounds; with `more_starts`, at so many
// other points as well, spread evenly over what the priors leave open (Halton's sequence), and the lowest end counts.
[[nodiscard]] LeastSquaresFit fit_least_squares(
    std::span<const FitParameter> parameters, const std::function<std::vector<double>(const std::vector<double>& x)>& residuals,
    std::vector<double> start, int more_starts = 0);

}  // namespace lockstep
