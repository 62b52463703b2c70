// SPDX-License-Identifier: Apache-2.0
// One place per kind of document for the name, type, unit, default, range, doc and source of each key. Reading a document into a struct,
// its error messages, `lockstep schema` and --show-config all come from it. Defaults are those of a default-constructed T.
//
//   const FieldTable<FabricSpec>& fabric_fields() {
//     static const FieldTable<FabricSpec> table = [] {
//       FieldTable<FabricSpec> t("network");                       // a kind: documents begin with `kind: network`; "" for none
//       t.field("spines", &FabricSpec::spines).required().range(1, 4096).doc("spine switches");
//       t.section("host_link", &FabricSpec::host_link, link_fields()).doc("NIC to leaf");
//       t.choice("routing", &FabricSpec::routing, {{"ecmp", Routing::kEcmp, "hash per flow"}, {"spray", Routing::kSpray, "even"}});
//       t.validate([](const FabricSpec& f, Section& s) { if (f.spines % 2) s.error("spines", "must be even"); });
//       return t;
//     }();
//     return table;
//   }
//
// Members may be any Codec type (value_codec.h), an optional, a vector or a map from names of one, a struct with its own table (section),
// an optional, vector (list) or map (named) of such structs, or a struct that may also be given by name or file (reference):
//   server: dgx-h100 | server: ./mine.yaml | server: {preset: dgx-h100, gpus: 4} | server: {all keys inline}
// All errors are collected. Tables must not contain themselves.
//
// LENGTH: one class template, whose members know each other.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <utility>

#include "base/field_value.h"
#include "base/read_context.h"

namespace lockstep {

template <class E>
struct Choice {
  std::string name;
  E value;
  std::string doc;
};

template <class T>
class FieldTable {
 public:
  explicit FieldTable(std::string kind = {}) : kind_(std::move(kind)) {}

  template <class V>
  FieldRef<element_of_t<V>> field(std::string name, V T::*member) {
    return add_value<V>(std::move(name), member, codec_rules<element_of_t<V>>(), std::string(Codec<element_of_t<V>>::type),
                        std::string(Codec<element_of_t<V>>::unit));
  }

  // V is an enum, or an optional, vector or map of one.
  template <class V>
  FieldRef<element_of_t<V>> choice(std::string name, V T::*member, std::initializer_list<Choice<element_of_t<V>>> choices) {
    std::vector<Choice<element_of_t<V>>> list(choices);
    FieldRef<element_of_t<V>> ref = add_value<V>(std::move(name), member, choice_rules<element_of_t<V>>(list), "choice", "");
    for (const auto& c : list) entries_.back()->doc.choices.push_back({c.name, c.doc});
    return ref;
  }

  // S, or an optional of S (absent when the key is).
  template <class V, class S>
  SectionRef section(std::string name, V T::*member, const FieldTable<S>& table) {
    Entry& e = add(std::move(name), FieldShape::kSection, "map");
    e.docs = [member, &table](const T& defaults) { return table.docs(contained<S>(defaults.*member)); };
    e.read = [member, &table](const Node& n, T& out, ReadContext& c, const std::string& path, ReadMode mode) {
      read_contained<S>(n, out.*member, table, c, path, mode);
    };
    e.print = [member, &table, key = e.doc.name](const T& v, ConfigPrinter& p, const std::string& path) {
      print_contained<S>(v.*member, table, key, p, path);
    };
    return SectionRef(e.doc);
  }

