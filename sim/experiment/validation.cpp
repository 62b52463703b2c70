// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/validation.h"

#include <algorithm>
#include <cmath>

#include "sim/experiment/validation_suites.h"

namespace lockstep {

ErrorStatistics statistics(const SuiteResult& r, const std::optional<std::string>& source) {
  std::vector<double> magnitudes;
  ErrorStatistics s;
  for (const Prediction& p : r.predictions) {
    if (source && p.source != *source) continue;
    magnitudes.push_back(std::fabs(p.error()));
    s.mean_abs_error += magnitudes.back();
    s.bias += p.error();
  }
  s.rows = magnitudes.size();
  if (magnitudes.empty()) return s;
  std::sort(magnitudes.begin(), magnitudes.end());
  const auto n = static_cast<double>(s.rows);
  s.mean_abs_error /= n;
  s.bias /= n;
  const std::size_t middle = s.rows / 2;
  s.median_abs_error = s.rows % 2 == 1 ? magnitudes[middle] : (magnitudes[middle - 1] + magnitudes[middle]) / 2;
  // Nearest rank: the smallest value that at least 90 % of the rows do not exceed.
  s.p90_abs_error = magnitudes[(s.rows * 9 + 9) / 10 - 1];
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
      {"collectives", "ring collectives on one NVSwitch node against published nccl-tests tables", "nccl-tests.csv",
       run_collectives_suite},
      {"training", "whole training steps against published iteration times", "korthikanti-2022.csv", run_training_suite},
      {"field", "jobs and collectives that users of real clusters reported", "field-cases.csv", run_field_suite},
  };
  return list;
}

}  // namespace lockstep
