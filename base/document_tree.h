// SPDX-License-Identifier: Apache-2.0
// The arena behind Document and the builder that the YAML and JSON readers fill it with. Private to base/document*.cpp.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"

namespace lockstep {

struct Mark {
  int line = 0;
  int column = 0;
};

struct Element {
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  NodeKind kind = NodeKind::kNull;
  bool is_quoted = false;
  Mark mark;
  Mark key_mark;
  std::uint32_t source = 0;      // index into DocumentTree::sources
  std::uint32_t key_source = 0;  // differs when --set replaced the value of a written key
  std::uint32_t parent = kNone;
  std::uint32_t overrides = kNone;  // map laid over a scalar (Node::overrides)
  std::string key;                  // when the parent is a map
  std::string text;
  std::vector<std::uint32_t> children;
};

struct DocumentTree {
  std::string file;
  std::uint64_t content_hash = 0;
  std::vector<std::string> sources;  // what Position::file says
  std::vector<Element> elements;
  std::uint32_t root = 0;
};

// What cannot be read further. Everything else is added to the Diagnostics and reading goes on.
struct DocumentFault : std::runtime_error {
  DocumentFault(Mark m, const std::string& message, std::string h = {})
      : std::runtime_error(message), mark(m), hint(std::move(h)) {}
  Mark mark;
  std::string hint;
};

// Appends values in document order. Throws DocumentFault over kMaxDepth or kMaxNodes.
class TreeBuilder {
 public:
  TreeBuilder(DocumentTree& tree, Diagnostics& d) : tree_(&tree), diagnostics_(&d) {}

  void open(NodeKind kind, Mark mark);  // kSequence or kMap
  void close();                         // reports duplicate keys of a map
  std::uint32_t scalar(std::string text, bool is_quoted, Mark mark);
  std::uint32_t null(Mark mark);
  std::uint32_t copy_of(std::uint32_t element, Mark mark);  // of a complete value in the same tree
  void key(std::string text, Mark mark);                    // PRE: expects_key()

  [[nodiscard]] bool expects_key() const;
  [[nodiscard]] bool is_open(std::uint32_t element) const;  // still being filled
  [[nodiscard]] std::uint32_t last_opened() const { return stack_.back(); }
  [[nodiscard]] int depth() const { return static_cast<int>(stack_.size()); }
  void report(Mark mark, std::string message, std::string hint = {});

 private:
  std::uint32_t append(Element element);

  DocumentTree* tree_;
  Diagnostics* diagnostics_;
  std::vector<std::uint32_t> stack_;
  bool has_key_ = false;
  std::string key_;
  Mark key_mark_;
};

// Where copy_tree puts a copy.
struct CopyTarget {
  DocumentTree& tree;
  std::uint32_t parent = Element::kNone;
  std::uint32_t source = Element::kNone;  // other than kNone: replaces the positions of the copy
  int depth = 0;                          // of the parent
  bool keeps_marks = false;               // `source` replaces the name of the source alone
};
// Copies a value of `from` (which may be the target) with all below it. Throws DocumentFault over kMaxDepth or kMaxNodes.
std::uint32_t copy_tree(const DocumentTree& from, std::uint32_t element, const CopyTarget& target);

// Both fill an empty tree from clean text, or throw DocumentFault.
void read_yaml(const std::string& text, DocumentTree& tree, Diagnostics& d);
void read_json(const std::string& text, DocumentTree& tree, Diagnostics& d);

}  // namespace lockstep
