// SPDX-License-Identifier: Apache-2.0
#include "workloads/import/megatron/launch.h"

namespace lockstep {
namespace {

constexpr int kMostNested = 8;

// What a list of scalars says, as one argument with many values.
void add(const Node& value, const std::string& key, Launch& launch, int depth);

void add_map(const Node& map, Launch& launch, int depth) {
  for (std::size_t i = 0; i < map.size(); ++i) {
    if (map.key(i) == "ENV_VARS") continue;  // environment, not arguments
    add(map.at(i), map.key(i), launch, depth);
  }
}

void add(const Node& value, const std::string& key, Launch& launch, int depth) {
  if (value.is_null()) return;
  LaunchArgument argument{.name = argument_name(key), .position = value.position(), .values = {}};
  if (value.is_scalar()) {
    argument.values.push_back({value.text(), value.position()});
  } else if (value.is_sequence()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (value.at(i).is_scalar()) argument.values.push_back({value.at(i).text(), value.at(i).position()});
      if (value.at(i).is_map() && depth < kMostNested) add_map(value.at(i), launch, depth + 1);
    }
  } else if (depth < kMostNested) {
    // zero_optimization: {stage: 1} of DeepSpeed and GPT-NeoX keeps its own keys.
    const Node stage = argument.name == "zero-optimization" ? value.find("stage") : Node();
    if (stage && stage.is_scalar())
      launch.arguments.push_back({"zero-stage", stage.position(), {{stage.text(), stage.position()}}});
    const bool is_sub_configuration = argument.name == "zero-optimization" || argument.name == "optimizer";
    if (is_sub_configuration) return;
    if (argument.name == "fp16" || argument.name == "bf16") {
      const Node enabled = value.find("enabled");
      if (enabled && enabled.is_scalar()) {
        launch.arguments.push_back({argument.name, enabled.position(), {{enabled.text(), enabled.position()}}});
      }
      return;
    }
    return add_map(value, launch, depth + 1);
  }
  launch.arguments.push_back(std::move(argument));
}

}  // namespace

Launch launch_of_document(const Document& document) {
  Launch launch{.file = document.file(), .arguments = {}, .written = {}, .is_document = true};
  if (document.root().is_map()) add_map(document.root(), launch, 0);
  return launch;
}

}  // namespace lockstep
