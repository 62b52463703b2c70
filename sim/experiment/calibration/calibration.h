// SPDX-License-Identifier: Apache-2.0
// Constants of the collective library fitted to measured tables, all tables together: one set per generation of GPU and per
// transport, none per table. Residuals are log(predicted / measured) in units of what repeated runs differ by; priors keep what
// the tables cannot tell where it was.
#pragma once

#include <string>
#include <vector>

#include "sim/experiment/calibration/constants.h"
#include "sim/experiment/measured_tables.h"

namespace lockstep {

struct FittedConstant {
  TunableConstant constant;
  double offset = 0;
  double deviation = 0;   // of the offset, after the fit
  double prior = 0;       // the same before it
  double determined = 0;  // 0: the tables say nothing of it, 1: they say all
  bool is_at_bound = false;
};

struct TableError {
  std::string table;
  std::size_t rows = 0;
  double before = 0;  // median of |predicted / measured - 1|, of time
  double after = 0;
  double large_before = 0;  // the same of rows from 1 MiB up; 0 where there are none
  double large_after = 0;
  std::size_t large_rows = 0;
  bool is_fitted = true;  // the fit has seen the table
};

struct Calibration {
  TuningSpec before;
  TuningSpec after;
  std::vector<FittedConstant> constants;
  std::vector<TableError> tables;  // fitted ones first, then those held out, in the order given
};

// Shapes of larger groups cost too much to be made hundreds of times: their tables are judged, and no fit sees them.
inline constexpr std::size_t kMostFittedRanks = 256;

// PRE: there is a row, and no fitted table of more than kMostFittedRanks. All clusters' tunings are replaced by `tuning`, where the fit begins.
[[nodiscard]] Calibration calibrate(const TuningSpec& tuning, const std::vector<MeasuredTable>& fitted,
                                    const std::vector<MeasuredTable>& held_out);

// Each table predicted by constants fitted to all the others: those it depends on are fitted anew without it, the rest stay as a fit
// to all tables has them. Errors `after` are those of such a prediction. They are optimistic: priors stay centred on constants of `tuning`,
// which may have been fitted with the table left out, and so do the rest; wider priors lessen this, and do not remove it. Tables without
// rows, and those whose algorithm the model does not have on their GPUs, are left out. Tables of more than kMostFittedRanks GPUs are judged,
// and not fitted to.
[[nodiscard]] std::vector<TableError> leave_one_out(const TuningSpec& tuning, const std::vector<MeasuredTable>& tables);

}  // namespace lockstep
