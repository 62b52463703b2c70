// SPDX-License-Identifier: Apache-2.0
// Options that several verbs share, and the reading of documents with them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/field_table.h"
#include "sim/cli/verb.h"

namespace lockstep::cli {

[[nodiscard]] OptionSpec set_option();                                     // --set PATH=VALUE, repeatable
[[nodiscard]] OptionSpec seed_option();                                    // --seed N
[[nodiscard]] OptionSpec format_option(std::vector<std::string> formats);  // the first one is the default
[[nodiscard]] OptionSpec cluster_option(bool is_required);                 // --cluster C.yaml or a shipped name
[[nodiscard]] OptionSpec network_model_option();                           // --network analytic|flow|packet

[[nodiscard]] std::uint64_t seed_of(const Arguments& arguments);

// Applies every --set to the document; errors are added to `d`.
void apply_sets(const Arguments& arguments, Document& document, Diagnostics& d);

// Opens a file or shipped name of `table`'s kind, applies every --set, reads it. Warnings are printed to context.err.
// Throws UserError with all errors.
template <class T>
[[nodiscard]] T read_config(const VerbContext& context, const std::string& reference, const FieldTable<T>& table);

void print_warnings(const VerbContext& context, const Diagnostics& d);

template <class T>
T read_config(const VerbContext& context, const std::string& reference, const FieldTable<T>& table) {
  Diagnostics d;
  T value{};
  std::optional<Document> document = context.library.open(table.kind(), reference, {"command line", 0, 0}, {}, d);
  if (document) {
    apply_sets(context.arguments, *document, d);
    ReadContext read(d, &context.library);
    table.read_document(*document, value, read);
  }
  throw_if_errors(d);
  print_warnings(context, d);
  return value;
}

}  // namespace lockstep::cli
