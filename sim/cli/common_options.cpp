// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/common_options.h"

#include <limits>
#include <ostream>

#include "sim/cli/command_line.h"

namespace lockstep::cli {

OptionSpec set_option() {
  return {.name = "set",
          .value_name = "PATH=VALUE",
          .doc = "replaces a value of the configuration, applied last",
          .is_repeatable = true};
}

OptionSpec seed_option() {
  return {.name = "seed", .value_name = "N", .doc = "seed of all random choices", .default_text = "0"};
}

OptionSpec format_option(std::vector<std::string> formats) {
  OptionSpec option{.name = "format", .value_name = "FORMAT", .doc = "form of the results"};
  option.default_text = formats.front();
  option.choices = std::move(formats);
  return option;
}

OptionSpec cluster_option(bool is_required) {
  return {.name = "cluster",
          .value_name = "C.yaml",
          .doc = "the cluster: a file, or a name of lockstep list clusters",
          .is_required = is_required};
}

OptionSpec network_model_option() {
  return {.name = "network",
          .value_name = "MODEL",
          .doc = "network model",
          .default_text = "flow",
          .choices = {"analytic", "flow"}};
}

std::uint64_t seed_of(const Arguments& arguments) {
  return static_cast<std::uint64_t>(arguments.integer("seed", 0, std::numeric_limits<std::int64_t>::max()).value_or(0));
}

void apply_sets(const Arguments& arguments, Document& document, Diagnostics& d) {
  for (const std::string& assignment : arguments.all("set")) document.set(assignment, d);
}

void print_warnings(const VerbContext& context, const Diagnostics& d) { print_diagnostics(context.err, d, false); }

}  // namespace lockstep::cli
