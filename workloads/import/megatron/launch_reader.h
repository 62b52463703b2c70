// SPDX-License-Identifier: Apache-2.0
// Asks for launch arguments one by one: the last of a name counts, what was asked for is known to be used, and what is wrong with a value is
// an error where it was written. Notes where each imported value comes from (ReadContext::note_origin).
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

#include "base/read_context.h"
#include "workloads/import/megatron/launch.h"

namespace lockstep {

class LaunchReader {
 public:
  LaunchReader(const Launch& launch, ReadContext& context) : launch_(launch), context_(context) {}

  // The last argument of any of these names, or nullptr.
  const LaunchArgument* find(std::initializer_list<std::string_view> names);
  const LaunchArgument* find(std::string_view name) { return find({name}); }
  // Given, and not as `false`.
  bool flag(std::string_view name) { return is_set(find(name)); }
  static bool is_set(const LaunchArgument* argument);
  // The value, or `fallback` where there is no argument or something wrong with it (an error says what).
  std::int64_t integer(const LaunchArgument* argument, std::int64_t fallback, std::int64_t lowest = 1);
  std::int64_t integer(std::string_view name, std::int64_t fallback) { return integer(find(name), fallback); }
  double number(const LaunchArgument* argument, double fallback);
  std::string text(const LaunchArgument* argument, std::string fallback = {});
  // An integer that must be there.
  std::int64_t required(std::initializer_list<std::string_view> names);

  // `value` into `out`, which has the key `path` in a job. nullptr: by default of the launched software.
  template <class V, class U>
  void set(V& out, const U& value, const std::string& path, const LaunchArgument* from) {
    out = V(value);
    context_.note_origin(path, from != nullptr ? from->position : Position{"default of the launched software", 0, 0});
  }

  // What to say instead of an unknown value: "--set SLURM_NNODES=VALUE".
  [[nodiscard]] static std::string way_out(const LaunchArgument& argument);
  void error(const LaunchArgument& argument, std::string message, std::string hint = {});
  void warning(const LaunchArgument& argument, std::string message, std::string hint = {});
  [[nodiscard]] ReadContext& context() { return context_; }
  [[nodiscard]] const Launch& launch() const { return launch_; }

  // Of everything nobody asked for and that changes how fast or how large the job is for all we know.
  void warn_about_the_rest();

 private:
  [[nodiscard]] const LaunchWord* word(const LaunchArgument& argument);

  const Launch& launch_;
  ReadContext& context_;
  std::set<std::string, std::less<>> asked_;
  std::set<std::string, std::less<>> refused_;  // unknown values already reported
};

// Arguments that change neither speed nor memory: data, logging, checkpoints, learning rate.
[[nodiscard]] bool has_no_effect_on_speed(std::string_view name);

}  // namespace lockstep
