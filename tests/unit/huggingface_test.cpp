// SPDX-License-Identifier: Apache-2.0
// config.json files of every model_type, with the quirks that published ones have, against the published number of parameters.
#include <gtest/gtest.h>

#include "base/value_codec.h"
#include "workloads/import/model_document.h"

namespace lockstep {
namespace {

struct Reading {
  std::optional<TransformerSpec> model;
  std::string messages;
};

Reading read(const std::string& json, const std::string& file = "m.json") {
  Diagnostics d;
  ReadContext context(d);
  Reading out;
  const std::optional<Document> document = Document::parse(json, file, d, DocumentFormat::kJson);
  TransformerSpec m;
  if (document && read_model(*document, m, context, "")) out.model = m;
  for (const Diagnostic& item : d.items()) out.messages += to_text(item) + "\n";
  return out;
}

struct Published {
  const char* name;
  std::int64_t parameters;
  const char* json;
};

// Weights of the checkpoints on huggingface.co, tied ones once; of gemma-3-4b the text model alone.
constexpr Published kLlamas[] = {
    {"Llama-2-7b", 6'738'415'616, R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
      "num_hidden_layers": 32, "num_attention_heads": 32, "head_dim": null, "num_key_value_heads": null, "vocab_size": 32000})"},
    {"Mistral-7B-v0.3", 7'248'023'552, R"({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336,
      "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "sliding_window": null, "vocab_size": 32768})"},
    {"Phi-3-mini", 3'821'079'552,
     R"({"model_type": "phi3", "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 32, "attention_bias": false, "vocab_size": 32064})"},
    {"Qwen2.5-0.5B", 494'032'768,
     R"({"model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
      "num_attention_heads": 14, "num_key_value_heads": 2, "tie_word_embeddings": true, "use_sliding_window": false,
      "sliding_window": 32768, "vocab_size": 151936})"},
    {"Qwen3-8B", 8'190'735'360,
     R"({"model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36,
      "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "attention_bias": false, "vocab_size": 151936})"},
    {"gemma-2b", 2'506'172'416,
     R"({"model_type": "gemma", "hidden_size": 2048, "intermediate_size": 16384, "num_hidden_layers": 18,
      "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 256, "vocab_size": 256000})"},
    {"gemma-2-9b", 9'241'705'984, R"({"model_type": "gemma2", "hidden_size": 3584, "intermediate_size": 14336,
      "num_hidden_layers": 42, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 256, "vocab_size": 256000})"},
    {"gemma-3-1b", 999'885'952, R"({"model_type": "gemma3_text", "hidden_size": 1152, "intermediate_size": 6912,
      "num_hidden_layers": 26, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256, "vocab_size": 262144})"},
    {"gemma-3-4b", 3'880'263'168, R"({"model_type": "gemma3", "vision_config": {"hidden_size": 1152}, "text_config": {
      "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34}})"},
    {"c4ai-command-r-v01", 34'980'831'232, R"({"model_type": "cohere", "hidden_size": 8192, "intermediate_size": 22528,
      "num_hidden_layers": 40, "num_attention_heads": 64, "num_key_value_heads": 64, "use_qk_norm": false, "vocab_size": 256000})"},
    {"c4ai-command-r-plus", 103'810'674'688, R"({"model_type": "cohere", "hidden_size": 12288, "intermediate_size": 33792,
      "num_hidden_layers": 64, "num_attention_heads": 96, "num_key_value_heads": 8, "use_qk_norm": true, "vocab_size": 256000})"},
    {"OLMo-7B", 6'888'095'744,
     R"({"model_type": "olmo", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
      "num_attention_heads": 32, "attention_bias": false, "clip_qkv": null, "tie_word_embeddings": false, "vocab_size": 50304})"},
    {"OLMo-2-7B", 7'298'617'344, R"({"model_type": "olmo2", "hidden_size": 4096, "intermediate_size": 11008,
      "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 100352})"},
};

