// SPDX-License-Identifier: Apache-2.0
// A kind of document without its C++ type, for verbs that treat all kinds alike (check, list, schema). The list of kinds is in
// sim/cli/document_kinds.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/field_table.h"

namespace lockstep {

struct DocumentKind {
  std::string name;  // "cluster"
  std::string doc;   // one line
  std::function<std::vector<FieldDoc>()> fields;
  // Reads and validates the whole document; errors go to the context.
  std::function<bool(const Document&, ReadContext&)> check;
};

// `table` is a function so that tables are built when first used.
template <class T>
[[nodiscard]] DocumentKind document_kind(std::string doc, const FieldTable<T>& (*table)()) {
  return {table().kind(), std::move(doc), [table] { return table().docs(); },
          [table](const Document& document, ReadContext& context) {
            T value{};
            return table().read_document(document, value, context);
          }};
}

}  // namespace lockstep
