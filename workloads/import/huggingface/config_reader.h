// SPDX-License-Identifier: Apache-2.0
// Keys of a config.json of Hugging Face transformers, as that library takes them: absent and null are the same, and one idea has several
// names (hidden_size, n_embd, d_model). Errors are collected at the key.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/document.h"
#include "base/read_context.h"

namespace lockstep::huggingface {

// The first name is the one that errors use.
using Names = std::initializer_list<std::string_view>;

class ConfigReader {
 public:
  // `map` is the root, or what a key of it holds; `path` is that of `map` in the configuration.
  ConfigReader(const Node& map, ReadContext& context, std::string path)
      : ConfigReader(map, context, std::move(path), map.position()) {}

  // No Node when absent or null.
  [[nodiscard]] Node value(Names names) const;
  [[nodiscard]] bool has(Names names) const { return static_cast<bool>(value(names)); }
  // From 1 to `highest`; an error, and 0, where it is absent.
  std::int64_t integer(Names names, std::int64_t highest);
  std::int64_t integer_or(Names names, std::int64_t highest, std::int64_t fallback);
  // From 0.
  std::int64_t count_or(Names names, std::int64_t highest, std::int64_t fallback);
  bool flag(Names names, bool fallback = false);
  // Probability of dropout or the like: whether it is above 0.
  bool is_positive(Names names, bool fallback);
  [[nodiscard]] std::string text(Names names) const;  // empty when absent
  // A map below; no Node inside, hence all keys absent, when there is none.
  [[nodiscard]] ConfigReader below(std::string_view key) const;

  void error(std::string_view key, std::string message, std::string hint);
  void warning(std::string_view key, std::string message);

 private:
  ConfigReader(const Node& map, ReadContext& context, std::string path, Position around)
      : map_(map), context_(&context), path_(std::move(path)), around_(std::move(around)) {}
  [[nodiscard]] Position position_of(std::string_view key) const;
  std::optional<std::int64_t> find_integer(Names names, std::int64_t lowest, std::int64_t highest);
  [[nodiscard]] std::string_view used_name(Names names) const;

  Node map_;
  ReadContext* context_;
  std::string path_;
  Position around_;  // of absent keys
};

}  // namespace lockstep::huggingface