constexpr Published kOthers[] = {
    {"stablelm-3b-4e1t", 2'795'443'200, R"({"model_type": "stablelm", "hidden_size": 2560, "intermediate_size": 6912,
      "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "use_qkv_bias": false, "vocab_size": 50304})"},
    {"chatglm3-6b", 6'243'584'000, R"({"model_type": "chatglm", "hidden_size": 4096, "ffn_hidden_size": 13696, "num_layers": 28,
      "num_attention_heads": 32, "multi_query_attention": true, "multi_query_group_num": 2, "kv_channels": 128, "rmsnorm": true,
      "add_bias_linear": false, "add_qkv_bias": true, "padded_vocab_size": 65024, "seq_length": 8192})"},
};

constexpr Published kGpts[] = {
    {"gpt2", 124'439'808, R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": null, "n_ctx": 1024,
      "n_positions": 1024, "vocab_size": 50257})"},
    {"starcoder", 15'517'456'384,
     R"({"model_type": "gpt_bigcode", "n_embd": 6144, "n_layer": 40, "n_head": 48, "n_inner": 24576,
      "multi_query": true, "n_positions": 8192, "vocab_size": 49152})"},
    {"gpt-neo-1.3B", 1'315'575'808, R"({"model_type": "gpt_neo", "hidden_size": 2048, "num_layers": 24, "num_heads": 16,
      "intermediate_size": null, "max_position_embeddings": 2048, "vocab_size": 50257})"},
    {"gpt-j-6B", 6'050'882'784, R"({"model_type": "gptj", "n_embd": 4096, "n_layer": 28, "n_head": 16, "n_inner": null,
      "n_positions": 2048, "tie_word_embeddings": false, "vocab_size": 50400})"},
    {"gpt-neox-20b", 20'554'567'680, R"({"model_type": "gpt_neox", "hidden_size": 6144, "intermediate_size": 24576,
      "num_hidden_layers": 44, "num_attention_heads": 64, "max_position_embeddings": 2048, "vocab_size": 50432})"},
    {"phi-2", 2'779'683'840, R"({"model_type": "phi", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": null, "vocab_size": 51200})"},
    {"bloom", 176'247'271'424, R"({"model_type": "bloom", "n_embed": 14336, "n_layer": 70, "num_attention_heads": 112,
      "vocab_size": 250880, "seq_length": 2048})"},
    {"bloom-7b1", 7'069'016'064,
     R"({"model_type": "bloom", "hidden_size": 4096, "n_layer": 30, "n_head": 32, "vocab_size": 250880})"},
    {"opt-13b", 12'853'473'280, R"({"model_type": "opt", "hidden_size": 5120, "ffn_dim": 20480, "num_hidden_layers": 40,
      "num_attention_heads": 40, "max_position_embeddings": 2048, "word_embed_proj_dim": 5120, "vocab_size": 50272})"},
    {"falcon-7b", 6'921'720'704, R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32,
      "num_attention_heads": 71, "num_kv_heads": 71, "multi_query": true, "parallel_attn": true, "bias": false, "alibi": false,
      "new_decoder_architecture": false, "vocab_size": 65024})"},
    {"falcon-40b", 41'303'293'952, R"({"model_type": "RefinedWeb", "hidden_size": 8192, "n_layer": 60, "n_head": 128,
      "n_head_kv": 8, "new_decoder_architecture": true, "vocab_size": 65024})"},
    {"falcon-180B", 178'557'088'768, R"({"model_type": "falcon", "hidden_size": 14848, "num_hidden_layers": 80,
      "num_attention_heads": 232, "num_kv_heads": 8, "multi_query": true, "new_decoder_architecture": true, "vocab_size": 65024})"},
    {"mpt-7b", 6'649'286'656, R"({"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32, "expansion_ratio": 4,
      "max_seq_len": 2048, "no_bias": true, "attn_config": {"alibi": true, "attn_type": "multihead_attention"}, "vocab_size": 50432})"},
    {"starcoder2-7b", 7'173'923'840, R"({"model_type": "starcoder2", "hidden_size": 4608, "intermediate_size": 18432,
      "num_hidden_layers": 32, "num_attention_heads": 36, "num_key_value_heads": 4, "use_bias": true, "vocab_size": 49152})"},
    {"Minitron-4B", 4'190'509'056, R"({"model_type": "nemotron", "hidden_size": 3072, "intermediate_size": 9216,
      "num_hidden_layers": 32, "num_attention_heads": 24, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 256000})"},
};

