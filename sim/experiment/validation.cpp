// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/validation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/median.h"
#include "sim/experiment/validation_suites.h"

namespace lockstep {

namespace {

ErrorStatistics statistics_of(const std::vector<double>& errors) {
  ErrorStatistics s;
  s.rows = errors.size();
  if (errors.empty()) return s;
  std::vector<double> magnitudes;
  for (const double e : errors) {
    magnitudes.push_back(std::fabs(e));
    s.mean_abs_error += magnitudes.back();
    s.bias += e;
  }
  const auto n = static_cast<double>(s.rows);
  s.mean_abs_error /= n;
  s.bias /= n;
  s.median_abs_error = median(magnitudes);
  std::sort(magnitudes.begin(), magnitudes.end());
  // Nearest rank: the smallest value that at least 90 % of the rows do not exceed.
  s.p90_abs_error = magnitudes[(s.rows * 9 + 9) / 10 - 1];
  return s;
}

}  // namespace

ErrorStatistics statistics(const SuiteResult& r, const std::optional<std::string>& source) {
  std::vector<double> errors;
  for (const Prediction& p : r.predictions) {
    if (!source || p.source == *source) errors.push_back(p.error());
  }
  return statistics_of(errors);
}

double SizeStatistics::within_two_share() const {
  return small_rows == 0 ? 1 : static_cast<double>(within_two) / static_cast<double>(small_rows);
}

SizeStatistics size_statistics(const SuiteResult& r, const std::function<bool(const Prediction&)>& counts) {
  SizeStatistics s;
  std::vector<double> errors;
  std::vector<double> ratios;
  for (const Prediction& p : r.predictions) {
    if (!counts(p)) continue;
    if (p.size_bytes >= kLargeSize) {
      errors.push_back(p.error());
      continue;
    }
    const double ratio = p.predicted / p.measured;
    ratios.push_back(ratio);
    if (ratio >= 0.5 && ratio <= 2) ++s.within_two;
  }
  s.large = statistics_of(errors);
  s.small_rows = ratios.size();
  s.small_median_ratio = median(std::move(ratios));
  return s;
}

std::vector<std::string> sources(const SuiteResult& r) {
  std::vector<std::string> out;
  for (const Prediction& p : r.predictions) {
    if (std::find(out.begin(), out.end(), p.source) == out.end()) out.push_back(p.source);
  }
  return out;
}

const std::vector<Suite>& suites() {
  static const std::vector<Suite> list = {
      {"collectives", "collectives of all sizes against published nccl-tests tables", "nccl-tests.csv", run_collectives_suite},
      {"training", "whole training steps against published iteration times", "korthikanti-2022.csv", run_training_suite},
      {"kernels", "times of matrix products and attention by shape", "gemm-efficiency.csv", run_kernels_suite},
      {"field", "jobs and collectives that users of real clusters reported", "field-cases.csv", run_field_suite},
  };
  return list;
}

}  // namespace lockstep
