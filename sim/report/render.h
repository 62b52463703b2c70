// SPDX-License-Identifier: Apache-2.0
// Renderings of a RunResult. JSON is the contract (docs/output.md); CSV and Markdown are the same object with nested keys joined by dots,
// so a column means the same thing everywhere. The table is for people: scaled units, no more digits than can be meant.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/report/shared_result.h"

namespace lockstep {

inline constexpr int kSchemaVersion = 1;

[[nodiscard]] std::string to_json(const RunResult& r);  // one object, two-space indent, newline at the end
// All of the object but `measured` on one line, to be kept; and what CSV shows of it, in order.
[[nodiscard]] std::string to_record(const RunResult& r);
using Cells = std::vector<std::pair<std::string, std::string>>;  // key, text
[[nodiscard]] Cells cells_of_record(const std::string& record);
[[nodiscard]] std::string to_csv(const RunResult& r);       // header and one row; without links and measured
[[nodiscard]] std::string to_markdown(const RunResult& r);  // key | value
[[nodiscard]] std::string to_table(const RunResult& r);

// Of several jobs: `jobs` is a list of such objects, jobs.0.step_time_s and so on in CSV.
[[nodiscard]] std::string to_json(const SharedRunResult& r);
[[nodiscard]] std::string to_record(const SharedRunResult& r);
[[nodiscard]] std::string to_csv(const SharedRunResult& r);
[[nodiscard]] std::string to_markdown(const SharedRunResult& r);
[[nodiscard]] std::string to_table(const SharedRunResult& r);

}  // namespace lockstep
