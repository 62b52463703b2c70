// SPDX-License-Identifier: Apache-2.0
// Assignments from the command line (--set): they edit the tree before anything reads it, so a value set this way is checked exactly
// like one that was written.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/check.h"
#include "base/document_tree.h"
#include "base/text_file.h"

namespace lockstep {
namespace {

// "jobs[0].tp" -> {"jobs", "0", "tp"}. Empty: the path is malformed.
std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> steps(1);
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '.') {
      steps.emplace_back();
    } else if (path[i] == '[') {
      const std::size_t end = path.find(']', i);
      const bool ends_step =
          end != std::string_view::npos && (end + 1 == path.size() || path[end + 1] == '.' || path[end + 1] == '[');
      if (!ends_step || steps.back().empty()) return {};
      steps.emplace_back(path.substr(i + 1, end - i - 1));
      i = end;
    } else {
      steps.back() += path[i];
    }
  }
  const bool has_gap = std::any_of(steps.begin(), steps.end(), [](const std::string& s) { return s.empty(); });
  return has_gap ? std::vector<std::string>{} : steps;
}

// Walks a path through a tree, making maps on the way.
class Assignment {
 public:
  Assignment(DocumentTree& tree, std::uint32_t source) : tree_(&tree), source_(source) {}

  // Leaves `value` (a complete element without parent) at the end of `steps`. Throws DocumentFault where the path leads nowhere.
  void place(const std::vector<std::string>& steps, std::uint32_t value) {
    std::uint32_t at = tree_->root;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      at = container_at(at);
      const bool is_last = i + 1 == steps.size();
      const std::size_t slot = slot_of(at, steps[i], is_last);
      const bool is_new = slot == tree_->elements[at].children.size();
      if (is_new) {
        const std::uint32_t child = is_last ? value : make_map();
        tree_->elements[at].children.push_back(child);
      }
      const std::uint32_t old = tree_->elements[at].children[slot];
      if (is_last) tree_->elements[at].children[slot] = value;
      adopt(tree_->elements[at].children[slot], old, at, steps[i], is_new);
      at = tree_->elements[at].children[slot];
    }
  }

 private:
  // A scalar gets a map of overrides (a preset laid over by keys), null becomes a map.
  std::uint32_t container_at(std::uint32_t at) {
    if (tree_->elements[at].kind == NodeKind::kNull) {
      tree_->elements[at].kind = NodeKind::kMap;
      tree_->elements[at].source = source_;
      tree_->elements[at].mark = {};
    }
    if (tree_->elements[at].kind != NodeKind::kScalar) return at;
    if (tree_->elements[at].overrides == Element::kNone) {
      const std::uint32_t map = make_map();
      tree_->elements[map].parent = tree_->elements[at].parent;
      tree_->elements[map].key = tree_->elements[at].key;
      tree_->elements[at].overrides = map;
    }
    return tree_->elements[at].overrides;
  }

  [[nodiscard]] std::size_t slot_of(std::uint32_t at, const std::string& step, bool is_last) const {
    const Element& e = tree_->elements[at];
    if (e.kind == NodeKind::kMap) {
      std::size_t slot = 0;
      while (slot < e.children.size() && tree_->elements[e.children[slot]].key != step) ++slot;
      return slot;
    }
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), index);
    if (error != std::errc() || end != step.data() + step.size()) {
      throw DocumentFault({}, fmt::format("'{}' is not an index into a list", step), "lists are counted from 0: jobs[0].tp");
    }
    if (index > e.children.size() || (index == e.children.size() && !is_last)) {
      throw DocumentFault({}, fmt::format("there is no element {}: the list has {}", index, e.children.size()));
    }
    return index;
  }

  std::uint32_t make_map() {
    Element e;
    e.kind = NodeKind::kMap;
    e.source = e.key_source = source_;
    tree_->elements.push_back(std::move(e));
    return static_cast<std::uint32_t>(tree_->elements.size() - 1);
  }

  // A value that replaces a written one keeps the position of the key.
  void adopt(std::uint32_t child, std::uint32_t old, std::uint32_t parent, const std::string& step, bool is_new) {
    Element& e = tree_->elements[child];
    e.parent = parent;
    if (tree_->elements[parent].kind == NodeKind::kMap) e.key = step;
    e.key_source = is_new ? source_ : tree_->elements[old].key_source;
    e.key_mark = is_new ? Mark{} : tree_->elements[old].key_mark;
  }

  DocumentTree* tree_;
  std::uint32_t source_;
};

// The value as a tree of its own, or nothing and an error.
bool read_value_text(std::string_view value, bool as_text, DocumentTree& tree, const std::string& origin, Diagnostics& d) {
  tree.sources.push_back(origin);
  if (as_text || value.empty()) {
    TreeBuilder(tree, d).scalar(std::string(value), true, {});
    return true;
  }
  const std::size_t errors = d.error_count();
  const std::optional<std::string> text = clean_text(value, origin, d);
  if (!text) return false;
  read_yaml(*text, tree, d);
  if (tree.elements.empty()) throw DocumentFault({}, "there is no value after '='");
  return d.error_count() == errors;
}

}  // namespace

bool Document::set(std::string_view assignment, Diagnostics& d) {
  const std::string origin = fmt::format("--set {}", assignment);
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == assignment.size()) {
    d.error({origin, 0, 0}, {}, "an assignment has the form PATH=VALUE", "for example --set fabric.spines=8");
    return false;
  }
  return assign(assignment.substr(0, equals), assignment.substr(equals + 1), origin, d);
}

template <class Make>
bool Document::place(std::string_view path, const Position& origin, Diagnostics& d, const Make& make) {
  const std::vector<std::string> steps = split_path(path);
  if (steps.empty() || steps.size() > static_cast<std::size_t>(kMaxDepth)) {
    d.error(origin, {}, fmt::format("'{}' is not a path", path), "keys joined by dots: fabric.spines, jobs[0].tp");
    return false;
  }
  try {
    tree_->sources.push_back(origin.file);
    const auto source = static_cast<std::uint32_t>(tree_->sources.size() - 1);
    const std::optional<std::uint32_t> element = make(source);
    if (!element) return false;
    Assignment(*tree_, source).place(steps, *element);
    return true;
  } catch (const DocumentFault& fault) {
    d.error(origin, std::string(path), fault.what(), fault.hint);
    return false;
  }
}

bool Document::assign(std::string_view path, std::string_view value, const std::string& origin, Diagnostics& d, bool as_text) {
  return place(path, {origin, 0, 0}, d, [&](std::uint32_t source) -> std::optional<std::uint32_t> {
    DocumentTree made;
    if (!read_value_text(value, as_text, made, origin, d)) return std::nullopt;
    return copy_tree(made, 0, {*tree_, Element::kNone, source, 0});
  });
}

bool Document::assign(std::string_view path, const Node& value, Diagnostics& d) {
  return place(path, value.position(), d, [&](std::uint32_t source) -> std::optional<std::uint32_t> {
    return copy_tree(*value.tree_, value.index_, {*tree_, Element::kNone, source, 0, true});
  });
}

}  // namespace lockstep
