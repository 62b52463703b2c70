// SPDX-License-Identifier: Apache-2.0
#include "workloads/import/megatron/launch_reader.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/quantity.h"

namespace lockstep {
namespace {

std::string shown(const LaunchArgument& argument) { return (argument.name.size() == 1 ? "-" : "--") + argument.name; }

}  // namespace

const LaunchArgument* LaunchReader::find(std::initializer_list<std::string_view> names) {
  const LaunchArgument* last = nullptr;
  for (const std::string_view name : names) asked_.emplace(name);
  for (const LaunchArgument& a : launch_.arguments) {
    if (std::find(names.begin(), names.end(), a.name) != names.end()) last = &a;
  }
  return last;
}

bool LaunchReader::is_set(const LaunchArgument* argument) {
  if (argument == nullptr) return false;
  if (argument->values.empty()) return true;
  const std::string& t = argument->values.front().text;
  return t != "false" && t != "False" && t != "0" && t != "no";
}

const LaunchWord* LaunchReader::word(const LaunchArgument& argument) {
  if (argument.values.empty()) {
    error(argument, "has no value");
    return nullptr;
  }
  const LaunchWord& w = argument.values.front();
  if (w.unknown.empty()) return &w;
  const std::string where = fmt::format("{}:{}", w.position.line, w.position.column);
  if (refused_.insert(where + argument.name).second) {
    context_.diagnostics().error(w.position, shown(argument), fmt::format("is {}, which is not known here", w.unknown),
                                 way_out(argument));
  }
  return nullptr;
}

std::int64_t LaunchReader::integer(const LaunchArgument* argument, std::int64_t fallback, std::int64_t lowest) {
  const LaunchWord* w = argument != nullptr ? word(*argument) : nullptr;
  if (w == nullptr) return fallback;
  const Parsed<std::int64_t> parsed = parse_int(w->text);
  if (parsed && *parsed.value >= lowest && *parsed.value <= (std::int64_t{1} << 40)) return *parsed.value;
  context_.diagnostics().error(w->position, shown(*argument),
                               parsed ? fmt::format("{} is out of range", w->text) : parsed.error,
                               fmt::format("a whole number from {}", lowest));
  return fallback;
}

double LaunchReader::number(const LaunchArgument* argument, double fallback) {
  const LaunchWord* w = argument != nullptr ? word(*argument) : nullptr;
  if (w == nullptr) return fallback;
  const Parsed<double> parsed = parse_double(w->text);
  if (parsed) return *parsed.value;
  context_.diagnostics().error(w->position, shown(*argument), parsed.error, parsed.hint);
  return fallback;
}

std::string LaunchReader::text(const LaunchArgument* argument, std::string fallback) {
  const LaunchWord* w = argument != nullptr ? word(*argument) : nullptr;
  return w == nullptr ? fallback : w->text;
}

std::int64_t LaunchReader::required(std::initializer_list<std::string_view> names) {
  const LaunchArgument* argument = find(names);
  if (argument != nullptr) return integer(argument, 1);
  context_.diagnostics().error({launch_.file, 0, 0}, fmt::format("--{}", *names.begin()), "is missing",
                               fmt::format("--set {}=N", *names.begin()));
  return 1;
}

// A variable is given by its name; what is no variable, like $(date), by the argument.
std::string LaunchReader::way_out(const LaunchArgument& argument) {
  const std::string unknown = argument.values.empty() ? std::string() : argument.values.front().unknown;
  std::string name = unknown.substr(std::min<std::size_t>(1, unknown.size()));
  const bool is_name = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!is_name || name.empty()) name = argument.name;
  return fmt::format("--set {}=VALUE", name);
}

void LaunchReader::error(const LaunchArgument& argument, std::string message, std::string hint) {
  context_.diagnostics().error(argument.position, shown(argument), std::move(message), std::move(hint));
}

void LaunchReader::warning(const LaunchArgument& argument, std::string message, std::string hint) {
  context_.diagnostics().warning(argument.position, shown(argument), std::move(message), std::move(hint));
}

void LaunchReader::warn_about_the_rest() {
  for (const LaunchArgument& a : launch_.arguments) {
    if (a.is_of_launcher || asked_.contains(a.name) || has_no_effect_on_speed(a.name)) continue;
    asked_.insert(a.name);
    warning(a, "has no meaning here and is ignored");
  }
}

}  // namespace lockstep