constexpr Published kExperts[] = {
    {"Mixtral-8x7B", 46'702'792'704, R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
      "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "num_local_experts": 8,
      "num_experts_per_tok": 2, "sliding_window": null, "vocab_size": 32000})"},
    {"Phi-3.5-MoE", 41'873'153'344, R"({"model_type": "phimoe", "hidden_size": 4096, "intermediate_size": 6400,
      "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "num_local_experts": 16, "lm_head_bias": true,
      "num_experts_per_tok": 2, "attention_bias": true, "vocab_size": 32064})"},
    {"Qwen1.5-MoE-A2.7B", 14'315'784'192, R"({"model_type": "qwen2_moe", "hidden_size": 2048, "intermediate_size": 5632,
      "num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 16, "num_experts": 60, "num_experts_per_tok": 4,
      "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632, "decoder_sparse_step": 1, "vocab_size": 151936})"},
    {"Qwen3-30B-A3B", 30'532'122'624, R"({"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144,
      "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128,
      "num_experts_per_tok": 8, "moe_intermediate_size": 768, "mlp_only_layers": [], "vocab_size": 151936})"},
    {"deepseek-moe-16b", 16'375'728'128, R"({"model_type": "deepseek", "hidden_size": 2048, "intermediate_size": 10944,
      "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 16, "n_routed_experts": 64,
      "num_experts_per_tok": 6, "n_shared_experts": 2, "moe_intermediate_size": 1408, "first_k_dense_replace": 1,
      "moe_layer_freq": 1, "vocab_size": 102400})"},
    {"DeepSeek-V2-Lite", 15'706'484'224, R"({"model_type": "deepseek_v2", "hidden_size": 2048, "intermediate_size": 10944,
      "num_hidden_layers": 27, "num_attention_heads": 16, "num_key_value_heads": 16, "n_routed_experts": 64,
      "num_experts_per_tok": 6, "n_shared_experts": 2, "moe_intermediate_size": 1408, "first_k_dense_replace": 1,
      "kv_lora_rank": 512, "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
      "vocab_size": 102400})"},
    {"DeepSeek-V3", 671'026'419'200, R"({"model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432,
      "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "num_routed_experts": 256,
      "num_experts_per_tok": 8, "num_shared_experts": 1, "moe_intermediate_size": 2048, "first_k_dense_replace": 3,
      "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
      "topk_method": "noaux_tc", "num_nextn_predict_layers": 1, "vocab_size": 129280})"},
    {"Kimi-K2", 1'026'408'232'448, R"({"model_type": "kimi_k2", "hidden_size": 7168, "intermediate_size": 18432,
      "num_hidden_layers": 61, "num_attention_heads": 64, "num_key_value_heads": 64, "n_routed_experts": 384,
      "num_experts_per_tok": 8, "n_shared_experts": 1, "moe_intermediate_size": 2048, "first_k_dense_replace": 1,
      "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
      "num_nextn_predict_layers": 0, "vocab_size": 163840})"},
    {"grok-1", 315'684'820'992, R"({"model_type": "grok-1", "hidden_size": 6144, "intermediate_size": 32768,
      "num_hidden_layers": 64, "num_attention_heads": 48, "num_key_value_heads": 8, "num_experts": 8, "num_experts_per_tok": 2,
      "vocab_size": 131072})"},
    {"gpt-oss-120b", 116'829'156'672, R"({"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880,
      "num_hidden_layers": 36, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "attention_bias": true,
      "num_local_experts": 128, "experts_per_token": 4, "num_experts_per_tok": 4, "vocab_size": 201088})"},
    {"dbrx", 131'596'523'520, R"({"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40, "max_seq_len": 32768,
      "attn_config": {"kv_n_heads": 8, "clip_qkv": 8}, "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16,
      "moe_top_k": 4}, "vocab_size": 100352})"},
    {"OLMoE-1B-7B", 6'919'161'856, R"({"model_type": "olmoe", "hidden_size": 2048, "intermediate_size": 1024,
      "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 16, "num_experts": 64, "num_experts_per_tok": 8,
      "vocab_size": 50304})"},
    {"GLM-4.5-Air", 106'852'251'264, R"({"model_type": "glm4_moe", "hidden_size": 4096, "intermediate_size": 10944,
      "num_hidden_layers": 46, "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128, "n_routed_experts": 128,
      "num_experts_per_tok": 8, "n_shared_experts": 1, "moe_intermediate_size": 1408, "first_k_dense_replace": 1,
      "attention_bias": true, "use_qk_norm": false, "num_nextn_predict_layers": 1, "vocab_size": 151552})"},
    {"Llama-4-Maverick", 400'711'848'960, R"({"model_type": "llama4", "text_config": {"model_type": "llama4_text",
      "hidden_size": 5120, "intermediate_size": 8192, "intermediate_size_mlp": 16384, "num_hidden_layers": 48, "head_dim": 128,
      "num_attention_heads": 40, "num_key_value_heads": 8, "num_local_experts": 128, "num_experts_per_tok": 1,
      "interleave_moe_layer_step": 2, "vocab_size": 202048}})"},
};

