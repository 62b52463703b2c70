// SPDX-License-Identifier: Apache-2.0
// Prediction beside measurement. A suite reads a CSV of published measurements, keeps the rows that one mechanical rule admits, predicts
// each with the shipped hardware constants, and reports every error. error = (predicted - measured) / measured.
//
//   collectives  rows of nccl-tests tables of any size whose cluster their columns describe
//   kernels      measured efficiencies of matrix products, grouped ones and fused attention, by shape and GPU (gemm-efficiency)
//   training     rows of whole training steps with their plan, all tables in training/, and sign tests of plans (training-signs)
//   field        reports of users of real clusters, jobs and collectives, some as ratios (field-cases)
//
// No constant is chosen by table, source or row.
#pragma once

#include <functional>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "base/config_library.h"
#include "base/diagnostics.h"
#include "base/index_range.h"

namespace lockstep {

struct Prediction {
  std::string source;  // table id, or the CSV's name
  int row = 0;         // line in the CSV, the header being 1
  std::string what;    // "all_reduce 8 GPUs 1 GiB", "GPT 175B tp8 pp8"
  std::string metric;  // "busbw_gb_per_s", "step_time_s"
  double measured = 0;
  double predicted = 0;
  std::string remark;           // what was assumed, why it is off; may be empty
  std::string publisher = {};   // who measured several sources; may be empty
  std::int64_t size_bytes = 0;  // of a collective; 0: not about one size
  std::string sweep = {};       // rows of a source that one machine and one software ran have one name; empty: no sweep
  std::string plans = {};       // those among them that differ in plan only
  double work = 0;              // what the times of a sweep are divided by to compare plans: tokens per GPU
  [[nodiscard]] double error() const { return (predicted - measured) / measured; }
};

struct SkippedRow {
  std::string source;
  int row = 0;
  std::string reason;
  bool is_eligible = false;  // the row says enough: what is missing is ours
};

struct ErrorStatistics {
  std::size_t rows = 0;
  double median_abs_error = 0;
  double mean_abs_error = 0;
  double p90_abs_error = 0;
  double bias = 0;  // mean of signed errors
};

// A number that a suite must not exceed, or reach.
struct Limit {
  std::string what;
  double asked = 0;
  double found = 0;
  bool is_least = false;  // the least that is asked; otherwise the most
  [[nodiscard]] bool holds() const { return is_least ? found >= asked : found <= asked; }
};

// A direction that reports agree on, where they leave too much out for a number.
struct SignTest {
  std::string source;
  int row = 0;
  std::string what;
  std::string metric;
  std::string expected;  // "above 1.5", "below 0.7", "0.9 to 1.1"
  double predicted = 0;
  bool holds = false;
  std::string measured;  // as reported; may be empty
  std::string remark;    // may be empty
};

struct SuiteResult {
  std::string suite;
  std::string rule;  // which rows are eligible, in words
  std::vector<Prediction> predictions;
  std::vector<SignTest> signs;
  std::vector<SkippedRow> skipped;
  std::vector<Limit> limits;                // that the suite asks for
  std::vector<std::string> uncounted = {};  // sources that are reported and enter no average
};

// Of all predictions, or of one source.
[[nodiscard]] ErrorStatistics statistics(const SuiteResult& r, const std::optional<std::string>& source = {});
[[nodiscard]] std::vector<std::string> sources(const SuiteResult& r);  // in order of first appearance

// Spearman's rank correlation of measured and predicted time per work within groups of a source's rows (&Prediction::sweep or
// &Prediction::plans) that have at least kLeastSweep rows, averaged by rows. Nothing without such a group.
inline constexpr std::size_t kLeastSweep = 4;
[[nodiscard]] std::optional<double> spearman(const SuiteResult& r, const std::string& source,
                                             std::string Prediction::*group = &Prediction::sweep);

// Averages over sources with at least kLeastRows rows that are counted.
inline constexpr std::size_t kLeastRows = 8;
struct Headline {
  std::size_t sources = 0;
  double median_abs_error = 0;
  double mean_abs_error = 0;
};
[[nodiscard]] Headline headline(const SuiteResult& r);
[[nodiscard]] bool is_counted(const SuiteResult& r, const std::string& source);

// Of predictions with sizes. Below 1 MiB latencies decide, and errors are factors: predicted in [measured / 2, 2 measured].
inline constexpr std::int64_t kLargeSize = std::int64_t{1} << 20;
struct SizeStatistics {
  ErrorStatistics large;
  std::size_t small_rows = 0;
  std::size_t within_two = 0;
  double small_median_ratio = 0;                  // predicted over measured; 0 without rows
  [[nodiscard]] double within_two_share() const;  // 1 without rows
};
[[nodiscard]] SizeStatistics size_statistics(const SuiteResult& r, const std::function<bool(const Prediction&)>& counts);

struct SuiteOptions {
  std::size_t threads = 1;
  std::vector<IndexRange> lines = {};                                      // of the CSVs; empty: all
  std::string source = {};                                                 // empty: all
  std::function<void(std::size_t done, std::size_t of)> on_progress = {};  // called by any thread, one at a time
};

struct Suite {
  std::string name;
  std::string doc;
  std::string default_file;  // below configs/validation; a folder: all CSVs in it, in order of their names
  // Errors in the CSV go to the diagnostics.
  std::function<SuiteResult(std::istream& csv, const std::string& file, const ConfigLibrary& library, Diagnostics& diagnostics)>
      run;
  // Of a suite of several tables whose rows can be chosen, instead of `run`. `is_whole`: the files are the shipped ones, which limits are about.
  std::function<SuiteResult(const std::vector<std::string>& files, bool is_whole, const ConfigLibrary& library,
                            const SuiteOptions& options, Diagnostics& diagnostics)>
      run_files = {};
};
[[nodiscard]] const std::vector<Suite>& suites();

}  // namespace lockstep
