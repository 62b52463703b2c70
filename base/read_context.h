// SPDX-License-Identifier: Apache-2.0
// What a reader of documents carries along: where errors go, where presets are found, and where each value came from.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/field_doc.h"

namespace lockstep {

class ConfigLibrary;

// kWhole: every required key must be there. kOverlay: only what is written replaces what the value already holds (a preset).
enum class ReadMode { kWhole, kOverlay };

class ReadContext {
 public:
  explicit ReadContext(Diagnostics& diagnostics, const ConfigLibrary* library = nullptr)
      : diagnostics_(&diagnostics), library_(library) {}

  [[nodiscard]] Diagnostics& diagnostics() { return *diagnostics_; }
  [[nodiscard]] const ConfigLibrary* library() const { return library_; }

  // Values are read one by one and what they mean together is left open: no check of a FieldTable runs.
  void skip_checks() { runs_checks_ = false; }
  [[nodiscard]] bool runs_checks() const { return runs_checks_; }

  // Paths are those of the whole configuration ("cluster.server.gpu.memory"), also inside presets.
  void note_origin(const std::string& path, Position position) { origins_[path] = std::move(position); }
  [[nodiscard]] const Position* origin(const std::string& path) const;  // nullptr: the value is a default

  // An error about the value at `path`, placed where that value (or the nearest map around it) was written.
  void error(const std::string& path, std::string message, std::string hint = {});
  void warning(const std::string& path, std::string message, std::string hint = {});

 private:
  [[nodiscard]] Position nearest_origin(std::string path) const;

  Diagnostics* diagnostics_;
  const ConfigLibrary* library_;
  bool runs_checks_ = true;
  std::map<std::string, Position> origins_;
};

// "a" + "b" -> "a.b"; an empty prefix adds no dot. "a" + 2 -> "a[2]".
[[nodiscard]] std::string join_path(const std::string& prefix, std::string_view key);
[[nodiscard]] std::string join_path(const std::string& prefix, std::size_t index);
// "file:3:7", "--set a.b=1", "default".
[[nodiscard]] std::string origin_text(const Position* origin);

// What a validation says about the struct it was given: errors are placed at a key of it.
class Section {
 public:
  Section(ReadContext& context, std::string path) : context_(&context), path_(std::move(path)) {}
  void error(std::string_view key, std::string message, std::string hint = {}) {
    context_->error(join_path(path_, key), std::move(message), std::move(hint));
  }
  void warning(std::string_view key, std::string message, std::string hint = {}) {
    context_->warning(join_path(path_, key), std::move(message), std::move(hint));
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::size_t error_count() const { return context_->diagnostics().error_count(); }

 private:
  ReadContext* context_;
  std::string path_;
};

// Prints a resolved configuration as YAML in which a comment names the origin of each value; reads back as the same values.
class ConfigPrinter {
 public:
  explicit ConfigPrinter(const ReadContext& context) : context_(&context) {}
  ConfigPrinter() = default;  // without origins: equal configurations give equal text
  void value(const std::string& path, std::string_view key, const std::string& text);
  void open(std::string_view key);  // a section, list or named entry
  void open_element();              // a list element that is a section
  void close();
  [[nodiscard]] const std::string& text() const { return out_; }

 private:
  void indent();

  const ReadContext* context_ = nullptr;
  std::string out_;
  int depth_ = 0;
  bool after_dash_ = false;
};

namespace detail {

// Keys a document of any kind may have: kind, what (one line), source, sources (key path -> where its number is from).
[[nodiscard]] bool is_header_key(std::string_view key);

// Reports `node` when it is no map: "expected a map with the keys ...".
bool expect_map(const Node& node, const std::vector<const FieldDoc*>& fields, ReadContext& context, const std::string& path);
// Reports a key that none of `fields` has: the closest one, or the path below `fields` that ends in it.
void report_unknown_key(const Node& node, std::size_t i, const std::vector<FieldDoc>& fields, ReadContext& context,
                        const std::string& path);
// Checks `kind: KIND` at the head of a document.
bool check_kind(const Node& root, std::string_view kind, ReadContext& context, const std::string& path);
// Checks that the keys of `sources` are paths of `fields`.
void check_sources(const Node& sources, const std::vector<FieldDoc>& fields, ReadContext& context);
// True when `node` is a scalar that a value field can read; reports what it is instead.
bool expect_scalar(const Node& node, const FieldDoc& field, ReadContext& context, const std::string& path);
void report_value(const Node& node, const FieldDoc& field, const std::string& error, const std::string& hint,
                  ReadContext& context, const std::string& path);

bool expect_sequence(const Node& node, const FieldDoc& field, ReadContext& context, const std::string& path);
bool expect_named(const Node& node, const FieldDoc& field, ReadContext& context, const std::string& path);
void report_missing_key(const Node& node, const FieldDoc& field, ReadContext& context, const std::string& path);
[[nodiscard]] std::string unknown_choice(std::string_view text);
[[nodiscard]] std::string choice_hint(std::string_view text, const std::vector<std::string>& names);

// Opens the preset or file that a scalar refers to; reports when there is none.
[[nodiscard]] std::optional<Document> open_reference(const Node& node, std::string_view kind, ReadContext& context,
                                                     const std::string& path);
// "configs/gpu/h100-sxm.yaml" -> "h100-sxm".
[[nodiscard]] std::string reference_name(const std::string& reference);

}  // namespace detail
}  // namespace lockstep
