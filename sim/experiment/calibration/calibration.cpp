// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/calibration/calibration.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include "base/diagnostics.h"
#include "base/median.h"
#include "sim/experiment/collective_predictor.h"
#include "sim/experiment/validation.h"

namespace lockstep {
namespace {

// A judgement, not measured for this fit (docs/model.md, section 10): repeated runs of nccl-tests on one machine differ by up to 5 %, those on
// fabrics that others share by more, which Huber's loss bears. Small messages differ by more, since protocols change there and hosts differ.
constexpr double kLargeDeviation = 0.05;
constexpr double kSmallDeviation = 0.2;
constexpr double kFullPrior = 1;
// Constants that leave-one-out starts from were made with the table that is left out: priors twice as wide, so that they count for less. A
// judgement as well; the table keeps some say.
constexpr double kLeaveOneOutPrior = 0.5;

constexpr int kMoreStarts = 12;

using Offsets = std::vector<double>;

// A table with the constants it depends on. Predictions are remembered by their values: moving a constant of another
// generation costs nothing.
class PredictedTable {
 public:
  PredictedTable(const MeasuredTable& table, std::vector<std::size_t> constants)
      : table_(table),
        constants_(std::move(constants)),
        predictor_(table.cluster, {.kind = table.kind, .members = table.members, .algorithm = table.algorithm}) {
    for (const MeasuredRow& row : table.rows) sizes_.push_back(row.bytes);
  }

  [[nodiscard]] const MeasuredTable& table() const { return table_; }
  [[nodiscard]] const std::vector<std::size_t>& constants() const { return constants_; }

  // log(predicted / measured) of every row. `x` are the offsets that `tuning` has.
  const std::vector<double>& logs(const Offsets& x, const TuningSpec& tuning) {
    Offsets key;
    for (const std::size_t c : constants_) key.push_back(x[c]);
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    constexpr std::size_t kRemembered = 64;
    if (known_.size() >= kRemembered) known_.clear();
    predictor_.retune(tuning);
    std::vector<double> logs;
    const std::vector<double> predicted = predictor_.seconds(sizes_);
    for (std::size_t i = 0; i < predicted.size(); ++i) logs.push_back(std::log(predicted[i] / table_.rows[i].seconds));
    return known_.emplace(std::move(key), std::move(logs)).first->second;
  }

 private:
  const MeasuredTable& table_;
  std::vector<std::size_t> constants_;
  CollectivePredictor predictor_;
  std::vector<std::int64_t> sizes_;
  std::map<Offsets, std::vector<double>> known_;
};

bool spans_nodes(const MeasuredTable& t) {
  const auto on_node = static_cast<std::uint32_t>(t.cluster.gpus() / t.cluster.node_count());
  const std::uint32_t first = t.members.front().value() / on_node;
  return std::any_of(t.members.begin(), t.members.end(), [&](EndpointId e) { return e.value() / on_node != first; });
}

// All tables of a fit and every constant that any of them depends on.
class Fit {
 public:
  explicit Fit(const TuningSpec& tuning) : before_(tuning) {}

  // A table that is held out adds no constants.
  void add(const MeasuredTable& table, bool is_held_out) {
    std::vector<std::size_t> own;
    for (TunableConstant& c : tunable_constants(table.cluster, spans_nodes(table))) {
      if (!is_held_out || knows(c)) own.push_back(index_of(std::move(c)));
    }
    tables_.push_back(std::make_unique<PredictedTable>(table, std::move(own)));
  }

  [[nodiscard]] const std::vector<TunableConstant>& constants() const { return constants_; }
  [[nodiscard]] Offsets start() const { return Offsets(constants_.size(), 0); }
  [[nodiscard]] std::size_t size() const { return tables_.size(); }
  [[nodiscard]] const PredictedTable& table(std::size_t i) const { return *tables_[i]; }

  [[nodiscard]] TuningSpec tuning_at(const Offsets& x) const {
    TuningSpec tuning = before_;
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (x[k] != 0) constants_[k].move(x[k], before_, tuning);
    }
    return tuning;
  }

  // By the tables for which `counts` holds, of the constants `free`; the others stay at `start`.
  LeastSquaresFit run(double prior_weight, const std::function<bool(std::size_t table)>& counts, const Offsets& start,
                      const std::vector<std::size_t>& free, int more_starts) {
    std::vector<FitParameter> parameters;
    Offsets from;
    for (const std::size_t k : free) {
      parameters.push_back(constants_[k].parameter(before_));
      parameters.back().prior_deviation /= prior_weight;
      from.push_back(start[k]);
    }
    const auto residuals = [&](const Offsets& moved) {
      Offsets x = start;
      for (std::size_t i = 0; i < free.size(); ++i) x[free[i]] = moved[i];
      const TuningSpec tuning = tuning_at(x);
      std::vector<double> r;
      for (std::size_t i = 0; i < tables_.size(); ++i) {
        if (!counts(i)) continue;
        const std::vector<double>& logs = tables_[i]->logs(x, tuning);
        for (std::size_t row = 0; row < logs.size(); ++row) {
          const bool is_large = tables_[i]->table().rows[row].bytes >= kLargeSize;
          r.push_back(logs[row] / (is_large ? kLargeDeviation : kSmallDeviation));
        }
      }
      return r;
    };
    LeastSquaresFit fit = fit_least_squares(parameters, residuals, std::move(from), more_starts);
    Offsets all = start;
    for (std::size_t i = 0; i < free.size(); ++i) all[free[i]] = fit.values[i];
    fit.values = std::move(all);
    return fit;
  }

