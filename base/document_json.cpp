// SPDX-License-Identifier: Apache-2.0
// JSON documents. nlohmann-json decides what is valid and says where it is not; its values have no positions, so the tree is then built
// by a small reader that may assume valid text.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/document_tree.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

Mark mark_at(const std::string& text, std::size_t offset) {
  Mark mark{1, 1};
  for (std::size_t i = 0; i < offset && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++mark.line;
      mark.column = 1;
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0u) != 0x80u) {
      ++mark.column;
    }
  }
  return mark;
}

// Accepts every event; keeps the first error.
class Validator : public Json::json_sax_t {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(Json::number_integer_t) override { return true; }
  bool number_unsigned(Json::number_unsigned_t) override { return true; }
  bool number_float(Json::number_float_t, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(Json::binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(std::string&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string&, const Json::exception& e) override {
    offset = position > 0 ? position - 1 : 0;
    const std::string what = e.what();
    const std::size_t begin = what.find("syntax error");
    message = begin != std::string::npos ? what.substr(begin) : what.substr(what.find("] ") + 2);
    return false;
  }

  std::size_t offset = 0;
  std::string message;
};

// PRE: the text is valid JSON.
class JsonReader {
 public:
  JsonReader(const std::string& text, TreeBuilder& builder) : text_(text), builder_(&builder) {}

  void value() {
    skip_space();
    switch (peek()) {
      case '{':
        return members(NodeKind::kMap, '}');
      case '[':
        return members(NodeKind::kSequence, ']');
      case '"': {
        const Mark mark = mark_;
        builder_->scalar(string(), true, mark);
        return;
      }
      default:
        return word();
    }
  }

 private:
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  char next() {
    const char c = text_[at_++];
    if (c == '\n') {
      ++mark_.line;
      mark_.column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xC0u) != 0x80u) {
      ++mark_.column;
    }
    return c;
  }

  void skip_space() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r') next();
  }

  void members(NodeKind kind, char end) {
    builder_->open(kind, mark_);
    next();
    for (skip_space(); peek() != end; skip_space()) {
      if (peek() == ',') {
        next();
        continue;
      }
      if (kind == NodeKind::kMap) {
        const Mark mark = mark_;
        builder_->key(string(), mark);
        skip_space();
        next();  // ':'
      }
      value();
    }
    next();
    builder_->close();
  }

  void word() {
    const Mark mark = mark_;
    std::string text;
    while (at_ < text_.size() && std::string_view(" \n\t\r,]}").find(peek()) == std::string_view::npos) text += next();
    if (text == "null") {
      builder_->null(mark);
    } else {
      builder_->scalar(std::move(text), false, mark);
    }
  }

  std::string string() {
    next();
    std::string result;
    while (peek() != '"') {
      const char c = next();
      if (c == '\\') {
        escape(result);
      } else {
        result += c;
      }
    }
    next();
    return result;
  }

  void escape(std::string& out) {
    const char c = next();
    switch (c) {
      case 'b':
        out += '\b';
        return;
      case 'f':
        out += '\f';
        return;
      case 'n':
        out += '\n';
        return;
      case 'r':
        out += '\r';
        return;
      case 't':
        out += '\t';
        return;
      case 'u':
        break;
      default:
        out += c;
        return;
    }
    unsigned code = hex4();
    if (code >= 0xD800 && code < 0xDC00) {  // a pair of surrogates; the validator saw to the second
      next();
      next();
      code = 0x10000 + ((code - 0xD800) << 10) + (hex4() - 0xDC00);
    }
    append_utf8(code, out);
  }

  unsigned hex4() {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = next();
      const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
      code = (code << 4) | static_cast<unsigned>(digit);
    }
    return code;
  }

  static void append_utf8(unsigned code, std::string& out) {
    const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80u | ((code >> shift) & 0x3Fu)); };
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += static_cast<char>(0xC0u | (code >> 6));
      tail(0);
    } else if (code < 0x10000) {
      out += static_cast<char>(0xE0u | (code >> 12));
      tail(6);
      tail(0);
    } else {
      out += static_cast<char>(0xF0u | (code >> 18));
      tail(12);
      tail(6);
      tail(0);
    }
  }

  const std::string& text_;
  TreeBuilder* builder_;
  std::size_t at_ = 0;
  Mark mark_{1, 1};
};

}  // namespace

void read_json(const std::string& text, DocumentTree& tree, Diagnostics& d) {
  Validator validator;
  if (!Json::sax_parse(text, &validator)) {
    throw DocumentFault(mark_at(text, validator.offset), "is not valid JSON: " + validator.message);
  }
  TreeBuilder builder(tree, d);
  JsonReader(text, builder).value();
}

}  // namespace lockstep
