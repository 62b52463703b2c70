// SPDX-License-Identifier: Apache-2.0
#include "base/document.h"

#include <fmt/core.h>

#include <charconv>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/document_tree.h"
#include "base/hash.h"
#include "base/text_file.h"

namespace lockstep {

std::string_view to_text(NodeKind kind) {
  switch (kind) {
    case NodeKind::kNull:
      return "nothing";
    case NodeKind::kScalar:
      return "a single value";
    case NodeKind::kSequence:
      return "a list";
    case NodeKind::kMap:
      return "a map";
  }
  return "?";
}

NodeKind Node::kind() const { return tree_->elements[index_].kind; }
const std::string& Node::text() const { return tree_->elements[index_].text; }
bool Node::is_quoted() const { return tree_->elements[index_].is_quoted; }
std::size_t Node::size() const { return tree_->elements[index_].children.size(); }
Node Node::at(std::size_t i) const { return {tree_, tree_->elements[index_].children[i]}; }

const std::string& Node::key(std::size_t i) const { return tree_->elements[tree_->elements[index_].children[i]].key; }

Position Node::key_position(std::size_t i) const {
  const Element& e = tree_->elements[tree_->elements[index_].children[i]];
  return {tree_->sources[e.key_source], e.key_mark.line, e.key_mark.column};
}

Position Node::position() const {
  const Element& e = tree_->elements[index_];
  return {tree_->sources[e.source], e.mark.line, e.mark.column};
}

std::string Node::path() const {
  const Element& e = tree_->elements[index_];
  if (e.parent == Element::kNone) return {};
  const Element& parent = tree_->elements[e.parent];
  const std::string above = Node(tree_, e.parent).path();
  if (parent.kind != NodeKind::kSequence) return above.empty() ? e.key : above + "." + e.key;
  std::size_t i = 0;
  while (i < parent.children.size() && parent.children[i] != index_) ++i;
  return fmt::format("{}[{}]", above, i);
}

Node Node::find(std::string_view key) const {
  const Element& e = tree_->elements[index_];
  if (e.kind != NodeKind::kMap) return {};
  for (const std::uint32_t child : e.children) {
    if (tree_->elements[child].key == key) return {tree_, child};
  }
  return {};
}

Node Node::overrides() const {
  const Element& e = tree_->elements[index_];
  return e.overrides == Element::kNone || hides_overrides_ ? Node() : Node(tree_, e.overrides);
}

Node Node::without_overrides() const {
  Node alone = *this;
  alone.hides_overrides_ = true;
  return alone;
}

Document::Document(std::unique_ptr<DocumentTree> tree) : tree_(std::move(tree)) {}
Document Document::clone() const { return Document(std::make_unique<DocumentTree>(*tree_)); }
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

Node Document::root() const { return {tree_.get(), tree_->root}; }
const std::string& Document::file() const { return tree_->file; }
std::uint64_t Document::content_hash() const { return tree_->content_hash; }

std::optional<Document> Document::load(const std::string& file, Diagnostics& d) {
  const std::optional<std::string> bytes = read_file(file, kMaxDocumentBytes, d);
  if (!bytes) return std::nullopt;
  const bool is_json = file.ends_with(".json");
  return parse(*bytes, file == "-" ? "stdin" : file, d, is_json ? DocumentFormat::kJson : DocumentFormat::kYaml);
}

std::optional<Document> Document::parse(std::string_view bytes, const std::string& file, Diagnostics& d,
                                        DocumentFormat format) {
  const std::optional<std::string> text = clean_text(bytes, file, d);
  if (!text) return std::nullopt;
  auto tree = std::make_unique<DocumentTree>();
  tree->file = file;
  tree->content_hash = hash_text(bytes);
  tree->sources.push_back(file);
  try {
    if (format == DocumentFormat::kJson) {
      read_json(*text, *tree, d);
    } else {
      read_yaml(*text, *tree, d);
    }
  } catch (const DocumentFault& fault) {
    d.error({file, fault.mark.line, fault.mark.column}, {}, fault.what(), fault.hint);
    return std::nullopt;
  }
  if (tree->elements.empty() || tree->elements[0].kind == NodeKind::kNull) {
    d.error({file, 0, 0}, {}, "is empty");
    return std::nullopt;
  }
  return Document(std::move(tree));
}

Document Document::empty_map(const std::string& origin) {
  auto tree = std::make_unique<DocumentTree>();
  tree->file = origin;
  tree->sources.push_back(origin);
  tree->elements.emplace_back().kind = NodeKind::kMap;
  return Document(std::move(tree));
}

}  // namespace lockstep
