// SPDX-License-Identifier: Apache-2.0
// A run that a row of a table describes: a shipped scenario with the keys it changes (`scenario`, `set`: KEY=VALUE;KEY=VALUE), or a collective on
// the first GPUs of a shipped cluster (`cluster`, `collective`, `gpus`, `size`, `set`), and of it the number `metric` names. With columns `per_*` it is
// the ratio to that of a second run: what is blank there is that of the first, but its assignments are its own. A table may lack columns that it never
// needs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/config_library.h"
#include "base/csv.h"
#include "base/diagnostics.h"
#include "topology/cluster_spec.h"

namespace lockstep {

struct CollectiveRequest;

class ReportedRun {
 public:
  ReportedRun(const CsvReader& row, const ConfigLibrary& library, Diagnostics& diagnostics)
      : row_(row), library_(library), diagnostics_(diagnostics) {}

  // Empty where the table has no such column.
  [[nodiscard]] std::string_view cell(std::string_view column) const;
  [[nodiscard]] bool is_ratio() const;
  // "ratio of step_time_s"
  [[nodiscard]] std::string metric() const;

  // Nothing when the row is wrong; the diagnostics say why.
  std::optional<double> predict();
  // PRE: the table has the column.
  void fail(std::string_view column, std::string message);

 private:
  struct Columns {
    const char* scenario;
    const char* cluster;
    const char* collective;
    const char* gpus;
    const char* set;
  };
  static constexpr Columns kFirst = {"scenario", "cluster", "collective", "gpus", "set"};
  static constexpr Columns kSecond = {"per_scenario", "per_cluster", "per_collective", "per_gpus", "per_set"};

  std::optional<double> run(const Columns& c);
  std::optional<double> job(const Columns& c);
  std::optional<double> collective(const Columns& c);
  void read_collective(const char* column, CollectiveRequest& request);
  std::optional<ClusterSpec> cluster(const Columns& c);

  const CsvReader& row_;
  const ConfigLibrary& library_;
  Diagnostics& diagnostics_;
};

}  // namespace lockstep
