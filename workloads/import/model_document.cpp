// SPDX-License-Identifier: Apache-2.0
#include "workloads/import/model_document.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/field_table.h"

namespace lockstep {
namespace {

class HuggingFaceReader {
 public:
  HuggingFaceReader(const Document& document, ReadContext& context, const std::string& path)
      : root_(document.root()), context_(context), path_(path) {}

  void read(TransformerSpec& m) {
    refuse_unsupported();
    m.layers = integer("num_hidden_layers", 10'000);
    m.hidden = integer("hidden_size", 1 << 20);
    m.heads = integer("num_attention_heads", 65'536);
    m.kv_heads = integer("num_key_value_heads", 65'536, m.heads);
    m.head_dim = integer("head_dim", 65'536, m.heads > 0 ? m.hidden / m.heads : 0);
    m.ffn = integer("intermediate_size", 1 << 22);
    m.vocab = integer("vocab_size", 100'000'000);
    m.max_positions = integer("max_position_embeddings", 1 << 30, 0);
    m.has_tied_embeddings = flag("tie_word_embeddings");
    const bool has_attention_bias = flag("attention_bias");
    m.has_linear_biases = has_attention_bias && flag("mlp_bias");
    m.has_qkv_biases = has_attention_bias || type() == "qwen2";
    m.has_qk_norm = type() == "qwen3";
    if (m.kv_heads > 0 && m.heads % m.kv_heads != 0) {
      error(root_.find("num_key_value_heads"), "num_key_value_heads",
            fmt::format("{} query heads do not share {} key/value heads evenly", m.heads, m.kv_heads), {});
    }
    warn_about_windows();
  }

 private:
  void error(const Node& at, std::string_view key, std::string message, std::string hint) {
    const Position position = at ? at.position() : root_.position();
    context_.diagnostics().error(position, join_path(path_, key), std::move(message), std::move(hint));
  }

  [[nodiscard]] std::string type() const {
    const Node node = root_.find("model_type");
    return node && node.is_scalar() ? node.text() : "";
  }

  // Absent and null are the same to transformers.
  [[nodiscard]] Node value(std::string_view key) const {
    const Node node = root_.find(key);
    return node && !node.is_null() ? node : Node();
  }

  // A `fallback` below 0 means the key must be there.
  std::int64_t integer(std::string_view key, std::int64_t highest, std::int64_t fallback = -1) {
    const Node node = value(key);
    if (!node) {
      if (fallback < 0) error(node, key, "is missing", "a config.json of a transformer has it");
      return std::max<std::int64_t>(fallback, 0);
    }
    const Parsed<std::int64_t> parsed = node.is_scalar() && !node.is_quoted() ? parse_int(node.text()) : Parsed<std::int64_t>{};
    if (parsed && *parsed.value >= 1 && *parsed.value <= highest) return *parsed.value;
    error(node, key, node.is_scalar() ? fmt::format("'{}' is no number from 1 to {}", node.text(), highest) : "is no number",
          {});
    return 0;
  }

  bool flag(std::string_view key) {
    const Node node = value(key);
    if (!node) return false;
    if (node.is_scalar() && (node.text() == "true" || node.text() == "false")) return node.text() == "true";
    error(node, key, "is neither true nor false", {});
    return false;
  }

  void refuse_unsupported() {
    for (const std::string_view key : {"num_local_experts", "num_experts", "n_routed_experts", "num_routed_experts"}) {
      if (value(key)) error(value(key), key, "mixture of experts is not supported yet", "a dense model");
    }
    for (const std::string_view key : {"kv_lora_rank", "q_lora_rank"}) {
      if (value(key)) error(value(key), key, "multi-head latent attention is not supported yet", "grouped-query attention");
    }
    for (const std::string_view known : {"llama", "mistral", "qwen2", "qwen3"}) {
      if (type() == known) return;
    }
    if (context_.diagnostics().has_errors()) return;
    error(root_.find("model_type"), "model_type",
          type().empty() ? "is missing" : fmt::format("'{}' is not supported yet", type()), "llama, mistral, qwen2 or qwen3");
  }

  void warn_about_windows() {
    const Node node = value("sliding_window");
    const Node is_used = value("use_sliding_window");
    if (!node || (is_used && is_used.text() == "false")) return;
    context_.diagnostics().warning(node.position(), join_path(path_, "sliding_window"),
                                   "sliding windows are not modelled: attention is computed over the whole sequence");
  }

  Node root_;
  ReadContext& context_;
  const std::string& path_;
};

// "config.json" says nothing: its folder is named after the model.
std::string name_of(const std::string& file) {
  const std::filesystem::path path(file);
  const std::string stem = path.stem().string();
  const std::string folder = path.parent_path().filename().string();
  return stem == "config" && !folder.empty() ? folder : stem;
}

}  // namespace

bool read_model(const Document& document, TransformerSpec& out, ReadContext& context, const std::string& path) {
  const Node root = document.root();
  const bool is_foreign = root.is_map() && !root.find("kind") && (root.find("model_type") || root.find("architectures"));
  if (!is_foreign) return model_fields().read_document(document, out, context, path);
  const std::size_t errors = context.diagnostics().error_count();
  HuggingFaceReader(document, context, path).read(out);
  out.name = name_of(document.file());
  return context.diagnostics().error_count() == errors;
}

}  // namespace lockstep
