// SPDX-License-Identifier: Apache-2.0
// lockstep check FILE...: reads and validates documents of any kind. Each good one gets a line on stdout, each error one on stderr.
#include <fmt/format.h>

#include <ostream>

#include "sim/cli/command_line.h"
#include "sim/cli/document_kinds.h"
#include "sim/cli/verbs.h"

namespace lockstep::cli {
namespace {

const DocumentKind* find_kind(const std::vector<DocumentKind>& kinds, const Document& document, Diagnostics& d) {
  std::vector<std::string> names;
  for (const DocumentKind& k : kinds) names.push_back(k.name);
  const Node given = document.root().find("kind");
  const bool is_model_config = !given && document.file().ends_with(".json");  // Hugging Face config.json
  const std::string name = is_model_config ? "model" : given && given.is_scalar() ? given.text() : "";
  for (const DocumentKind& k : kinds) {
    if (k.name == name) return &k;
  }
  const std::string known = fmt::format("known: {}", fmt::join(names, ", "));
  if (!given) {
    d.error(document.root().position(), "kind", "the key 'kind' is missing",
            fmt::format("begin the file with kind: KIND; {}", known));
    return nullptr;
  }
  const std::string guess = closest(name, names);
  d.error(given.position(), "kind", fmt::format("unknown kind '{}'", name),
          guess.empty() ? known : fmt::format("did you mean '{}'? {}", guess, known));
  return nullptr;
}

int run_check(const VerbContext& context) {
  const std::vector<DocumentKind> kinds = document_kinds();
  Diagnostics all;
  for (const std::string& file : context.arguments.positional()) {
    Diagnostics d;
    const std::optional<Document> document = Document::load(file, d);
    const DocumentKind* kind = document ? find_kind(kinds, *document, d) : nullptr;
    if (kind != nullptr) {
      ReadContext read(d, &context.library);
      kind->check(*document, read);
    }
    if (!d.has_errors()) context.out << fmt::format("{}: ok ({})\n", file, kind->name);
    for (const Diagnostic& item : d.items()) all.add(item);
  }
  if (all.has_errors()) {
    context.out.flush();
    throw UserError(all);
  }
  print_diagnostics(context.err, all, false);
  return kOk;
}

}  // namespace

Verb check_verb() {
  return {.name = "check",
          .doc = "check documents of any kind and report everything that is wrong with them",
          .details = "",
          .positionals = {{.name = "FILE",
                           .doc = "YAML document, or a model's config.json; - is standard input",
                           .is_repeatable = true}},
          .options = {},
          .run = &run_check};
}

}  // namespace lockstep::cli
