// SPDX-License-Identifier: Apache-2.0
#include "base/field_doc.h"

#include <fmt/core.h>

#include <algorithm>

namespace lockstep {
namespace {

bool is_index(std::string_view step) {
  return !step.empty() && std::all_of(step.begin(), step.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::string> steps_of(std::string_view path) {
  std::vector<std::string> steps(1);
  for (const char c : path) {
    if (c == '.' || c == '[') {
      steps.emplace_back();
    } else if (c != ']') {
      steps.back() += c;
    }
  }
  return steps;
}

void collect_paths(const std::vector<FieldDoc>& fields, const std::string& prefix, std::vector<std::string>& out) {
  for (const FieldDoc& f : fields) {
    std::string path = prefix + f.name;
    if (f.shape == FieldShape::kNamed) path += ".NAME";
    if (f.shape == FieldShape::kList) path += "[0]";
    out.push_back(path);
    collect_paths(f.fields, path + ".", out);
  }
}

// Indents what is longer than one line.
void append_wrapped(std::string& out, const std::string& text, std::size_t indent) {
  constexpr std::size_t kWidth = 100;
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) out += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (!line.empty() && indent + line.size() + 1 + (end - begin) > kWidth) flush();
    if (!line.empty()) line += ' ';
    line += text.substr(begin, end - begin);
    begin = end + 1;
  }
  flush();
}

void append_field(std::string& out, const FieldDoc& f, std::size_t indent) {
  std::string head = f.name + ": " + f.type;
  if (!f.reference_kind.empty()) head += fmt::format(" of a {}", f.reference_kind);
  if (!f.unit.empty()) head += fmt::format(" [{}]", f.unit);
  if (!f.range.empty()) head += ", " + f.range;
  if (f.is_required) head += ", required";
  if (!f.default_text.empty()) head += ", default " + f.default_text;
  append_wrapped(out, head, indent);
  if (!f.doc.empty()) append_wrapped(out, f.doc, indent + 4);
  for (const ChoiceDoc& c : f.choices) append_wrapped(out, fmt::format("{:<12} {}", c.name, c.doc), indent + 4);
  if (!f.source.empty()) append_wrapped(out, "source: " + f.source, indent + 4);
  for (const FieldDoc& child : f.fields) append_field(out, child, indent + 2);
}

}  // namespace

const FieldDoc* find_field(const std::vector<FieldDoc>& fields, std::string_view path) {
  const std::vector<FieldDoc>* level = &fields;
  const FieldDoc* found = nullptr;
  bool is_entry_name = false;
  for (const std::string& step : steps_of(path)) {
    if (found != nullptr && found->shape == FieldShape::kList && is_index(step)) continue;
    if (is_entry_name) {
      is_entry_name = false;
      continue;
    }
    const auto match = std::find_if(level->begin(), level->end(), [&](const FieldDoc& f) { return f.name == step; });
    if (match == level->end()) return nullptr;
    found = &*match;
    level = &found->fields;
    is_entry_name = found->shape == FieldShape::kNamed;
  }
  return found;
}

std::vector<std::string> all_paths(const std::vector<FieldDoc>& fields) {
  std::vector<std::string> paths;
  collect_paths(fields, {}, paths);
  return paths;
}

std::string schema_text(const std::vector<FieldDoc>& fields) {
  std::string out;
  for (const FieldDoc& f : fields) append_field(out, f, 0);
  return out;
}

}  // namespace lockstep
