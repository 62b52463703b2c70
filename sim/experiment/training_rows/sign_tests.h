// SPDX-License-Identifier: Apache-2.0
// Sign tests of training, validation/training-signs.csv below a root of the library: how one plan compares with another, whatever the errors of
// either. A line names two rows of the training tables (`row`, `per_row`: TABLE:LINE), whose measured ratio follows from them, or two runs of its own
// (sim/experiment/reported_run.h) for what a publication claims and no table has; `expect` is the inequality of the predicted ratio.
// Not predicted, a row makes its tests fail.
#pragma once

#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_library.h"
#include "sim/experiment/expectation.h"
#include "sim/experiment/validation.h"

namespace lockstep {

inline constexpr const char* kTrainingSigns = "training-signs";

class TrainingSigns {
 public:
  // Runs what needs no row. Errors in the file go to the diagnostics.
  TrainingSigns(const ConfigLibrary& library, Diagnostics& d);
  // Of any file, for tests.
  TrainingSigns(std::istream& csv, const std::string& file, const ConfigLibrary& library, Diagnostics& d);

  // Whether a test is about a line of a table.
  [[nodiscard]] bool names(std::string_view table, int line) const;
  // Adds the tests, by the predictions of `result`, and the limit that they all hold.
  void add_to(SuiteResult& result) const;

 private:
  struct Row {
    std::string table;
    int line = 0;
  };
  // Without rows it is done.
  struct Line {
    SignTest test;
    Expectation expectation;
    std::optional<Row> row;
    Row per_row;
  };

  void read(std::istream& csv, const std::string& file, const ConfigLibrary& library, Diagnostics& d);
  static std::optional<Row> parse_row(std::string_view text);

  std::vector<Line> lines_;
};

}  // namespace lockstep
