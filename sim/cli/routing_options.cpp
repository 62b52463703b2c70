// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/routing_options.h"

#include <fmt/format.h>

#include <ostream>

#include "base/diagnostics.h"
#include "base/quantity.h"
#include "sim/cli/common_options.h"
#include "sim/engine/process_usage.h"

namespace lockstep::cli {
namespace {

constexpr RoutingPolicy kPolicies[] = {RoutingPolicy::kEcmp, RoutingPolicy::kSpray, RoutingPolicy::kStatic,
                                       RoutingPolicy::kFlowlet, RoutingPolicy::kAdaptive};
constexpr int kMostSeeds = 10'000;

RoutingPolicy policy_of(const std::string& name) {
  std::vector<std::string> names;
  for (const RoutingPolicy p : kPolicies) {
    if (name == to_text(p)) return p;
    names.emplace_back(to_text(p));
  }
  const std::string guess = closest(name, names);
  throw UserError(
      fmt::format("--routing: there is no routing '{}'", name),
      fmt::format("{}one of {}", guess.empty() ? "" : fmt::format("did you mean {}? ", guess), fmt::join(names, ", ")));
}

// "ecmp", "ecmp:4". Without a number as many queue pairs as `otherwise` has.
Routing routing_of(const std::string& text, Routing otherwise) {
  const std::size_t colon = text.find(':');
  otherwise.policy = policy_of(text.substr(0, colon));
  if (colon == std::string::npos) return otherwise;
  const Parsed<std::int64_t> pairs = parse_int(text.substr(colon + 1));
  if (!pairs || *pairs.value < 1 || *pairs.value > kMostQueuePairs) {
    throw UserError(fmt::format("--routing: '{}' is no number of queue pairs", text.substr(colon + 1)),
                    fmt::format("1 to {}, as in {}:4", kMostQueuePairs, to_text(otherwise.policy)));
  }
  otherwise.queue_pairs = static_cast<int>(*pairs.value);
  return otherwise;
}

}  // namespace

OptionSpec routing_option() {
  return {.name = "routing",
          .value_name = "LIST",
          .doc = "compare these, POLICY[:QUEUE_PAIRS] separated by commas: ecmp,ecmp:4,flowlet,adaptive,spray"};
}

OptionSpec seeds_option() {
  return {.name = "seeds", .value_name = "N", .doc = "compare over N hash seeds, from --seed on: median and worst"};
}

std::optional<RoutingTrial> routing_trial(const Arguments& arguments, const ClusterSpec& cluster) {
  if (!arguments.has("routing") && !arguments.has("seeds")) return std::nullopt;
  RoutingTrial trial{.first_seed = seed_of(arguments)};
  trial.seeds = static_cast<int>(arguments.integer("seeds", 1, kMostSeeds).value_or(1));
  const Routing own = cluster.routing_choice();
  if (!arguments.has("routing")) {
    trial.routings = {own};
    return trial;
  }
  const std::string list = arguments.text("routing");
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    trial.routings.push_back(routing_of(list.substr(begin, end - begin), own));
    begin = end + 1;
  }
  return trial;
}

void print_comparison(const VerbContext& context, const RoutingTrial& trial, double begin_s, RoutingReport report) {
  report.network = context.arguments.text("network");
  report.first_seed = trial.first_seed;
  report.seeds = trial.seeds;
  report.wall_s = monotonic_seconds() - begin_s;
  report.peak_rss_bytes = peak_resident_bytes();
  const bool has_format = context.arguments.has("format");
  const std::string format = has_format ? context.arguments.text("format") : "table";
  context.out << (format == "json" ? to_json(report) : format == "csv" ? to_csv(report) : to_table(report));
}

}  // namespace lockstep::cli