  // A section that may also be given by one value: a scalar is what its key `scalar_key` holds, a list what `list_key` does
  // (placement: spread, placement: [8-15, 0-7]). V is S or an optional of S; S is printed unless it is as it was made.
  template <class V, class S>
  SectionRef section_or_value(std::string name, V T::*member, const FieldTable<S>& table, std::string scalar_key,
                              std::string list_key) {
    SectionRef ref = section(std::move(name), member, table);
    Entry& e = *entries_.back();
    e.doc.type = "value, list or map";
    e.read = [member, &table, scalar_key, list_key, read_map = e.read](const Node& n, T& out, ReadContext& c,
                                                                       const std::string& path, ReadMode mode) {
      if (!n.is_scalar() && !n.is_sequence()) return read_map(n, out, c, path, mode);
      S& value = emplace_contained<S>(out.*member);
      value = S{};
      table.read_single(n.is_scalar() ? scalar_key : list_key, n, value, c, path);
    };
    e.print = [member, print_map = e.print](const T& v, ConfigPrinter& p, const std::string& path) {
      if (!(v.*member == V{})) print_map(v, p, path);
    };
    return ref;
  }

  // An element that is one value is what its key `scalar_key` holds, where one is given.
  template <class S>
  SectionRef list(std::string name, std::vector<S> T::*member, const FieldTable<S>& table, std::string scalar_key = {}) {
    Entry& e = add(std::move(name), FieldShape::kList, scalar_key.empty() ? "list of maps" : "list of values or maps");
    e.docs = [&table](const T&) { return table.docs(S{}); };
    e.read = [member, scalar_key, &table, &doc = e.doc](const Node& n, T& out, ReadContext& c, const std::string& path,
                                                        ReadMode) {
      if (!detail::expect_sequence(n, doc, c, path)) return;
      c.note_origin(path, n.position());
      (out.*member).assign(n.size(), S{});
      for (std::size_t i = 0; i < n.size(); ++i) {
        if (!scalar_key.empty() && n.at(i).is_scalar()) {
          table.read_single(scalar_key, n.at(i), (out.*member)[i], c, join_path(path, i));
        } else {
          table.read(n.at(i), (out.*member)[i], c, join_path(path, i), ReadMode::kWhole);
        }
      }
    };
    e.print = [member, &table, key = e.doc.name](const T& v, ConfigPrinter& p, const std::string& path) {
      if ((v.*member).empty()) return;
      p.open(key);
      for (std::size_t i = 0; i < (v.*member).size(); ++i) {
        p.open_element();
        table.print((v.*member)[i], p, join_path(path, i));
        p.close();
      }
      p.close();
    };
    return SectionRef(e.doc);
  }

  template <class S>
  SectionRef named(std::string name, std::map<std::string, S> T::*member, const FieldTable<S>& table) {
    Entry& e = add(std::move(name), FieldShape::kNamed, "map from names");
    e.docs = [&table](const T&) { return table.docs(S{}); };
    e.read = [member, &table, &doc = e.doc](const Node& n, T& out, ReadContext& c, const std::string& path, ReadMode mode) {
      if (!detail::expect_named(n, doc, c, path)) return;
      for (std::size_t i = 0; i < n.size(); ++i) {
        const bool is_new = (out.*member).count(n.key(i)) == 0;
        table.read(n.at(i), (out.*member)[n.key(i)], c, join_path(path, n.key(i)), is_new ? ReadMode::kWhole : mode);
      }
    };
    e.print = [member, &table, key = e.doc.name](const T& v, ConfigPrinter& p, const std::string& path) {
      if ((v.*member).empty()) return;
      p.open(key);
      for (const auto& [entry, value] : v.*member) {
        p.open(entry);
        table.print(value, p, join_path(path, entry));
        p.close();
      }
      p.close();
    };
    return SectionRef(e.doc);
  }

  // A value of a shape of its own: `read` adds what is wrong to the context, `print` (if any) writes what reads back. Null is V{}.
  template <class V>
  SectionRef tree(std::string name, V T::*member, std::string type,
                  std::function<void(const Node&, V&, ReadContext&, const std::string& path)> read,
                  std::function<void(const V&, ConfigPrinter&, std::string_view key, const std::string&)> print = nullptr) {
    Entry& e = add(std::move(name), FieldShape::kValue, std::move(type));
    e.read = [member, read = std::move(read)](const Node& n, T& out, ReadContext& c, const std::string& path, ReadMode) {
      out.*member = V{};
      c.note_origin(path, n.position());
      if (!n.is_null()) read(n, out.*member, c, path);
    };
    if (!print) return e.print = [](const T&, ConfigPrinter&, const std::string&) {}, SectionRef(e.doc);
    e.print = [=, key = e.doc.name](const T& v, ConfigPrinter& p, const std::string& path) { print(v.*member, p, key, path); };
    return SectionRef(e.doc);
  }

