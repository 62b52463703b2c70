// SPDX-License-Identifier: Apache-2.0
// Renderings of an Explanation. JSON is the contract: {waterfall: [{name, seconds, share, mfu_after}], causes: [{name, share, text, remedy}],
// upgrades: [{name, kind, what, step_time_s, gain, set} or {..., reason}]} beside what identifies the run. Seconds of the waterfall add up
// to step_time_s; gain is in throughput. CSV is the waterfall and the upgrades as rows of one table.
#pragma once

#include <string>

#include "sim/experiment/explain/explain.h"

namespace lockstep {

[[nodiscard]] std::string to_json(const Explanation& e);
[[nodiscard]] std::string to_csv(const Explanation& e);
[[nodiscard]] std::string to_markdown(const Explanation& e);
[[nodiscard]] std::string to_table(const Explanation& e);

}  // namespace lockstep
