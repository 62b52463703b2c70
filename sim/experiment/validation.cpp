// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/validation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/median.h"
#include "sim/experiment/training_rows/rank_correlation.h"
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

bool is_counted(const SuiteResult& r, const std::string& source) {
  return std::find(r.uncounted.begin(), r.uncounted.end(), source) == r.uncounted.end();
}

std::optional<double> spearman(const SuiteResult& r, const std::string& source, std::string Prediction::*group) {
  struct Group {
    std::vector<double> measured;
    std::vector<double> predicted;
  };
  std::map<std::string, Group> groups;
  for (const Prediction& p : r.predictions) {
    if (p.source != source || (p.*group).empty()) continue;
    groups[p.*group].measured.push_back(p.measured / p.work);
    groups[p.*group].predicted.push_back(p.predicted / p.work);
  }
  double sum = 0;
  double rows = 0;
  for (const auto& [name, g] : groups) {
    if (g.measured.size() < kLeastSweep) continue;
    const std::optional<double> rho = rank_correlation(g.measured, g.predicted);
    if (!rho) continue;
    sum += *rho * static_cast<double>(g.measured.size());
    rows += static_cast<double>(g.measured.size());
  }
  return rows > 0 ? std::optional(sum / rows) : std::nullopt;
}

Headline headline(const SuiteResult& r) {
  Headline h;
  for (const std::string& source : sources(r)) {
    const ErrorStatistics s = statistics(r, source);
    if (s.rows < kLeastRows || !is_counted(r, source)) continue;
    ++h.sources;
    h.median_abs_error += s.median_abs_error;
    h.mean_abs_error += s.mean_abs_error;
  }
  if (h.sources == 0) return h;
  h.median_abs_error /= static_cast<double>(h.sources);
  h.mean_abs_error /= static_cast<double>(h.sources);
  return h;
}

const std::vector<Suite>& suites() {
  static const std::vector<Suite> list = {
      {"collectives", "collectives of all sizes against published nccl-tests tables", "nccl-tests.csv", run_collectives_suite},
      {"training", "whole training steps against published iteration times", "training", run_training_suite,
       run_training_files},
      {"kernels", "times of matrix products and attention by shape", "gemm-efficiency.csv", run_kernels_suite},
      {"field", "jobs and collectives that users of real clusters reported", "field-cases.csv", run_field_suite},
  };
  return list;
}

}  // namespace lockstep