  // Reads the root of a referred document into S; the default is table.read_document. For foreign formats (a model's config.json).
  template <class S>
  using Loader = std::function<bool(const Document&, S&, ReadContext&, const std::string& path)>;
  // Opens what a name or file stands for; the default looks it up in the library. For names that are built by a rule.
  using Opener = std::function<std::optional<Document>(const Node&, ReadContext&, const std::string& path)>;

  // V is S or an optional of S; `table` must have a kind. When S has a `name` that is empty, it becomes the name of the preset.
  template <class V, class S>
  SectionRef reference(std::string name, V T::*member, const FieldTable<S>& table, Loader<S> loader = nullptr,
                       Opener opener = nullptr) {
    SectionRef ref = section(std::move(name), member, table);
    Entry& e = *entries_.back();
    e.doc.type = "name, file or map";
    e.doc.reference_kind = table.kind();
    e.read = [member, &table, loader = std::move(loader), opener = std::move(opener), inline_read = e.read](
                 const Node& n, T& out, ReadContext& c, const std::string& path, ReadMode mode) {
      const Node preset = n.is_scalar() ? n : n.find("preset");
      if (!preset) return inline_read(n, out, c, path, mode);
      S& value = emplace_contained<S>(out.*member);
      value = S{};
      if (!load_reference<S>(preset, value, table, loader, opener, c, path)) return;
      c.note_origin(path, n.position());
      const Node overlay = n.is_scalar() ? n.overrides() : n;
      if (overlay) table.read(overlay, value, c, path, ReadMode::kOverlay);
    };
    return ref;
  }

  // Where the key of the reference added last is absent, it is what `preset` stands for; a map without a preset is laid over that.
  void reference_default(const std::string& preset) {
    Entry& e = *entries_.back();
    e.doc.default_text = preset;
    e.read_default = [preset, key = e.doc.name, read = e.read](T& out, ReadContext& c, const std::string& path) {
      Document document = Document::empty_map("default");
      if (!document.assign(key, preset, "default", c.diagnostics(), true)) return;
      read(document.root().find(key), out, c, path, ReadMode::kWhole);
    };
    e.read = [read_default = e.read_default, read = e.read](const Node& n, T& out, ReadContext& c, const std::string& path,
                                                            ReadMode mode) {
      if (n.is_map() && !n.find("preset") && mode == ReadMode::kWhole) {
        read_default(out, c, path);
        mode = ReadMode::kOverlay;
      }
      read(n, out, c, path, mode);
    };
  }

  // The key added last is printed only where `is_given` holds: one of two alternatives is left empty.
  void print_when(std::function<bool(const T&)> is_given) {
    Entry& e = *entries_.back();
    e.print = [is_given = std::move(is_given), print = std::move(e.print)](const T& v, ConfigPrinter& p,
                                                                           const std::string& path) {
      if (is_given(v)) print(v, p, path);
    };
  }

  // Runs after T was read without errors; may add errors of its own.
  void validate(std::function<void(const T&, Section&)> check) { checks_.push_back(std::move(check)); }

  [[nodiscard]] const std::string& kind() const { return kind_; }

  [[nodiscard]] std::vector<FieldDoc> docs(const T& defaults = T{}) const {
    std::vector<FieldDoc> result;
    for (const auto& e : entries_) {
      result.push_back(e->doc);
      if (e->docs) result.back().fields = e->docs(defaults);
      if (!e->default_text || e->doc.is_required) continue;
      const std::string text = e->default_text(defaults);
      if (text != "\"\"") result.back().default_text = text;
    }
    return result;
  }

