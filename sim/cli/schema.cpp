// SPDX-License-Identifier: Apache-2.0
// lockstep schema KIND [--key PATH]: the keys of a kind of document, from its field table.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "sim/cli/common_options.h"
#include "sim/cli/document_kinds.h"
#include "sim/cli/verbs.h"

namespace lockstep::cli {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const std::vector<FieldDoc>& fields) {
  Json list = Json::array();
  for (const FieldDoc& f : fields) {
    Json j = {{"key", f.name}, {"type", f.type}, {"required", f.is_required}};
    const auto add = [&](const char* name, const std::string& text) {
      if (!text.empty()) j[name] = text;
    };
    add("unit", f.unit);
    add("default", f.default_text);
    add("range", f.range);
    add("doc", f.doc);
    add("source", f.source);
    add("reference", f.reference_kind);
    for (const ChoiceDoc& c : f.choices) j["choices"].push_back({{"name", c.name}, {"doc", c.doc}});
    if (!f.fields.empty()) j["fields"] = to_json(f.fields);
    list.push_back(std::move(j));
  }
  return list;
}

const DocumentKind& find_kind(const std::vector<DocumentKind>& kinds, const std::string& name) {
  std::vector<std::string> names;
  for (const DocumentKind& k : kinds) {
    if (k.name == name) return k;
    names.push_back(k.name);
  }
  const std::string guess = closest(name, names);
  throw UserError(
      fmt::format("unknown kind '{}'", name),
      fmt::format("{}kinds: {}", guess.empty() ? "" : fmt::format("did you mean '{}'? ", guess), fmt::join(names, ", ")));
}

std::vector<FieldDoc> fields_at(const DocumentKind& kind, const std::string& path) {
  std::vector<FieldDoc> fields = kind.fields();
  if (path.empty()) return fields;
  if (const FieldDoc* found = find_field(fields, path)) return {*found};
  const std::vector<std::string> paths = all_paths(fields);
  std::string guess = closest(path, paths);
  for (const std::string& p : paths) {
    if (guess.empty() && p.ends_with("." + path)) guess = p;
  }
  throw UserError(fmt::format("a {} has no key '{}'", kind.name, path),
                  guess.empty() ? fmt::format("see lockstep schema {}", kind.name) : fmt::format("did you mean '{}'?", guess));
}

int run_schema(const VerbContext& context) {
  const std::vector<DocumentKind> kinds = document_kinds();
  const DocumentKind& kind = find_kind(kinds, context.arguments.positional().front());
  const std::string key = context.arguments.text("key");
  const std::vector<FieldDoc> fields = fields_at(kind, key);
  if (context.arguments.text("format") == "json") {
    context.out << Json{{"kind", kind.name}, {"doc", kind.doc}, {"fields", to_json(fields)}}.dump(2) << "\n";
    return kOk;
  }
  if (key.empty()) context.out << fmt::format("kind: {}\n    {}\n", kind.name, kind.doc);
  context.out << schema_text(fields);
  return kOk;
}

}  // namespace

Verb schema_verb() {
  return {.name = "schema",
          .doc = "print the keys of a kind of document: type, unit, default, range, meaning",
          .details = "",
          .positionals = {{.name = "KIND", .doc = "cluster, job, model, server, gpu, network, scenario, ..."}},
          .options = {{.name = "key", .value_name = "PATH", .doc = "only the key at this dotted path and what is below it"},
                      format_option({"text", "json"})},
          .run = &run_schema};
}

}  // namespace lockstep::cli
