// SPDX-License-Identifier: Apache-2.0
#include "base/read_context.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/config_library.h"
#include "base/value_codec.h"

namespace lockstep {
namespace {

std::string joined(const std::vector<std::string>& words, std::size_t at_most) {
  std::string text;
  for (std::size_t i = 0; i < words.size() && i < at_most; ++i) text += (i > 0 ? ", " : "") + words[i];
  return words.size() > at_most ? text + ", ..." : text;
}

// "an integer", "a rate", "text".
std::string with_article(const std::string& type) {
  if (type == Codec<std::string>::type || type == Codec<bool>::type) return type;
  const bool is_vowel = std::string_view("aeiou").find(type[0]) != std::string_view::npos;
  return (is_vowel ? "an " : "a ") + type;
}

constexpr std::size_t kListedWords = 16;

// The path below `fields` whose last key is `key` or close to it; the least deep of equals. Empty when there is none.
std::string closest_below(const std::string& key, const std::vector<FieldDoc>& fields) {
  std::vector<std::string> paths = all_paths(fields);
  const auto depth = [](const std::string& p) { return std::count(p.begin(), p.end(), '.'); };
  std::stable_sort(paths.begin(), paths.end(), [&](const std::string& a, const std::string& b) { return depth(a) < depth(b); });
  std::vector<std::string> last_keys;
  for (const std::string& p : paths) last_keys.push_back(p.substr(p.rfind('.') + 1));
  const std::string guess = closest(key, last_keys);
  const auto found = std::find(last_keys.begin(), last_keys.end(), guess);
  return guess.empty() ? std::string() : paths[static_cast<std::size_t>(found - last_keys.begin())];
}

}  // namespace

const Position* ReadContext::origin(const std::string& path) const {
  const auto found = origins_.find(path);
  return found == origins_.end() ? nullptr : &found->second;
}

Position ReadContext::nearest_origin(std::string path) const {
  while (true) {
    if (const Position* position = origin(path)) return *position;
    if (path.empty()) return {};
    const std::size_t dot = path.find_last_of(".[");
    path.resize(dot == std::string::npos ? 0 : dot);
  }
}

void ReadContext::error(const std::string& path, std::string message, std::string hint) {
  diagnostics_->error(nearest_origin(path), path, std::move(message), std::move(hint));
}

void ReadContext::warning(const std::string& path, std::string message, std::string hint) {
  diagnostics_->warning(nearest_origin(path), path, std::move(message), std::move(hint));
}

std::string join_path(const std::string& prefix, std::string_view key) {
  return prefix.empty() ? std::string(key) : fmt::format("{}.{}", prefix, key);
}

std::string join_path(const std::string& prefix, std::size_t index) { return fmt::format("{}[{}]", prefix, index); }

std::string origin_text(const Position* origin) {
  if (origin == nullptr) return "default";
  if (origin->line == 0) return origin->file;
  return fmt::format("{}:{}:{}", origin->file, origin->line, origin->column);
}

void ConfigPrinter::indent() {
  if (after_dash_) {
    after_dash_ = false;
  } else {
    out_.append(static_cast<std::size_t>(depth_) * 2, ' ');
  }
}

void ConfigPrinter::value(const std::string& path, std::string_view key, const std::string& text) {
  constexpr std::size_t kCommentColumn = 44;
  indent();
  const std::size_t begin = out_.rfind('\n') == std::string::npos ? 0 : out_.rfind('\n') + 1;
  out_ += fmt::format("{}: {}", Codec<std::string>::print(std::string(key)), text);
  if (context_ == nullptr) {
    out_ += '\n';
    return;
  }
  const std::size_t width = out_.size() - begin;
  out_.append(width < kCommentColumn ? kCommentColumn - width : 1, ' ');
  out_ += fmt::format("# {}\n", origin_text(context_->origin(path)));
}

void ConfigPrinter::open(std::string_view key) {
  indent();
  out_ += Codec<std::string>::print(std::string(key)) + ":\n";
  ++depth_;
}

void ConfigPrinter::open_element() {
  indent();
  out_ += "- ";
  after_dash_ = true;
  ++depth_;
}

void ConfigPrinter::close() { --depth_; }

std::string Codec<std::string>::print(const std::string& v) {
  const auto is_plain_char = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' ||
           c == '/';
  };
  const bool is_word =
      !v.empty() && std::all_of(v.begin(), v.end(), is_plain_char) && v[0] != '-' && v != "null" && v != "Null" && v != "NULL";
  if (is_word) return v;
  std::string quoted = "\"";
  for (const char c : v) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

namespace detail {

bool is_header_key(std::string_view key) { return key == "kind" || key == "what" || key == "source" || key == "sources"; }

bool expect_map(const Node& node, const std::vector<const FieldDoc*>& fields, ReadContext& context, const std::string& path) {
  const Node below = node.is_scalar() ? node.overrides() : Node();
  if (node.is_map()) return true;
  std::vector<std::string> names;
  for (const FieldDoc* f : fields) names.push_back(f->name);
  const std::string hint = fmt::format("keys: {}", joined(names, kListedWords));
  const std::string given = node.is_scalar() ? fmt::format("'{}'", node.text()) : std::string(to_text(node.kind()));
  context.diagnostics().error(below ? below.position() : node.position(), path,
                              fmt::format("a map of keys is expected, not {}", given), hint);
  return false;
}

void report_unknown_key(const Node& node, std::size_t i, const std::vector<FieldDoc>& fields, ReadContext& context,
                        const std::string& path) {
  const std::string& key = node.key(i);
  if (key == "<<") return;  // a merge key; the parser has said so
  std::vector<std::string> names;
  for (const FieldDoc& f : fields) names.push_back(f.name);
  std::string hint;
  if (const std::string guess = closest(key, names); !guess.empty()) {
    hint = fmt::format("did you mean '{}'?", guess);
  } else {
    const std::string deeper = closest_below(key, fields);
    hint = deeper.empty() ? fmt::format("keys here: {}", joined(names, kListedWords))
                          : fmt::format("did you mean '{}'?", join_path(path, deeper));
  }
  context.diagnostics().error(node.key_position(i), join_path(path, key), fmt::format("unknown key '{}'", key), hint);
}

void report_missing_key(const Node& node, const FieldDoc& field, ReadContext& context, const std::string& path) {
  context.diagnostics().error(node.position(), join_path(path, field.name), fmt::format("the key '{}' is missing", field.name),
                              field.doc);
}

bool check_kind(const Node& root, std::string_view kind, ReadContext& context, const std::string& path) {
  if (!root.is_map()) {
    context.diagnostics().error(root.position(), path, fmt::format("a {} is expected, not {}", kind, to_text(root.kind())),
                                fmt::format("begin the file with kind: {}", kind));
    return false;
  }
  const Node given = root.find("kind");
  if (!given) {
    context.diagnostics().error(root.position(), join_path(path, "kind"), "the key 'kind' is missing",
                                fmt::format("begin the file with kind: {}", kind));
    return false;
  }
  if (given.is_scalar() && given.text() == kind) return true;
  context.diagnostics().error(given.position(), join_path(path, "kind"),
                              fmt::format("the file is of kind '{}', but a {} is expected", given.text(), kind));
  return false;
}

void check_sources(const Node& sources, const std::vector<FieldDoc>& fields, ReadContext& context) {
  if (!sources.is_map()) {
    context.diagnostics().error(sources.position(), "sources", "a map from keys to where their values are from is expected");
    return;
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (find_field(fields, sources.key(i)) != nullptr) continue;
    const std::string guess = closest(sources.key(i), all_paths(fields));
    context.diagnostics().error(sources.key_position(i), "sources", fmt::format("unknown key '{}'", sources.key(i)),
                                guess.empty() ? "" : fmt::format("did you mean '{}'?", guess));
  }
}

bool expect_scalar(const Node& node, const FieldDoc& field, ReadContext& context, const std::string& path) {
  if (node.is_scalar() && !node.overrides()) return true;
  if (node.is_scalar()) {
    context.diagnostics().error(node.overrides().position(), path, "has no keys below it: it is a single value");
  } else {
    const std::string given = node.is_null() ? "there is no value" : fmt::format("{} was given", to_text(node.kind()));
    context.diagnostics().error(node.position(), path, fmt::format("{}, but {} is expected", given, with_article(field.type)),
                                field.unit.empty() ? "" : "units: " + field.unit);
  }
  return false;
}

bool expect_sequence(const Node& node, const FieldDoc& field, ReadContext& context, const std::string& path) {
  if (node.is_sequence()) return true;
  context.diagnostics().error(node.position(), path, fmt::format("a list is expected, not {}", to_text(node.kind())),
                              fmt::format("{}: [...]", field.name));
  return false;
}

bool expect_named(const Node& node, const FieldDoc& field, ReadContext& context, const std::string& path) {
  if (node.is_map()) return true;
  context.diagnostics().error(node.position(), path, fmt::format("a map from names is expected, not {}", to_text(node.kind())),
                              fmt::format("{}: {{name: ...}}", field.name));
  return false;
}

void report_value(const Node& node, const FieldDoc& field, const std::string& error, const std::string& hint,
                  ReadContext& context, const std::string& path) {
  context.diagnostics().error(node.position(), path, error, hint.empty() ? field.range : hint);
}

std::string unknown_choice(std::string_view text) { return fmt::format("'{}' is not one of the choices", text); }

std::string choice_hint(std::string_view text, const std::vector<std::string>& names) {
  const std::string guess = closest(text, names);
  const std::string all = joined(names, kListedWords);
  return guess.empty() ? "one of " + all : fmt::format("did you mean '{}'? one of {}", guess, all);
}

std::optional<Document> open_reference(const Node& node, std::string_view kind, ReadContext& context, const std::string& path) {
  if (!node.is_scalar() || node.text().empty()) {
    context.diagnostics().error(node.position(), path, fmt::format("the name or file of a {} is expected", kind));
    return std::nullopt;
  }
  LOCKSTEP_CHECK(context.library() != nullptr, "a reference to '{}' is read without a library", node.text());
  return context.library()->open(kind, node.text(), node.position(), path, context.diagnostics());
}

std::string reference_name(const std::string& reference) { return std::filesystem::path(reference).stem().string(); }

}  // namespace detail
}  // namespace lockstep