  // Reads the keys of `node` over what `out` holds. Errors go to the context; returns true when there were none here or below.
  bool read(const Node& node, T& out, ReadContext& context, const std::string& path = {},
            ReadMode mode = ReadMode::kWhole) const {
    const std::size_t errors = context.diagnostics().error_count();
    if (!detail::expect_map(node, field_docs(), context, path)) return false;
    context.note_origin(path, node.position());
    std::vector<bool> seen(entries_.size(), false);
    for (std::size_t i = 0; i < node.size(); ++i) read_key(node, i, out, context, path, mode, seen);
    for (std::size_t k = 0; mode == ReadMode::kWhole && k < entries_.size(); ++k) {
      const FieldDoc& doc = entries_[k]->doc;
      if (seen[k]) continue;
      if (doc.is_required) detail::report_missing_key(node, doc, context, path);
      if (entries_[k]->read_default) entries_[k]->read_default(out, context, join_path(path, doc.name));
    }
    return context.diagnostics().error_count() == errors && run_checks(out, context, path);
  }

  // The same for the root of a document, which must begin with `kind: KIND`.
  bool read_document(const Document& document, T& out, ReadContext& context, const std::string& path = {}) const {
    const bool kind_fits = detail::check_kind(document.root(), kind_, context, path);
    if (!kind_fits) return false;
    if (!read(document.root(), out, context, path)) return false;
    if constexpr (requires { out.name = std::string(); }) {
      if (out.name.empty()) out.name = detail::reference_name(document.file());
    }
    return true;
  }

  void print(const T& value, ConfigPrinter& printer, const std::string& path = {}) const {
    for (const auto& e : entries_) e->print(value, printer, join_path(path, e->doc.name));
  }

 private:
  template <class>
  friend class FieldTable;

  struct Entry {
    FieldDoc doc;
    std::function<void(const Node&, T&, ReadContext&, const std::string& path, ReadMode)> read;
    std::function<void(const T&, ConfigPrinter&, const std::string& path)> print;
    std::function<void(T&, ReadContext&, const std::string& path)> read_default;  // where the key is absent
    std::function<std::string(const T&)> default_text;
    std::function<std::vector<FieldDoc>(const T&)> docs;
  };

  Entry& add(std::string name, FieldShape shape, std::string type) {
    for (const auto& e : entries_) LOCKSTEP_CHECK(e->doc.name != name, "the key '{}' is declared twice", name);
    entries_.push_back(std::make_shared<Entry>());
    Entry& e = *entries_.back();
    e.doc.name = std::move(name);
    e.doc.shape = shape;
    e.doc.type = std::move(type);
    return e;
  }

  template <class V>
  FieldRef<element_of_t<V>> add_value(std::string name, V T::*member, ValueRules<element_of_t<V>> value_rules, std::string type,
                                      std::string unit) {
    Entry& e = add(std::move(name), FieldShape::kValue, detail::container_type<V>(type));
    e.doc.unit = std::move(unit);
    auto rules = std::make_shared<ValueRules<element_of_t<V>>>(std::move(value_rules));
    e.read = [member, rules, &doc = e.doc](const Node& n, T& out, ReadContext& c, const std::string& path, ReadMode) {
      if (detail::read_value(n, out.*member, *rules, doc, c, path)) c.note_origin(path, n.position());
    };
    e.print = [member, rules, key = e.doc.name](const T& v, ConfigPrinter& p, const std::string& path) {
      const std::string text = detail::print_value(v.*member, *rules);
      if (!text.empty()) p.value(path, key, text);
    };
    e.default_text = [member, rules](const T& v) { return detail::print_value(v.*member, *rules); };
    return FieldRef<element_of_t<V>>(e.doc, *rules);
  }

