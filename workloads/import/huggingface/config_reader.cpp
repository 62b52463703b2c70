// SPDX-License-Identifier: Apache-2.0
#include "workloads/import/huggingface/config_reader.h"

#include <fmt/format.h>

#include "base/value_codec.h"

namespace lockstep::huggingface {

Node ConfigReader::value(Names names) const {
  for (const std::string_view name : names) {
    const Node node = map_ ? map_.find(name) : Node();
    if (node && !node.is_null()) return node;
  }
  return {};
}

std::string_view ConfigReader::used_name(Names names) const {
  for (const std::string_view name : names) {
    if (value({name})) return name;
  }
  return *names.begin();
}

std::optional<std::int64_t> ConfigReader::find_integer(Names names, std::int64_t lowest, std::int64_t highest) {
  const Node node = value(names);
  if (!node) return std::nullopt;
  const Parsed<std::int64_t> parsed = node.is_scalar() && !node.is_quoted() ? parse_int(node.text()) : Parsed<std::int64_t>{};
  if (parsed && *parsed.value >= lowest && *parsed.value <= highest) return *parsed.value;
  error(used_name(names),
        node.is_scalar() ? fmt::format("'{}' is no number from {} to {}", node.text(), lowest, highest) : "is no number", {});
  return lowest;
}

std::int64_t ConfigReader::integer(Names names, std::int64_t highest) {
  if (const auto found = find_integer(names, 1, highest)) return *found;
  const std::string_view first = *names.begin();
  std::string others;
  for (const std::string_view name : names) {
    if (name != first) others += (others.empty() ? "" : ", ") + std::string(name);
  }
  error(first, "is missing",
        others.empty() ? "a config.json of this model_type has it" : fmt::format("other names that are read: {}", others));
  return 0;
}

std::int64_t ConfigReader::integer_or(Names names, std::int64_t highest, std::int64_t fallback) {
  return find_integer(names, 1, highest).value_or(fallback);
}

std::int64_t ConfigReader::count_or(Names names, std::int64_t highest, std::int64_t fallback) {
  return find_integer(names, 0, highest).value_or(fallback);
}

bool ConfigReader::flag(Names names, bool fallback) {
  const Node node = value(names);
  if (!node) return fallback;
  if (node.is_scalar() && (node.text() == "true" || node.text() == "false")) return node.text() == "true";
  error(used_name(names), "is neither true nor false", {});
  return fallback;
}

bool ConfigReader::is_positive(Names names, bool fallback) {
  const Node node = value(names);
  if (!node || !node.is_scalar()) return fallback;
  return node.text().find_first_of("123456789") != std::string::npos && node.text().front() != '-';
}

std::string ConfigReader::text(Names names) const {
  const Node node = value(names);
  return node && node.is_scalar() ? node.text() : "";
}

ConfigReader ConfigReader::below(std::string_view key) const {
  const Node node = value({key});
  return {node && node.is_map() ? node : Node(), *context_, join_path(path_, key), node ? node.position() : around_};
}

Position ConfigReader::position_of(std::string_view key) const {
  const Node node = map_ ? map_.find(key) : Node();
  return node ? node.position() : around_;
}

void ConfigReader::error(std::string_view key, std::string message, std::string hint) {
  context_->diagnostics().error(position_of(key), join_path(path_, key), std::move(message), std::move(hint));
}

void ConfigReader::warning(std::string_view key, std::string message) {
  context_->diagnostics().warning(position_of(key), join_path(path_, key), std::move(message));
}

}  // namespace lockstep::huggingface
