// SPDX-License-Identifier: Apache-2.0
// Source of the keys: https://www.deepspeed.ai/docs/config-json/
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "workloads/import/megatron/job_import.h"
#include "workloads/import/shell/traced_text.h"

namespace lockstep {
namespace {

std::optional<Document> open_config(const Launch& launch, const LaunchWord& name, Diagnostics& d) {
  if (const auto written = launch.written.find(name.text); written != launch.written.end()) {
    std::string text;
    for (const char c : written->second) text += c == TracedText::kUnknown ? std::string("null") : std::string(1, c);
    return Document::parse(text, fmt::format("{} (the configuration it writes)", launch.file), d, DocumentFormat::kJson);
  }
  const std::filesystem::path beside = std::filesystem::path(launch.file).parent_path() / name.text;
  std::error_code none;
  if (name.unknown.empty() && std::filesystem::is_regular_file(beside, none)) return Document::load(beside.string(), d);
  d.warning(name.position, "--deepspeed-config",
            "is neither written by the script nor beside it: what it says is not imported");
  return std::nullopt;
}

}  // namespace

Launch with_deepspeed_config(const Launch& launch, Diagnostics& d) {
  Launch out = launch;
  const auto given = std::find_if(launch.arguments.rbegin(), launch.arguments.rend(), [](const LaunchArgument& a) {
    return (a.name == "deepspeed-config" || a.name == "ds-config") && !a.values.empty();
  });
  if (given == launch.arguments.rend()) return out;
  const std::optional<Document> document = open_config(launch, given->values.front(), d);
  if (!document) return out;
  std::vector<LaunchArgument> from;
  const auto take = [&from](const Node& map, std::string_view key, const char* name) {
    const Node value = map ? map.find(key) : Node();
    if (!value || !value.is_scalar() || value.text() == "auto") return;
    from.push_back({name, value.position(), {{value.text(), value.position()}}});
  };
  const Node root = document->root();
  const Node zero = root.find("zero_optimization");
  take(root, "train_micro_batch_size_per_gpu", "micro-batch-size");
  take(root, "train_batch_size", "global-batch-size");
  take(root, "gradient_accumulation_steps", "gradient-accumulation-steps");
  take(zero, "stage", "zero-stage");
  take(zero, "overlap_comm", "overlap-comm");
  take(zero ? zero.find("offload_optimizer") : Node(), "device", "offload-optimizer-device");
  take(root.find("bf16"), "enabled", "bf16");
  take(root.find("fp16"), "enabled", "fp16");
  out.arguments.insert(out.arguments.begin(), from.begin(), from.end());
  return out;
}

bool is_deepspeed(LaunchReader& a) {
  const bool is_asked = a.flag("deepspeed");
  return a.find({"deepspeed-config", "ds-config", "zero-stage"}) != nullptr || is_asked;
}

}  // namespace lockstep
