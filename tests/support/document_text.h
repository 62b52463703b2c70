// SPDX-License-Identifier: Apache-2.0
// Documents and their errors as text, for tests.
#pragma once

#include <optional>
#include <string>

#include "base/document.h"

namespace lockstep::test {

// Every diagnostic, one a line.
inline std::string all_text(const Diagnostics& d) {
  std::string text;
  for (const Diagnostic& item : d.items()) text += to_text(item) + "\n";
  return text;
}

// The tree in a form that shows kinds and quoting: {a: 'quoted', b: [1, null]}.
inline std::string tree_text(const Node& node) {
  switch (node.kind()) {
    case NodeKind::kNull:
      return "null";
    case NodeKind::kScalar:
      return node.is_quoted() ? "'" + node.text() + "'" : node.text();
    default:
      break;
  }
  std::string text;
  for (std::size_t i = 0; i < node.size(); ++i) {
    text += (i > 0 ? ", " : "") + (node.is_map() ? node.key(i) + ": " : std::string()) + tree_text(node.at(i));
  }
  return node.is_map() ? "{" + text + "}" : "[" + text + "]";
}

// What parsing says: the tree, or the errors.
inline std::string parse_text(const std::string& text, DocumentFormat format = DocumentFormat::kYaml) {
  Diagnostics d;
  const std::optional<Document> document = Document::parse(text, "f", d, format);
  return d.items().empty() && document ? tree_text(document->root()) : all_text(d);
}

}  // namespace lockstep::test