  [[nodiscard]] std::vector<const FieldDoc*> field_docs() const {
    std::vector<const FieldDoc*> result;
    for (const auto& e : entries_) result.push_back(&e->doc);
    return result;
  }

  void read_key(const Node& node, std::size_t i, T& out, ReadContext& context, const std::string& path, ReadMode mode,
                std::vector<bool>& seen) const {
    const std::string& key = node.key(i);
    for (std::size_t k = 0; k < entries_.size(); ++k) {
      if (entries_[k]->doc.name != key) continue;
      seen[k] = true;
      entries_[k]->read(node.at(i), out, context, join_path(path, key), mode);
      return;
    }
    if (!kind_.empty() && detail::is_header_key(key)) {
      if (key == "sources") detail::check_sources(node.at(i), docs(), context);
      return;
    }
    if (key == "preset" && mode == ReadMode::kOverlay) return;
    detail::report_unknown_key(node, i, docs(), context, path);
  }

  // `node` is the value of one key, whose path is that of the whole section, and may carry overrides of others.
  void read_single(const std::string& key, const Node& node, T& out, ReadContext& context, const std::string& path) const {
    const std::size_t errors = context.diagnostics().error_count();
    context.note_origin(path, node.position());
    for (const auto& e : entries_) {
      if (e->doc.name == key) e->read(node.without_overrides(), out, context, path, ReadMode::kWhole);
    }
    if (context.diagnostics().error_count() == errors) run_checks(out, context, path);
    if (const Node overlay = node.overrides()) read(overlay, out, context, path, ReadMode::kOverlay);
  }

  // True when they find nothing wrong.
  bool run_checks(const T& value, ReadContext& context, const std::string& path) const {
    if (!context.runs_checks()) return true;
    const std::size_t errors = context.diagnostics().error_count();
    Section section(context, path);
    for (const auto& check : checks_) check(value, section);
    return context.diagnostics().error_count() == errors;
  }

  template <class S>
  static S contained(const S& v) {
    return v;
  }
  template <class S>
  static S contained(const std::optional<S>&) {
    return S{};
  }
  template <class S>
  static S& emplace_contained(S& v) {
    return v;
  }
  template <class S>
  static S& emplace_contained(std::optional<S>& v) {
    return v ? *v : v.emplace();
  }

  template <class S, class V>
  static void read_contained(const Node& n, V& out, const FieldTable<S>& table, ReadContext& c, const std::string& path,
                             ReadMode mode) {
    if constexpr (std::is_same_v<V, std::optional<S>>) {
      if (n.is_null()) return out.reset();
      if (!out) mode = ReadMode::kWhole;
    }
    table.read(n, emplace_contained<S>(out), c, path, mode);
  }

  template <class S, class V>
  static void print_contained(const V& v, const FieldTable<S>& table, const std::string& key, ConfigPrinter& p,
                              const std::string& path) {
    const S* value = nullptr;
    if constexpr (std::is_same_v<V, std::optional<S>>) {
      value = v ? &*v : nullptr;
    } else {
      value = &v;
    }
    if (value == nullptr) return;
    p.open(key);
    table.print(*value, p, path);
    p.close();
  }

  template <class S>
  static bool load_reference(const Node& n, S& value, const FieldTable<S>& table, const Loader<S>& loader, const Opener& opener,
                             ReadContext& c, const std::string& path) {
    const std::optional<Document> document = opener ? opener(n, c, path) : detail::open_reference(n, table.kind(), c, path);
    if (!document) return false;
    const bool is_read = loader ? loader(*document, value, c, path) : table.read_document(*document, value, c, path);
    if constexpr (requires { value.name = std::string(); }) {
      if (value.name.empty()) value.name = detail::reference_name(n.text());
    }
    return is_read;
  }

  std::string kind_;
  std::vector<std::shared_ptr<Entry>> entries_;
  std::vector<std::function<void(const T&, Section&)>> checks_;
};

}  // namespace lockstep
