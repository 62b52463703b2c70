// SPDX-License-Identifier: Apache-2.0
#include "base/document_tree.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace lockstep {

bool TreeBuilder::expects_key() const {
  return !stack_.empty() && tree_->elements[stack_.back()].kind == NodeKind::kMap && !has_key_;
}

bool TreeBuilder::is_open(std::uint32_t element) const {
  return std::find(stack_.begin(), stack_.end(), element) != stack_.end();
}

void TreeBuilder::report(Mark mark, std::string message, std::string hint) {
  diagnostics_->error({tree_->sources[0], mark.line, mark.column}, {}, std::move(message), std::move(hint));
}

std::uint32_t TreeBuilder::append(Element element) {
  if (tree_->elements.size() >= kMaxNodes) {
    throw DocumentFault(element.mark, fmt::format("the document has more than {} values", kMaxNodes));
  }
  const auto index = static_cast<std::uint32_t>(tree_->elements.size());
  if (!stack_.empty()) {
    element.parent = stack_.back();
    element.key = std::exchange(key_, {});
    element.key_mark = key_mark_;
    has_key_ = false;
    tree_->elements[stack_.back()].children.push_back(index);
  }
  tree_->elements.push_back(std::move(element));
  return index;
}

void TreeBuilder::open(NodeKind kind, Mark mark) {
  if (depth() >= kMaxDepth) throw DocumentFault(mark, fmt::format("nested more than {} levels deep", kMaxDepth));
  Element e;
  e.kind = kind;
  e.mark = mark;
  stack_.push_back(append(std::move(e)));
}

void TreeBuilder::close() {
  LOCKSTEP_CHECK(!stack_.empty(), "close without open");
  const Element& e = tree_->elements[stack_.back()];
  stack_.pop_back();
  if (e.kind != NodeKind::kMap) return;
  std::vector<std::uint32_t> order = e.children;
  const auto key_of = [&](std::uint32_t i) -> const std::string& { return tree_->elements[i].key; };
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key_of(a) < key_of(b); });
  std::vector<std::pair<std::uint32_t, std::uint32_t>> duplicates;  // repeated, first
  std::uint32_t first = order.empty() ? 0 : order[0];
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (key_of(order[i]) == key_of(first)) {
      duplicates.emplace_back(order[i], first);
    } else {
      first = order[i];
    }
  }
  std::sort(duplicates.begin(), duplicates.end());
  for (const auto& [repeated, original] : duplicates) {
    const Mark mark = tree_->elements[original].key_mark;
    report(tree_->elements[repeated].key_mark,
           fmt::format("duplicate key '{}', first given on line {}", key_of(original), mark.line));
  }
}

std::uint32_t TreeBuilder::scalar(std::string text, bool is_quoted, Mark mark) {
  Element e;
  e.kind = NodeKind::kScalar;
  e.is_quoted = is_quoted;
  e.mark = mark;
  e.text = std::move(text);
  return append(std::move(e));
}

std::uint32_t TreeBuilder::null(Mark mark) {
  // What is not written is found by its key; the YAML parser says where the next thing begins.
  Element e;
  e.mark = has_key_ && key_mark_.line != mark.line ? key_mark_ : mark;
  return append(std::move(e));
}

std::uint32_t TreeBuilder::copy_of(std::uint32_t element, Mark mark) {
  const std::uint32_t hollow = null(mark);
  const std::uint32_t copy = copy_tree(*tree_, element, {*tree_, tree_->elements[hollow].parent, Element::kNone, depth()});
  // The copy takes the place of the hollow, which stays unused: a few bytes instead of a second way to append.
  Element& made = tree_->elements[copy];
  made.key = tree_->elements[hollow].key;
  made.key_mark = tree_->elements[hollow].key_mark;
  if (made.parent != Element::kNone) tree_->elements[made.parent].children.back() = copy;
  return copy;
}

void TreeBuilder::key(std::string text, Mark mark) {
  LOCKSTEP_CHECK(expects_key(), "a key where none belongs");
  key_ = std::move(text);
  key_mark_ = mark;
  has_key_ = true;
}

std::uint32_t copy_tree(const DocumentTree& from, std::uint32_t element, const CopyTarget& target) {
  std::vector<Element>& elements = target.tree.elements;
  Element e = from.elements[element];
  if (elements.size() >= kMaxNodes) throw DocumentFault(e.mark, fmt::format("the document has more than {} values", kMaxNodes));
  if (target.depth > kMaxDepth) throw DocumentFault(e.mark, fmt::format("nested more than {} levels deep", kMaxDepth));
  const std::vector<std::uint32_t> children = std::exchange(e.children, {});
  if (target.source != Element::kNone) {
    e.source = e.key_source = target.source;
    if (!target.keeps_marks) e.mark = e.key_mark = {};
  }
  const std::uint32_t overrides = std::exchange(e.overrides, Element::kNone);
  e.parent = target.parent;
  const auto index = static_cast<std::uint32_t>(elements.size());
  elements.push_back(std::move(e));
  if (overrides != Element::kNone) {
    const std::uint32_t copy =
        copy_tree(from, overrides, {target.tree, target.parent, target.source, target.depth, target.keeps_marks});
    elements[index].overrides = copy;
  }
  for (const std::uint32_t child : children) {
    const std::uint32_t copy =
        copy_tree(from, child, {target.tree, index, target.source, target.depth + 1, target.keeps_marks});
    elements[index].children.push_back(copy);
  }
  return index;
}

}  // namespace lockstep
