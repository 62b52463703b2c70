// SPDX-License-Identifier: Apache-2.0
// The reading and printing of one field's value, alone or in an optional, a list or a map from names; the builders that FieldTable
// hands out to describe a field.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/read_context.h"
#include "base/value_codec.h"

namespace lockstep {

template <class S>
struct ValueRules {
  std::function<Parsed<S>(std::string_view)> parse;
  std::function<std::string(const S&)> print;
  bool is_text = false;  // quotes are welcome
  std::optional<S> lowest;
  std::optional<S> highest;
};

template <class S>
[[nodiscard]] ValueRules<S> codec_rules() {
  ValueRules<S> rules;
  rules.parse = [](std::string_view text) { return Codec<S>::parse(text); };
  rules.print = [](const S& v) { return Codec<S>::print(v); };
  rules.is_text = std::is_same_v<S, std::string> || !Codec<S>::unit.empty() || requires { Codec<S>::kIsText; };
  return rules;
}

// `list` holds {name, value, doc}.
template <class S, class List>
[[nodiscard]] ValueRules<S> choice_rules(const List& list) {
  ValueRules<S> rules;
  rules.is_text = true;
  rules.parse = [list](std::string_view text) -> Parsed<S> {
    std::vector<std::string> names;
    for (const auto& c : list) {
      if (c.name == text) return {c.value, {}, {}};
      names.push_back(c.name);
    }
    return {std::nullopt, detail::unknown_choice(text), detail::choice_hint(text, names)};
  };
  rules.print = [list](const S& v) -> std::string {
    for (const auto& c : list) {
      if (c.value == v) return c.name;
    }
    return {};
  };
  return rules;
}

// Describes a value field: t.field("nodes", &Spec::nodes).required().range(1, 65536).doc("servers").
template <class S>
class FieldRef {
 public:
  FieldRef(FieldDoc& doc, ValueRules<S>& rules) : doc_(&doc), rules_(&rules) {}
  FieldRef& doc(std::string text) { return doc_->doc = std::move(text), *this; }
  FieldRef& source(std::string text) { return doc_->source = std::move(text), *this; }
  FieldRef& unit(std::string text) { return doc_->unit = std::move(text), *this; }  // what a plain number counts
  FieldRef& required() { return doc_->is_required = true, *this; }
  FieldRef& range(S lowest, S highest) {
    rules_->lowest = lowest;
    rules_->highest = highest;
    doc_->range = rules_->print(lowest) + " to " + rules_->print(highest);
    return *this;
  }
  FieldRef& at_least(S lowest) {
    rules_->lowest = lowest;
    doc_->range = "at least " + rules_->print(lowest);
    return *this;
  }
  // For rates: print as GB/s rather than Gbps.
  FieldRef& in_bytes() requires std::is_same_v<S, Rate> {
    rules_->print = [](const Rate& v) { return to_text(v, RateStyle::kBytes); };
    return *this;
  }

 private:
  FieldDoc* doc_;
  ValueRules<S>* rules_;
};

class SectionRef {
 public:
  explicit SectionRef(FieldDoc& doc) : doc_(&doc) {}
  SectionRef& doc(std::string text) { return doc_->doc = std::move(text), *this; }
  SectionRef& source(std::string text) { return doc_->source = std::move(text), *this; }
  SectionRef& required() { return doc_->is_required = true, *this; }

 private:
  FieldDoc* doc_;
};

namespace detail {

template <class V>
[[nodiscard]] std::string container_type(const std::string& type) {
  if constexpr (std::is_same_v<V, std::vector<element_of_t<V>>>) return "list of " + type;
  if constexpr (std::is_same_v<V, std::map<std::string, element_of_t<V>>>) return "map from names to " + type;
  return type;
}

template <class S>
bool read_value(const Node& node, S& out, const ValueRules<S>& rules, const FieldDoc& doc, ReadContext& context,
                const std::string& path) {
  if (!expect_scalar(node, doc, context, path)) return false;
  if (node.is_quoted() && !rules.is_text) {
    report_value(node, doc, "'" + node.text() + "' is text because it is quoted", "remove the quotes", context, path);
    return false;
  }
  Parsed<S> parsed = rules.parse(node.text());
  if (!parsed) {
    report_value(node, doc, parsed.error, parsed.hint, context, path);
    return false;
  }
  if ((rules.lowest && *parsed.value < *rules.lowest) || (rules.highest && *rules.highest < *parsed.value)) {
    report_value(node, doc, "'" + node.text() + "' is out of range", doc.range, context, path);
    return false;
  }
  out = *std::move(parsed.value);
  return true;
}

template <class S>
bool read_value(const Node& node, std::optional<S>& out, const ValueRules<S>& rules, const FieldDoc& doc, ReadContext& context,
                const std::string& path) {
  if (node.is_null()) return out.reset(), true;
  S value{};
  if (!read_value(node, value, rules, doc, context, path)) return false;
  out = std::move(value);
  return true;
}

template <class S>
bool read_value(const Node& node, std::vector<S>& out, const ValueRules<S>& rules, const FieldDoc& doc, ReadContext& context,
                const std::string& path) {
  if (!expect_sequence(node, doc, context, path)) return false;
  bool is_good = true;
  std::vector<S> values;
  for (std::size_t i = 0; i < node.size(); ++i) {
    S value{};
    is_good = read_value(node.at(i), value, rules, doc, context, join_path(path, i)) && is_good;
    values.push_back(std::move(value));
  }
  if (is_good) out = std::move(values);
  return is_good;
}

template <class S>
bool read_value(const Node& node, std::map<std::string, S>& out, const ValueRules<S>& rules, const FieldDoc& doc,
                ReadContext& context, const std::string& path) {
  if (!expect_named(node, doc, context, path)) return false;
  bool is_good = true;
  for (std::size_t i = 0; i < node.size(); ++i) {
    S value{};
    const std::string entry = join_path(path, node.key(i));
    if (read_value(node.at(i), value, rules, doc, context, entry)) {
      context.note_origin(entry, node.at(i).position());
      out[node.key(i)] = std::move(value);
    } else {
      is_good = false;
    }
  }
  return is_good;
}

template <class S>
[[nodiscard]] std::string print_value(const S& v, const ValueRules<S>& rules) {
  return rules.print(v);
}
template <class S>
[[nodiscard]] std::string print_value(const std::optional<S>& v, const ValueRules<S>& rules) {
  return v ? rules.print(*v) : std::string();
}
template <class S>
[[nodiscard]] std::string print_value(const std::vector<S>& v, const ValueRules<S>& rules) {
  if (v.empty()) return {};
  std::string text = "[";
  for (const S& e : v) text += (text.size() > 1 ? ", " : "") + rules.print(e);
  return text + "]";
}
template <class S>
[[nodiscard]] std::string print_value(const std::map<std::string, S>& v, const ValueRules<S>& rules) {
  if (v.empty()) return {};
  std::string text = "{";
  for (const auto& [name, e] : v)
    text += (text.size() > 1 ? ", " : "") + Codec<std::string>::print(name) + ": " + rules.print(e);
  return text + "}";
}

}  // namespace detail
}  // namespace lockstep