  [[nodiscard]] std::vector<std::size_t> all_constants() const {
    std::vector<std::size_t> all(constants_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }

  TableError error(std::size_t i, const Offsets& after, bool is_fitted) {
    const MeasuredTable& table = tables_[i]->table();
    TableError e{.table = table.name, .rows = table.rows.size(), .is_fitted = is_fitted};
    const auto medians = [&](const Offsets& x, double& all, double& large) {
      const std::vector<double>& logs = tables_[i]->logs(x, tuning_at(x));
      std::vector<double> every;
      std::vector<double> big;
      for (std::size_t row = 0; row < logs.size(); ++row) {
        every.push_back(std::abs(std::exp(logs[row]) - 1));
        if (table.rows[row].bytes >= kLargeSize) big.push_back(every.back());
      }
      e.large_rows = big.size();
      all = median(std::move(every));
      large = median(std::move(big));
    };
    medians(start(), e.before, e.large_before);
    medians(after, e.after, e.large_after);
    return e;
  }

 private:
  [[nodiscard]] bool knows(const TunableConstant& c) const {
    return std::any_of(constants_.begin(), constants_.end(), [&](const TunableConstant& k) { return k.path == c.path; });
  }
  std::size_t index_of(TunableConstant&& c) {
    for (std::size_t k = 0; k < constants_.size(); ++k) {
      if (constants_[k].path == c.path) return k;
    }
    constants_.push_back(std::move(c));
    return constants_.size() - 1;
  }

  TuningSpec before_;
  std::vector<TunableConstant> constants_;
  std::vector<std::unique_ptr<PredictedTable>> tables_;
};

}  // namespace

Calibration calibrate(const TuningSpec& tuning, const std::vector<MeasuredTable>& fitted,
                      const std::vector<MeasuredTable>& held_out) {
  Fit fit(tuning);
  for (const MeasuredTable& t : fitted) fit.add(t, false);
  for (const MeasuredTable& t : held_out) fit.add(t, true);
  const LeastSquaresFit found = fit.run(
      kFullPrior, [&](std::size_t i) { return i < fitted.size(); }, fit.start(), fit.all_constants(), kMoreStarts);
  Calibration result{.before = tuning, .after = fit.tuning_at(found.values), .constants = {}, .tables = {}};
  for (std::size_t k = 0; k < found.values.size(); ++k) {
    const TunableConstant& c = fit.constants()[k];
    const FitParameter p = c.parameter(tuning);
    const double share = found.deviations[k] / p.prior_deviation;
    if (found.values[k] != 0) c.round(result.after);
    result.constants.push_back({.constant = c,
                                .offset = found.values[k],
                                .deviation = found.deviations[k],
                                .prior = p.prior_deviation,
                                .determined = std::max(0.0, 1 - share * share),
                                .is_at_bound = found.values[k] == p.highest || (found.values[k] == p.lowest && p.lowest < 0)});
  }
  for (std::size_t i = 0; i < fit.size(); ++i) result.tables.push_back(fit.error(i, found.values, i < fitted.size()));
  return result;
}

std::vector<TableError> leave_one_out(const TuningSpec& tuning, const std::vector<MeasuredTable>& tables) {
  Fit fit(tuning);
  for (const MeasuredTable& t : tables) {
    if (t.rows.empty()) continue;
    try {
      fit.add(t, false);
    } catch (const UserError&) {
      continue;
    }
  }
  const LeastSquaresFit all = fit.run(
      kLeaveOneOutPrior, [&fit](std::size_t i) { return fit.table(i).table().members.size() <= kMostFittedRanks; }, fit.start(),
      fit.all_constants(), 0);
  std::vector<TableError> errors;
  for (std::size_t out = 0; out < fit.size(); ++out) {
    const std::vector<std::size_t>& own = fit.table(out).constants();
    // Tables that share no constant with it have no say.
    const auto counts = [&](std::size_t i) {
      const std::vector<std::size_t>& of = fit.table(i).constants();
      return i != out && fit.table(i).table().members.size() <= kMostFittedRanks &&
             std::find_first_of(of.begin(), of.end(), own.begin(), own.end()) != of.end();
    };
    errors.push_back(fit.error(out, fit.run(kLeaveOneOutPrior, counts, all.values, own, 0).values, false));
  }
  return errors;
}

}  // namespace lockstep