template <std::size_t kSize>
void expect_published(const Published (&models)[kSize]) {
  for (const Published& p : models) {
    const Reading r = read(p.json);
    ASSERT_TRUE(r.model) << p.name << "\n" << r.messages;
    EXPECT_EQ(parameter_count(*r.model), p.parameters) << p.name;
  }
}

TEST(HuggingFace, LlamasHaveThePublishedNumberOfParameters) {
  expect_published(kLlamas);
  expect_published(kOthers);
}
TEST(HuggingFace, GptsHaveThePublishedNumberOfParameters) { expect_published(kGpts); }
TEST(HuggingFace, ModelsWithExpertsHaveThePublishedNumberOfParameters) { expect_published(kExperts); }

std::string with(std::string json, const std::string& more) { return json.insert(json.rfind('}'), ", " + more); }

const std::string kLlama = R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
  "num_attention_heads": 4, "vocab_size": 100})";

// Biases of q, k, v and o: 4 x 64 per layer; of gate, up and down: 128 + 128 + 64.
TEST(HuggingFace, BiasesOfLlamaAreThoseOfItsClass) {
  const std::int64_t plain = parameter_count(*read(kLlama).model);
  EXPECT_EQ(parameter_count(*read(with(kLlama, R"("attention_bias": true)")).model) - plain, 2 * 4 * 64);
  EXPECT_EQ(parameter_count(*read(with(kLlama, R"("mlp_bias": true)")).model) - plain, 2 * (128 + 128 + 64));
  EXPECT_TRUE(read(with(kLlama, R"("mlp_bias": true, "attention_bias": true)")).model->has_linear_biases);
}

TEST(HuggingFace, ArchitectureIsMoreThanCounts) {
  const auto model = [](const Published& p) { return *read(p.json).model; };
  const TransformerSpec falcon = model(kGpts[9]);
  EXPECT_TRUE(falcon.has_parallel_parts && falcon.has_one_norm && falcon.has_tied_embeddings && !falcon.is_gated);
  EXPECT_EQ(falcon.kv_heads, 1);
  EXPECT_FALSE(model(kGpts[10]).has_one_norm);
  EXPECT_EQ(model(kGpts[6]).positions, PositionKind::kAlibi);
  EXPECT_TRUE(model(kGpts[0]).has_dropout);
  EXPECT_FALSE(model(kGpts[4]).has_dropout);
  const TransformerSpec v3 = model(kExperts[6]);
  EXPECT_EQ(v3.mtp_layers, 1);
  EXPECT_EQ(v3.moe->dense_layers, 3);
  EXPECT_EQ(v3.mla->q_rank, 1536);
  EXPECT_EQ(model(kExperts[5]).mla->q_rank, 0);
  EXPECT_EQ(model(kExperts[13]).moe->interval, 2);
  EXPECT_EQ(active_parameter_count(model(kExperts[0])), 12'879'925'248);
}

const std::string kQwenMoe = R"({"model_type": "qwen3_moe", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 6,
  "num_attention_heads": 4, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "vocab_size": 100)";

