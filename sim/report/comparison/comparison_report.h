// SPDX-License-Identifier: Apache-2.0
// Renderings of comparisons: each result beside the first one. JSON and CSV have every value that was compared; the table and Markdown those
// that differ, what matters most on top, and of results with many rows the largest differences.
#pragma once

#include <span>
#include <string>

#include "sim/report/comparison/comparison.h"

namespace lockstep {

// "A", "B", ... of the results in the order given.
[[nodiscard]] std::string side_name(std::size_t i);

// All with the same `a`. PRE: at least one. `is_whole`: every row that differs, however many.
[[nodiscard]] std::string to_table(std::span<const Comparison> comparisons, bool is_whole);
[[nodiscard]] std::string to_markdown(std::span<const Comparison> comparisons, bool is_whole);
[[nodiscard]] std::string to_csv(std::span<const Comparison> comparisons);
[[nodiscard]] std::string to_json(std::span<const Comparison> comparisons);

// What is above its bound in one line, the first few by name; empty if nothing is.
[[nodiscard]] std::string failure_sentence(const Comparison& c, const std::string& side);

}  // namespace lockstep
