// SPDX-License-Identifier: Apache-2.0
// Spearman's rank correlation: Pearson's of the ranks, equal values sharing the mean of theirs (C. Spearman, 1904). It tells whether a prediction
// orders the plans of a sweep as the measurement does, whatever its bias.
#pragma once

#include <optional>
#include <vector>

namespace lockstep {

// PRE: equal lengths. Nothing where one side has fewer than two different values.
[[nodiscard]] std::optional<double> rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace lockstep