std::string layers_of(const std::string& more) {
  const Reading r = read(kQwenMoe + more + "}");
  if (!r.model) return r.messages;
  std::string kinds;
  for (std::int64_t l = 0; l < r.model->layers; ++l) kinds += r.model->is_expert_layer(l) ? 'e' : 'd';
  return kinds;
}

TEST(HuggingFace, ExpertLayersAreWhereTheKeysSay) {
  EXPECT_EQ(layers_of(""), "eeeeee");
  EXPECT_EQ(layers_of(R"(, "mlp_only_layers": [0, 1])"), "ddeeee");
  EXPECT_EQ(layers_of(R"(, "decoder_sparse_step": 2)"), "dedede");
  EXPECT_EQ(layers_of(R"(, "decoder_sparse_step": 2, "mlp_only_layers": [1])"), "dddede");
  EXPECT_EQ(layers_of(R"(, "decoder_sparse_step": 6)"), "ddddde");
  const std::string odd = layers_of(R"(, "mlp_only_layers": [5])");
  EXPECT_NE(odd.find("mlp_only_layers: these expert layers are not modelled"), std::string::npos) << odd;
  EXPECT_NE(layers_of(R"(, "decoder_sparse_step": 7)").find("no layer has experts"), std::string::npos);
}

TEST(HuggingFace, ErrorsAreAtTheKey) {
  const auto expect = [](const std::string& json, const std::string& text) {
    const Reading r = read(json);
    EXPECT_FALSE(r.model) << json;
    EXPECT_NE(r.messages.find(text), std::string::npos) << text << " in\n" << r.messages;
  };
  expect(R"({"model_type": "lama", "hidden_size": 64})", "model_type: 'lama' is not supported");
  expect(R"({"model_type": "lama", "hidden_size": 64})", "did you mean 'llama'?");
  expect(R"({"architectures": ["LlamaForCausalLM"]})", "model_type: is missing");
  expect(R"({"model_type": "gpt2", "n_embd": 64, "n_head": 4, "vocab_size": 9})", "num_hidden_layers: is missing");
  expect(R"({"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2, "vocab_size": 9})", "learned positions need");
  expect(R"({"model_type": "gpt2", "n_embd": 64, "n_head": -4, "n_layer": 2, "vocab_size": 9})", "n_head: '-4' is no number");
  expect(with(kLlama, R"("num_key_value_heads": 3)"), "num_key_value_heads: 4 query heads do not share 3");
  expect(with(kLlama, R"("attention_bias": 1)"), "attention_bias: is neither true nor false");
  expect(R"({"model_type": "dbrx", "d_model": 64, "n_heads": 4, "n_layers": 2, "vocab_size": 9})",
         "ffn_config.ffn_hidden_size");
  expect(R"({"model_type": "deepseek_v3", "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2,
            "num_attention_heads": 4, "vocab_size": 9})",
         "kv_lora_rank: is missing");
}

TEST(HuggingFace, MoreExpertsPerTokenThanThereAre) {
  std::string json = kQwenMoe + "}";
  json.replace(json.find("\"num_experts\": 4"), 16, "\"num_experts\": 1");
  EXPECT_NE(read(json).messages.find("num_experts_per_tok: 2 experts per token of only 1"), std::string::npos);
}

TEST(HuggingFace, WhatIsNotModelledIsSaid) {
  EXPECT_NE(read(with(kLlama, R"("sliding_window": 32)")).messages.find("sliding windows are not modelled"), std::string::npos);
  EXPECT_EQ(read(with(kLlama, R"("sliding_window": 32, "use_sliding_window": false)")).messages, "");
  EXPECT_NE(read(kLlamas[8].json).messages.find("text_config: the text model alone is read"), std::string::npos);
}

TEST(HuggingFace, ConfigJsonIsNamedAfterItsFolder) { EXPECT_EQ(read(kLlama, "models/Tiny/config.json").model->name, "Tiny"); }

}  // namespace
}  // namespace lockstep
