// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/training_rows/rank_correlation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace lockstep {
namespace {

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i + 1;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) out[order[k]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return out;
}

}  // namespace

std::optional<double> rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  LOCKSTEP_CHECK(a.size() == b.size(), "{} values against {}", a.size(), b.size());
  const std::vector<double> x = ranks(a);
  const std::vector<double> y = ranks(b);
  const double mean = (static_cast<double>(a.size()) - 1) / 2;
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  if (xx == 0 || yy == 0) return {};
  return xy / std::sqrt(xx * yy);
}

}  // namespace lockstep
