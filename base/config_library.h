// SPDX-License-Identifier: Apache-2.0
// Where shipped and own configurations are found by name. A reference is either a file (it has a '/' or ends in .yaml, .yml or .json;
// relative to the file that refers to it) or a name, looked up as FOLDER/NAME.yaml in each root in turn: $LOCKSTEP_CONFIGS, the source
// tree, the installed configurations. Reads the file system, keeps no state.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"

namespace lockstep {

// "cluster" -> "clusters", "gpu" -> "hardware/gpu". Empty for an unknown kind.
[[nodiscard]] std::string config_folder(std::string_view kind);

struct ConfigEntry {
  std::string name;  // "dgx-h100"
  std::string file;
};

class ConfigLibrary {
 public:
  explicit ConfigLibrary(std::vector<std::string> roots) : roots_(std::move(roots)) {}

  [[nodiscard]] const std::vector<std::string>& roots() const { return roots_; }
  // Names of a kind in all roots, sorted; an earlier root hides a later one.
  [[nodiscard]] std::vector<ConfigEntry> entries(std::string_view kind) const;
  // The file a reference means, or nothing (with an error at `position` that lists what there is).
  [[nodiscard]] std::optional<std::string> resolve(std::string_view kind, const std::string& reference,
                                                   const Position& position, const std::string& path, Diagnostics& d) const;
  // resolve() and Document::load().
  [[nodiscard]] std::optional<Document> open(std::string_view kind, const std::string& reference, const Position& position,
                                             const std::string& path, Diagnostics& d) const;

 private:
  std::vector<std::string> roots_;
};

}  // namespace lockstep
