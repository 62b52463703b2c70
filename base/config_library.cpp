// SPDX-License-Identifier: Apache-2.0
#include "base/config_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr struct {
  std::string_view kind;
  std::string_view folder;
} kFolders[] = {{"cluster", "clusters"},       {"job", "jobs"},
                {"model", "models"},           {"scenario", "scenarios"},
                {"sweep", "sweeps"},           {"gpu", "hardware/gpu"},
                {"server", "hardware/server"}, {"network", "hardware/network"},
                {"tuning", "hardware/tuning"}, {"software", "hardware/software"}};

bool is_file_reference(const std::string& reference) {
  return reference.find('/') != std::string::npos || reference.ends_with(".yaml") || reference.ends_with(".yml") ||
         reference.ends_with(".json");
}

// Relative to the file that refers to it; to the working directory when a person does.
std::string file_of(const std::string& reference, const Position& position) {
  const fs::path path(reference);
  if (path.is_absolute() || position.line == 0) return reference;
  return (fs::path(position.file).parent_path() / path).lexically_normal().string();
}

}  // namespace

std::string config_folder(std::string_view kind) {
  for (const auto& f : kFolders) {
    if (f.kind == kind) return std::string(f.folder);
  }
  return {};
}

std::vector<ConfigEntry> ConfigLibrary::entries(std::string_view kind) const {
  std::map<std::string, std::string> files;
  for (const std::string& root : roots_) {
    std::error_code error;
    fs::directory_iterator folder(fs::path(root) / config_folder(kind), error);
    for (; !error && folder != fs::directory_iterator(); folder.increment(error)) {
      const fs::path& file = folder->path();
      if (file.extension() == ".yaml") files.emplace(file.stem().string(), file.string());
    }
  }
  std::vector<ConfigEntry> result;
  for (const auto& [name, file] : files) result.push_back({name, file});
  return result;
}

std::optional<std::string> ConfigLibrary::resolve(std::string_view kind, const std::string& reference, const Position& position,
                                                  const std::string& path, Diagnostics& d) const {
  std::error_code error;
  if (reference == "-") return reference;
  if (is_file_reference(reference)) {
    const std::string file = file_of(reference, position);
    if (fs::exists(file, error)) return file;
    d.error(position, path, fmt::format("no such file: {}", file));
    return std::nullopt;
  }
  const std::vector<ConfigEntry> known = entries(kind);
  std::vector<std::string> names;
  for (const ConfigEntry& e : known) {
    if (e.name == reference) return e.file;
    names.push_back(e.name);
  }
  const std::string guess = closest(reference, names);
  std::string hint = guess.empty() ? "" : fmt::format("did you mean '{}'? ", guess);
  hint += fs::exists(reference, error) ? fmt::format("for the file of that name write ./{}", reference)
          : names.empty()              ? fmt::format("no {} is shipped", kind)
                                       : fmt::format("known: {}", fmt::join(names, ", "));
  d.error(position, path, fmt::format("unknown {} '{}'", kind, reference), hint);
  return std::nullopt;
}

std::optional<Document> ConfigLibrary::open(std::string_view kind, const std::string& reference, const Position& position,
                                            const std::string& path, Diagnostics& d) const {
  const std::optional<std::string> file = resolve(kind, reference, position, path, d);
  return file ? Document::load(*file, d) : std::nullopt;
}

}  // namespace lockstep
