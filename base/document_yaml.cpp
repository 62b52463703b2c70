// SPDX-License-Identifier: Apache-2.0
// The only file that sees yaml-cpp. Its parser is driven by events, which carry positions, tags and anchors; its own node tree, which
// hides duplicate keys and guesses types, is never built.
#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

#include "base/document_tree.h"

namespace lockstep {
namespace {

// The parser counts columns in bytes, people in characters.
class Marks {
 public:
  explicit Marks(const std::string& text) : text_(text) {
    line_begins_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') line_begins_.push_back(i + 1);
    }
  }

  // Offset of the byte at a mark, at most the size of the text.
  [[nodiscard]] std::size_t offset(const YAML::Mark& m) const {
    const auto line = static_cast<std::size_t>(std::max(m.line, 0));
    if (line >= line_begins_.size()) return text_.size();
    return std::min(line_begins_[line] + static_cast<std::size_t>(std::max(m.column, 0)), text_.size());
  }

  // Amortised constant: marks come in order, so the count goes on from the last one on the same line.
  [[nodiscard]] Mark operator()(const YAML::Mark& m) {
    if (m.is_null()) return {};
    const std::size_t end = offset(m);
    if (m.line != line_ || end < at_) {
      line_ = m.line;
      at_ = std::min(line_begins_[std::min(static_cast<std::size_t>(m.line), line_begins_.size() - 1)], end);
      column_ = 1;
    }
    for (; at_ < end; ++at_) {
      if ((static_cast<unsigned char>(text_[at_]) & 0xC0u) != 0x80u) ++column_;
    }
    return {m.line + 1, column_};
  }

 private:
  const std::string& text_;
  std::vector<std::size_t> line_begins_;
  int line_ = -1;
  std::size_t at_ = 0;
  int column_ = 1;
};

class EventReader : public YAML::EventHandler {
 public:
  EventReader(DocumentTree& tree, Marks& marks, Diagnostics& d) : builder_(tree, d), marks_(&marks) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      throw DocumentFault(mark_of(mark), "a second document begins here", "one document per file; check the indentation");
    }
  }
  void OnDocumentEnd() override {}
  void OnAnchor(const YAML::Mark&, const std::string&) override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (builder_.expects_key()) throw DocumentFault(mark_of(mark), "a key is missing or null", "quote a key named null or ~");
    remember(anchor, builder_.null(mark_of(mark)));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (builder_.expects_key()) throw DocumentFault(mark_of(mark), "an alias cannot be a key");
    const auto target = anchors_.find(anchor);
    if (target == anchors_.end() || builder_.is_open(target->second)) {
      throw DocumentFault(mark_of(mark), "the alias is inside the value it stands for");
    }
    builder_.copy_of(target->second, mark_of(mark));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    check_tag(mark, tag);
    last_scalar_ = mark;
    if (builder_.expects_key()) {
      if (value == "<<") {
        builder_.report(mark_of(mark), "merge keys (<<) are not supported", "write the keys out, or refer to a preset by name");
      }
      return builder_.key(value, mark_of(mark));
    }
    remember(anchor, builder_.scalar(value, tag == "!", mark_of(mark)));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(NodeKind::kSequence, mark, tag, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(NodeKind::kMap, mark, tag, anchor);
  }
  void OnSequenceEnd() override { builder_.close(); }
  void OnMapEnd() override { builder_.close(); }

  [[nodiscard]] YAML::Mark last_scalar() const { return last_scalar_; }

 private:
  Mark mark_of(const YAML::Mark& mark) { return (*marks_)(mark); }

  void open(NodeKind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    check_tag(mark, tag);
    if (builder_.expects_key()) {
      throw DocumentFault(mark_of(mark), fmt::format("a key must be text, not {}", to_text(kind)),
                          "close every bracket; quote text that begins with one");
    }
    builder_.open(kind, mark_of(mark));
    remember(anchor, builder_.last_opened());
  }

  // "?" and "!" are what the parser says for plain and quoted scalars without a tag.
  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") {
      builder_.report(mark_of(mark), fmt::format("tags are not supported: {}", tag), "quote text that begins with !");
    }
  }

  void remember(YAML::anchor_t anchor, std::uint32_t element) {
    if (anchor != 0) anchors_[anchor] = element;
  }

  TreeBuilder builder_;
  std::map<YAML::anchor_t, std::uint32_t> anchors_;
  Marks* marks_;
  YAML::Mark last_scalar_;
  int documents_ = 0;
};

// The parser takes the end of the text for the end of a quoted scalar. Only the last scalar can be cut off like that.
void refuse_open_quote(const std::string& text, const YAML::Mark& mark, Marks& marks) {
  const std::size_t at = marks.offset(mark);
  if (at >= text.size() || (text[at] != '"' && text[at] != '\'')) return;
  const char quote = text[at];
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    const bool is_escape = quote == '"' ? text[i] == '\\' : text.compare(i, 2, "''") == 0;
    if (is_escape) {
      ++i;
    } else if (text[i] == quote) {
      return;
    }
  }
  throw DocumentFault(marks(mark), "the quote is not closed");
}

// Where a tab stands for indentation, the parser's own message is about something else.
void refuse_tab_indentation(const std::string& text) {
  int line = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::size_t tab = text.find_first_not_of(' ', begin);
    if (tab < end && text[tab] == '\t') {
      const std::size_t word = text.find_first_not_of(" \t", tab);
      if (word < end && text[word] != '#') {
        throw DocumentFault({line, static_cast<int>(tab - begin) + 1}, "a tab is used for indentation", "use spaces");
      }
    }
    begin = end + 1;
  }
}

std::string hint_for(const std::string& message) {
  if (message.find("map value") != std::string::npos) return "quote text that contains ': '";
  if (message.find("end of map") != std::string::npos || message.find("end of sequence") != std::string::npos) {
    return "check indentation and brackets up to here";
  }
  return {};
}

}  // namespace

void read_yaml(const std::string& text, DocumentTree& tree, Diagnostics& d) {
  refuse_tab_indentation(text);
  std::istringstream in(text);
  Marks marks(text);
  try {
    YAML::Parser parser(in);
    EventReader reader(tree, marks, d);
    while (parser.HandleNextDocument(reader)) {
    }
    refuse_open_quote(text, reader.last_scalar(), marks);
  } catch (const YAML::Exception& e) {
    throw DocumentFault(marks(e.mark), "is not valid YAML: " + e.msg, hint_for(e.msg));
  }
}

}  // namespace lockstep
