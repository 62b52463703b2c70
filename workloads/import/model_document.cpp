// SPDX-License-Identifier: Apache-2.0
#include "workloads/import/model_document.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/field_table.h"
#include "workloads/import/huggingface/families.h"
#include "workloads/import/huggingface/geometry.h"

namespace lockstep {
namespace {

using huggingface::ConfigReader;
using huggingface::Family;

std::vector<Family> all_families() {
  std::vector<Family> all = huggingface::llama_families();
  for (const auto* more : {&huggingface::gpt_families(), &huggingface::expert_families()}) {
    all.insert(all.end(), more->begin(), more->end());
  }
  return all;
}

const Family* find_family(const std::vector<Family>& families, const std::string& type) {
  for (const Family& f : families) {
    if (f.model_type == type) return &f;
  }
  return nullptr;
}

void check_heads(ConfigReader& c, const TransformerSpec& m) {
  if (m.kv_heads > 0 && m.heads % m.kv_heads != 0) {
    c.error("num_key_value_heads", fmt::format("{} query heads do not share {} key/value heads evenly", m.heads, m.kv_heads),
            {});
  }
  if (m.has_learned_positions() && m.max_positions == 0) {
    c.error("max_position_embeddings", "learned positions need their number", "also read as n_positions, n_ctx or max_seq_len");
  }
  if (m.heads > 0 && m.hidden > 0 && m.head_dim == 0) {
    c.error("num_attention_heads", fmt::format("{} heads leave none of {} channels to each", m.heads, m.hidden),
            "or set head_dim");
  }
}

// Of a multimodal model only the language model is trained here.
void read_config(ConfigReader c, TransformerSpec& m) {
  const std::vector<Family> families = all_families();
  const std::string outer = c.text({"model_type"});
  ConfigReader inner = c.below("text_config");
  const bool is_nested = c.has({"text_config"});
  if (is_nested) c.warning("text_config", "the text model alone is read");
  const std::string nested = inner.text({"model_type"});
  const std::string type = is_nested && !nested.empty() ? nested : outer;
  ConfigReader& used = is_nested ? inner : c;
  const Family* family = find_family(families, type);
  if (family == nullptr) {
    const std::string message = type.empty() ? "is missing" : fmt::format("'{}' is not supported", type);
    return used.error("model_type", message, detail::choice_hint(type, known_model_types()));
  }
  family->read(used, m);
  check_heads(used, m);
  huggingface::warn_about_windows(used);
  if (is_nested && c.has({"tie_word_embeddings"}) && !inner.has({"tie_word_embeddings"})) {
    m.has_tied_embeddings = c.flag({"tie_word_embeddings"});
  }
}

// "config.json" says nothing: its folder is named after the model.
std::string name_of(const std::string& file) {
  const std::filesystem::path path(file);
  const std::string stem = path.stem().string();
  const std::string folder = path.parent_path().filename().string();
  return stem == "config" && !folder.empty() ? folder : stem;
}

}  // namespace

std::vector<std::string> known_model_types() {
  std::vector<std::string> types;
  for (const Family& f : all_families()) types.emplace_back(f.model_type);
  return types;
}

bool read_model(const Document& document, TransformerSpec& out, ReadContext& context, const std::string& path) {
  const Node root = document.root();
  const bool is_foreign = root.is_map() && !root.find("kind") && (root.find("model_type") || root.find("architectures"));
  if (!is_foreign) return model_fields().read_document(document, out, context, path);
  const std::size_t errors = context.diagnostics().error_count();
  out = TransformerSpec{};
  read_config(ConfigReader(root, context, path), out);
  out.name = name_of(document.file());
  return context.diagnostics().error_count() == errors;
}

}  // namespace lockstep
