// SPDX-License-Identifier: Apache-2.0
// YAML and JSON documents as a tree of our own in which every value knows where it was written. A scalar is its text and
// whether it was quoted; what the text means (010, NO, 1e3, 80 GiB) is decided by the type of the field that reads it
// (base/field_table.h), never by the parser. yaml-cpp is seen by document_yaml.cpp alone, nlohmann-json by document_json.cpp.
//
// Refused with a position: duplicate keys, merge keys (<<), tags, keys that are no scalars, several documents in a file, tabs in
// indentation, bytes that are no UTF-8 text, nesting beyond kMaxDepth, files beyond kMaxDocumentBytes, more than kMaxNodes values.
// Aliases (*name) are copies of what the anchor (&name) holds. Not supported: aliases inside the value they name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostics.h"

namespace lockstep {

inline constexpr std::size_t kMaxDocumentBytes = 16u << 20;
inline constexpr int kMaxDepth = 64;
inline constexpr std::size_t kMaxNodes = 1'000'000;

enum class NodeKind : std::uint8_t { kNull, kScalar, kSequence, kMap };
[[nodiscard]] std::string_view to_text(NodeKind kind);  // "nothing", "a value", "a list", "a map"

struct DocumentTree;  // the arena; base/document_tree.h

// A handle to one value. Valid as long as its Document lives. A default-constructed Node is no value at all.
class Node {
 public:
  Node() = default;
  Node(const DocumentTree* tree, std::uint32_t index) : tree_(tree), index_(index) {}

  [[nodiscard]] explicit operator bool() const { return tree_ != nullptr; }
  [[nodiscard]] NodeKind kind() const;
  [[nodiscard]] bool is_null() const { return kind() == NodeKind::kNull; }
  [[nodiscard]] bool is_scalar() const { return kind() == NodeKind::kScalar; }
  [[nodiscard]] bool is_sequence() const { return kind() == NodeKind::kSequence; }
  [[nodiscard]] bool is_map() const { return kind() == NodeKind::kMap; }
  [[nodiscard]] Position position() const;
  [[nodiscard]] std::string path() const;         // "fabric.spines", "jobs[2].name"; empty for the root
  [[nodiscard]] const std::string& text() const;  // of a scalar; empty for the other kinds
  [[nodiscard]] bool is_quoted() const;           // "8" in quotes is text, never a number

  [[nodiscard]] std::size_t size() const;                     // elements of a sequence or map, in written order
  [[nodiscard]] Node at(std::size_t i) const;                 // PRE: i < size()
  [[nodiscard]] const std::string& key(std::size_t i) const;  // PRE: is_map(), i < size()
  [[nodiscard]] Position key_position(std::size_t i) const;
  [[nodiscard]] Node find(std::string_view key) const;  // no Node when absent or not a map

  // `--set server.gpus=4` on `server: dgx-h100`: the scalar keeps its text and carries the map {gpus: 4}, which a field that
  // refers to a preset lays over the preset. No Node when there is none.
  [[nodiscard]] Node overrides() const;
  // The scalar alone.
  [[nodiscard]] Node without_overrides() const;

 private:
  friend class Document;
  const DocumentTree* tree_ = nullptr;
  std::uint32_t index_ = 0;
  bool hides_overrides_ = false;
};

enum class DocumentFormat : std::uint8_t { kYaml, kJson };

class Document {
 public:
  // Reads a file; "-" is stdin. `.json` is JSON, all else YAML. Everything wrong is added to `d`, and then there is no Document.
  [[nodiscard]] static std::optional<Document> load(const std::string& file, Diagnostics& d);
  [[nodiscard]] static std::optional<Document> parse(std::string_view text, const std::string& file, Diagnostics& d,
                                                     DocumentFormat format = DocumentFormat::kYaml);
  // An empty map, to be filled by assign(); `origin` is what positions say ("command line").
  [[nodiscard]] static Document empty_map(const std::string& origin);

  [[nodiscard]] Document clone() const;
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  [[nodiscard]] Node root() const;
  [[nodiscard]] const std::string& file() const;
  [[nodiscard]] std::uint64_t content_hash() const;  // of the bytes read; for manifests

  // Applies "a.b.c=VALUE" (--set): VALUE is a YAML scalar or flow value; creates or replaces; `jobs[0].tp` and `jobs.0.tp` index
  // lists. Positions of what it made say "--set a.b.c=VALUE". Whether the path exists is found by the reader of the document.
  // False, with an error in `d`, when the assignment cannot be applied.
  bool set(std::string_view assignment, Diagnostics& d);
  // The same for one path and a value; positions say `origin` ("--cluster c.yaml"). `as_text`: the value is taken literally.
  bool assign(std::string_view path, std::string_view value, const std::string& origin, Diagnostics& d, bool as_text = false);
  // The same with a copy of a value of another document; what it made keeps the positions it has there.
  bool assign(std::string_view path, const Node& value, Diagnostics& d);

 private:
  explicit Document(std::unique_ptr<DocumentTree> tree);
  // Places the value that `make` appends to the tree for a new source.
  template <class Make>
  bool place(std::string_view path, const Position& origin, Diagnostics& d, const Make& make);
  std::unique_ptr<DocumentTree> tree_;
};

}  // namespace lockstep
