// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "workloads/import/megatron/job_import.h"

namespace lockstep {
namespace {

void import_vocabulary(LaunchReader& a, JobSpec& job) {
  TransformerSpec& m = job.model;
  if (const LaunchArgument* padded = a.find({"padded-vocab-size", "pad-vocab-size-to"})) {
    a.set(m.vocab, a.integer(padded, 1), "model.vocab", padded);
    return;
  }
  const std::int64_t multiple = a.integer("make-vocab-size-divisible-by", 128) * job.tp;
  const LaunchArgument* given = a.find("vocab-size");
  std::int64_t entries = given != nullptr ? a.integer(given, 1) : 0;
  const LaunchArgument* tokenizer = a.find("tokenizer-type");
  const std::string kind = a.text(tokenizer);
  if (given == nullptr && (kind == "GPT2BPETokenizer" || a.find("merge-file") != nullptr)) {
    entries = 50'257;  // gpt2-vocab.json
    given = tokenizer != nullptr ? tokenizer : a.find("merge-file");
  } else if (given == nullptr && kind == "Llama2Tokenizer") {
    entries = 32'000;
    given = tokenizer;
  }
  if (given == nullptr) {
    const Position where = tokenizer != nullptr ? tokenizer->position : Position{a.launch().file, 0, 0};
    a.context().diagnostics().error(where, "--vocab-size", "is missing: the vocabulary is known to the tokenizer alone",
                                    "--set vocab-size=N");
    entries = 1;
  }
  a.set(m.vocab, (entries + multiple - 1) / multiple * multiple, "model.vocab", given);
}

void import_heads(LaunchReader& a, TransformerSpec& m) {
  m.heads = a.required({"num-attention-heads"});
  a.set(m.heads, m.heads, "model.heads", a.find("num-attention-heads"));
  const LaunchArgument* channels = a.find("kv-channels");
  a.set(m.head_dim, channels != nullptr ? a.integer(channels, 1) : std::max<std::int64_t>(1, m.hidden / m.heads),
        "model.head_dim", channels != nullptr ? channels : a.find("num-attention-heads"));
  const LaunchArgument* groups = a.find({"num-query-groups", "num-key-value-heads", "num-kv-heads"});
  const bool is_grouped = a.flag("group-query-attention");
  if (groups != nullptr && groups->name == "num-query-groups" && !is_grouped && !a.launch().is_document) {
    a.warning(*groups, "has no effect without --group-query-attention");
    groups = nullptr;
  }
  const std::int64_t absent = is_grouped ? 1 : m.heads;
  a.set(m.kv_heads, groups != nullptr ? a.integer(groups, absent) : absent, "model.kv_heads",
        groups != nullptr ? groups : a.find("num-attention-heads"));
}

void import_latent_attention(LaunchReader& a, TransformerSpec& m) {
  const LaunchArgument* mla = a.find("multi-latent-attention");
  MlaSpec spec;
  spec.q_rank = a.integer(a.find("q-lora-rank"), 0, 0);
  spec.kv_rank = a.integer("kv-lora-rank", 32);  // MLATransformerConfig
  spec.nope_dim = a.integer("qk-head-dim", 128);
  spec.rope_dim = a.integer("qk-pos-emb-head-dim", 64);
  spec.v_dim = a.integer("v-head-dim", 128);
  if (!LaunchReader::is_set(mla)) return;
  m.mla = spec;
  m.kv_heads = m.heads;
  m.has_qk_norm = false;  // there --qk-layernorm means the norms of the latent vectors, which latent attention always has
  for (const char* key : {"q_rank", "kv_rank", "nope_dim", "rope_dim", "v_dim"}) {
    a.context().note_origin(fmt::format("model.mla.{}", key), mla->position);
  }
}

void import_positions(LaunchReader& a, TransformerSpec& m) {
  const LaunchArgument* type = a.find({"position-embedding-type", "pos-emb"});
  const LaunchArgument* rotary = a.find("use-rotary-position-embeddings");
  const std::string name = a.text(type, "learned_absolute");
  PositionKind kind = PositionKind::kLearned;
  if (LaunchReader::is_set(rotary) || name == "rope" || name == "rotary" || name == "yarn" || name == "mrope") {
    kind = PositionKind::kRotary;
  } else if (name == "alibi") {
    kind = PositionKind::kAlibi;
  } else if (name == "none" || name == "no_pe") {
    kind = PositionKind::kNone;
  } else if (type != nullptr && !name.starts_with("learned") && name != "absolute") {
    a.error(*type, fmt::format("'{}' is not modelled", name), "learned_absolute, rope, alibi or none");
  }
  a.set(m.positions, kind, "model.positions", LaunchReader::is_set(rotary) ? rotary : type);
}

void import_norm(LaunchReader& a, TransformerSpec& m) {
  const LaunchArgument* norm = a.find({"normalization", "norm"});
  const std::string name = a.text(norm, "LayerNorm");
  const bool is_rms = name == "RMSNorm" || name == "rmsnorm" || name == "te_rmsnorm";
  if (norm != nullptr && !is_rms && name != "LayerNorm" && name != "layernorm" && name != "te_layernorm") {
    a.error(*norm, fmt::format("'{}' is not modelled", name), "LayerNorm or RMSNorm");
  }
  a.set(m.norm, is_rms ? NormKind::kRms : NormKind::kLayer, "model.norm", norm);
  if (const LaunchArgument* qk = a.find({"qk-layernorm", "use-qk-layernorm"}); LaunchReader::is_set(qk)) {
    a.set(m.has_qk_norm, true, "model.qk_norm", qk);
  }
  if (const LaunchArgument* e = a.find("embed-layernorm"); LaunchReader::is_set(e)) {
    a.set(m.has_embedding_norm, true, "model.embedding_norm", e);
  }
}

void import_feed_forward(LaunchReader& a, TransformerSpec& m) {
  const LaunchArgument* gate = a.find({"swiglu", "geglu", "quick-geglu", "gated-linear-unit"});
  const LaunchArgument* activation = a.find({"activation", "activation-func"});
  const std::string function = a.text(activation);
  if (function == "swiglu" || function == "geglu") gate = activation;
  const bool is_gated = gate == activation ? gate != nullptr : LaunchReader::is_set(gate);
  for (const char* kind : {"squared-relu", "openai-gelu", "onnx-safe", "bias-gelu"}) (void)a.find(kind);
  a.set(m.is_gated, is_gated, "model.gated", gate);
  const LaunchArgument* ffn = a.find({"ffn-hidden-size", "intermediate-size"});
  const bool counts_both =
      ffn != nullptr && ffn->name == "intermediate-size" && is_gated;  // GPT-NeoX: of gate and up and down / 3
  const std::int64_t absent = is_gated ? m.hidden * 4 * 2 / 3 / 64 * 64 : 4 * m.hidden;
  const std::int64_t width = ffn != nullptr ? a.integer(ffn, absent) : absent;
  a.set(m.ffn, std::max<std::int64_t>(1, counts_both ? width / 3 : width), "model.ffn", ffn);
}

void import_biases(LaunchReader& a, TransformerSpec& m) {
  const LaunchArgument* off = a.find({"disable-bias-linear", "no-bias"});
  const LaunchArgument* on = a.find("add-bias-linear");  // of YAML configurations
  const bool has = on != nullptr ? LaunchReader::is_set(on) : !LaunchReader::is_set(off);
  a.set(m.has_linear_biases, has, "model.linear_biases", on != nullptr ? on : off);
  const LaunchArgument* qkv = a.find("add-qkv-bias");
  if (LaunchReader::is_set(qkv)) a.set(m.has_qkv_biases, true, "model.qkv_biases", qkv);
}

void import_dropout(LaunchReader& a, TransformerSpec& m) {
  const LaunchArgument* attention = a.find("attention-dropout");
  const LaunchArgument* hidden = a.find("hidden-dropout");
  const bool has = a.number(attention, 0.1) > 0 || a.number(hidden, 0.1) > 0;
  a.set(m.has_dropout, has, "model.dropout", hidden != nullptr ? hidden : attention);
}

}  // namespace

void import_geometry(LaunchReader& a, JobSpec& job) {
  TransformerSpec& m = job.model;
  a.set(m.layers, a.required({"num-layers", "encoder-num-layers"}), "model.layers", a.find("num-layers"));
  a.set(m.hidden, a.required({"hidden-size"}), "model.hidden", a.find("hidden-size"));
  import_heads(a, m);
  import_feed_forward(a, m);
  import_vocabulary(a, job);
  import_positions(a, m);
  import_norm(a, m);
  import_biases(a, m);
  import_dropout(a, m);
  import_latent_attention(a, m);
  const LaunchArgument* untied = a.find({"untie-embeddings-and-output-weights", "no-weight-tying"});
  a.set(m.has_tied_embeddings, !LaunchReader::is_set(untied), "model.tied_embeddings", untied);
  const LaunchArgument* longest = a.find("max-position-embeddings");
  if (longest != nullptr) a.set(m.max_positions, a.integer(longest, 1), "model.max_positions", longest);
  if (longest == nullptr && m.has_learned_positions()) {
    a.set(m.max_positions, a.integer("seq-length", 1), "model.max_positions", a.find("seq-length"));
  }
  const LaunchArgument* parallel = a.find("gpt-j-residual");
  if (LaunchReader::is_set(parallel)) a.set(m.has_parallel_parts, true, "model.parallel_parts", parallel);
  const LaunchArgument* mtp = a.find("mtp-num-layers");
  if (mtp != nullptr) a.set(m.mtp_layers, a.integer(mtp, 0, 0), "model.mtp_layers", mtp);
  const LaunchArgument* window = a.find("window-size");
  if (window != nullptr) a.warning(*window, "sliding windows are not modelled: attention is computed over the whole sequence");
}

}  // namespace lockstep
