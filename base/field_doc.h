// SPDX-License-Identifier: Apache-2.0
// What there is to say about the keys of a kind of document, without its C++ type: `lockstep schema` and the configuration reference
// are printed from it. Built by FieldTable<T>::docs().
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

enum class FieldShape { kValue, kSection, kList, kNamed };  // one value, a map of keys, a list, a map from names

struct ChoiceDoc {
  std::string name;
  std::string doc;
};

struct FieldDoc {
  std::string name;
  FieldShape shape = FieldShape::kValue;
  std::string type;          // "integer", "rate", "choice", "list of integer"
  std::string unit;          // accepted units: "Gbps, GB/s, ..."
  std::string default_text;  // empty: none
  std::string range;         // "1 to 4096"; empty: no limit
  std::string doc;
  std::string source;          // where the default comes from
  std::string reference_kind;  // the value may be the name of a preset of this kind, or a file
  bool is_required = false;
  std::vector<ChoiceDoc> choices;
  std::vector<FieldDoc> fields;  // keys below a section, list element or named entry
};

// The doc at a dotted path ("fabric.host_link.latency"; list indices and names are skipped), or nullptr.
[[nodiscard]] const FieldDoc* find_field(const std::vector<FieldDoc>& fields, std::string_view path);
// Every dotted path below `fields`, in order.
[[nodiscard]] std::vector<std::string> all_paths(const std::vector<FieldDoc>& fields);
// Text for people: one line per key, indented as in the file.
[[nodiscard]] std::string schema_text(const std::vector<FieldDoc>& fields);

}  // namespace lockstep
