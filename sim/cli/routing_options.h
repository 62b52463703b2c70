// SPDX-License-Identifier: Apache-2.0
// The options --routing and --seeds: several routings and hash seeds side by side (sim/experiment/routing_comparison.h).
#pragma once

#include <optional>

#include "sim/cli/verb.h"
#include "sim/experiment/routing_comparison.h"
#include "sim/report/routing_report.h"

namespace lockstep::cli {

[[nodiscard]] OptionSpec routing_option();  // --routing POLICY[:QUEUE_PAIRS],...
[[nodiscard]] OptionSpec seeds_option();    // --seeds N

// What is asked to be compared; nothing when neither option is given. --seeds alone takes the routing of the cluster. Needs --seed.
[[nodiscard]] std::optional<RoutingTrial> routing_trial(const Arguments& arguments, const ClusterSpec& cluster);

// The report in the --format asked for; a table unless that is csv or json. Tells the trial, --network and, from `begin_s` on, the cost beside what
// the report says of itself.
void print_comparison(const VerbContext& context, const RoutingTrial& trial, double begin_s, RoutingReport report);

}  // namespace lockstep::cli
