// SPDX-License-Identifier: Apache-2.0
// Shipped models are the published ones, to the last parameter.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/support/shipped.h"
#include "workloads/import/model_document.h"
#include "workloads/model/flops.h"

namespace lockstep {
namespace {

// Weights stored in the published checkpoints (sum over the tensors of their safetensors files), as their pages on huggingface.co say.
// Not counted: the copy of a tied embedding that the files of Falcon hold, multi-token prediction of DeepSeek-V3.
const std::map<std::string, std::int64_t>& published_counts() {
  static const std::map<std::string, std::int64_t> counts = {
      {"bloom-176b", 176'247'271'424},
      {"bloom-7b1", 7'069'016'064},
      {"codellama-34b", 33'743'970'304},
      {"command-r-plus", 103'810'674'688},
      {"dbrx", 131'596'523'520},
      {"deepseek-67b", 67'425'001'472},
      {"deepseek-moe-16b", 16'375'728'128},
      {"deepseek-v2", 235'741'434'880},
      {"deepseek-v2-lite", 15'706'484'224},
      {"deepseek-v3", 671'026'419'200},
      {"falcon-180b", 178'557'088'768},
      {"falcon-40b", 41'303'293'952},
      {"falcon-7b", 6'921'720'704},
      {"gemma-7b", 8'537'680'896},
      {"gemma2-27b", 27'227'128'320},
      {"gemma2-9b", 9'241'705'984},
      {"gpt-j-6b", 6'050'882'784},
      {"gpt-neox-20b", 20'554'567'680},
      {"gpt-oss-120b", 116'829'156'672},
      {"gpt-oss-20b", 20'914'757'184},
      {"gpt2-large", 774'030'080},
      {"gpt2-medium", 354'823'168},
      {"gpt2-small", 124'439'808},
      {"gpt2-xl", 1'557'611'200},
      {"llama-65b", 65'285'660'672},
      {"llama2-13b", 13'015'864'320},
      {"llama2-70b", 68'976'648'192},
      {"llama2-7b", 6'738'415'616},
      {"llama3-405b", 405'853'388'800},
      {"llama3-70b", 70'553'706'496},
      {"llama3-8b", 8'030'261'248},
      {"llama3.2-1b", 1'235'814'400},
      {"llama3.2-3b", 3'212'749'824},
      {"mistral-7b", 7'241'732'096},
      {"mistral-large-123b", 122'610'069'504},
      {"mistral-nemo-12b", 12'247'782'400},
      {"mixtral-8x22b", 140'620'634'112},
      {"mixtral-8x7b", 46'702'792'704},
      {"mpt-13b", 12'853'954'560},
      {"mpt-70b", 64'862'437'376},
      {"mpt-7b", 6'658'859'008},
      {"olmo-7b", 6'888'095'744},
      {"olmoe-1b-7b", 6'919'161'856},
      {"opt-13b", 12'853'473'280},
      {"opt-6.7b", 6'658'473'984},
      {"phi-2", 2'779'683'840},
      {"phi-3-medium", 13'960'238'080},
      {"phi-3-mini", 3'821'079'552},
      {"qwen1.5-moe-a2.7b", 14'315'784'192},
      {"qwen2-1.5b", 1'543'714'304},
      {"qwen2.5-14b", 14'770'033'664},
      {"qwen2.5-32b", 32'763'876'352},
      {"qwen2.5-72b", 72'706'203'648},
      {"qwen2.5-7b", 7'615'616'512},
      {"qwen3-14b", 14'768'307'200},
      {"qwen3-235b-a22b", 235'093'634'560},
      {"qwen3-30b-a3b", 30'532'122'624},
      {"qwen3-32b", 32'762'123'264},
      {"qwen3-8b", 8'190'735'360},
      {"starcoder2-15b", 15'957'889'024},
      {"starcoder2-7b", 7'173'923'840},
      {"tinyllama-1.1b", 1'100'048'384},
      {"yi-34b", 34'388'917'248},
  };
  return counts;
}

// Of these no page says the exact number: sums over the shapes in their reports.
const std::map<std::string, std::int64_t>& counts_by_hand() {
  const auto attention = [](std::int64_t h, std::int64_t heads, std::int64_t kv_heads, std::int64_t d) {
    return 2 * h * heads * d + 2 * h * kv_heads * d;
  };
  const std::int64_t k2 = 7168, grok = 6144, llama4 = 5120, qwen2 = 3584, gemma3 = 5376, n15 = 6144, n340 = 18432;
  const std::int64_t latent = k2 * 1536 + 1536 + 1536 * 64 * 192 + k2 * 576 + 512 + 512 * 64 * 256 + 64 * 128 * k2;
  static const std::map<std::string, std::int64_t> counts = {
      {"gemma3-27b", 62 * (attention(gemma3, 32, 16, 128) + 2 * 128 + 3 * gemma3 * 21504 + 4 * gemma3) + 262209 * gemma3},
      {"grok-1", 64 * (attention(grok, 48, 8, 128) + 8 * 3 * grok * 32768 + 8 * grok + 4 * grok) + 131073 * grok},
      {"kimi-k2",
       61 * (latent + 2 * k2) + 3 * k2 * 18432 + 60 * (385 * 3 * k2 * 2048 + 384 * (k2 + 1)) + (2 * 163840 + 1) * k2},
      {"llama4-maverick", 48 * (attention(llama4, 40, 8, 128) + 2 * llama4) + 24 * 3 * llama4 * 16384 +
                              24 * (129 * 3 * llama4 * 8192 + 128 * llama4) + (2 * 202048 + 1) * llama4},
      {"llama4-scout",
       48 * (attention(llama4, 40, 8, 128) + 2 * llama4 + 17 * 3 * llama4 * 8192 + 16 * llama4) + (2 * 202048 + 1) * llama4},
      {"nemotron-4-15b", 32 * (attention(n15, 48, 8, 128) + 2 * n15 * 24576 + 4 * n15) + (2 * 256000 + 2) * n15},
      {"nemotron-4-340b", 96 * (attention(n340, 96, 8, 192) + 2 * n340 * 73728 + 4 * n340) + (2 * 256000 + 2) * n340},
      {"qwen2-57b-a14b", 28 * (attention(qwen2, 28, 4, 128) + (28 + 8) * 128 + 2 * qwen2 + 64 * 3 * qwen2 * 2560 + 64 * qwen2 +
                               3 * qwen2 * 20480 + qwen2) +
                             (2 * 151936 + 1) * qwen2},
  };
  return counts;
}

struct GptShape {
  const char* name;
  std::int64_t layers, hidden, vocab, positions;
};
constexpr GptShape kGpts[] = {
    {"gpt-1.7b", 24, 2304, 51200, 2048},  {"gpt-3.6b", 30, 3072, 51200, 2048},   {"gpt-7.5b", 36, 4096, 51200, 2048},
    {"gpt-18b", 40, 6144, 51200, 2048},   {"gpt-22b", 48, 6144, 51200, 2048},    {"gpt-39b", 48, 8192, 51200, 2048},
    {"gpt-76b", 60, 10240, 51200, 2048},  {"gpt-145b", 80, 12288, 51200, 2048},  {"gpt-175b", 96, 12288, 51200, 2048},
    {"gpt-310b", 96, 16384, 51200, 2048}, {"gpt-530b", 105, 20480, 51200, 2048}, {"gpt-1t", 128, 25600, 51200, 2048},
    {"gpt3-1.3b", 24, 2048, 50257, 2048}, {"gpt3-2.7b", 32, 2560, 50257, 2048},  {"gpt3-6.7b", 32, 4096, 50257, 2048},
    {"gpt3-13b", 40, 5120, 50257, 2048},  {"gpt3-175b", 96, 12288, 50257, 2048}, {"opt-66b", 64, 9216, 50272, 2050},
};

// G of active parameters, as the reports round them; gpt-oss and DeepSeek-V3 leave the word embedding out.
struct ActiveCount {
  const char* name;
  double billions;
  bool has_embedding;
};
constexpr ActiveCount kActive[] = {
    {"mixtral-8x7b", 12.9, true},    {"mixtral-8x22b", 39.1, true},
    {"deepseek-v2", 21.4, true},     {"deepseek-v3", 36.6, false},
    {"deepseek-moe-16b", 2.8, true}, {"gpt-oss-20b", 3.6, false},
    {"gpt-oss-120b", 5.1, false},    {"dbrx", 36.5, true},
    {"qwen2-57b-a14b", 14.2, true},  {"qwen3-235b-a22b", 22.2, true},
    {"olmoe-1b-7b", 1.3, true},      {"llama4-scout", 17.2, true},
};

struct ShippedModel {
  TransformerSpec spec;
  std::string what;
};

ShippedModel shipped_model(const std::string& name) {
  Diagnostics d;
  ReadContext context(d, &test::shipped());
  ShippedModel out;
  if (const auto document = test::shipped().open("model", name, {}, {}, d)) {
    read_model(*document, out.spec, context, {});
    if (const Node what = document->root().find("what")) out.what = what.text();
  }
  if (d.has_errors()) throw std::runtime_error(test::messages(d));
  return out;
}

std::string grouped(std::int64_t n) {
  std::string text = std::to_string(n);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

TEST(ShippedModels, HaveThePublishedNumberOfParameters) {
  for (const auto& [name, count] : published_counts()) {
    EXPECT_EQ(parameter_count(shipped_model(name).spec), count) << name;
  }
}

TEST(ShippedModels, HaveTheNumberOfParametersOfTheirShapes) {
  for (const auto& [name, count] : counts_by_hand()) EXPECT_EQ(parameter_count(shipped_model(name).spec), count) << name;
}

// Korthikanti et al.: 12 L h^2 + 13 L h in layers, (V + s) h in embeddings, 2 h in the final norm.
TEST(ShippedModels, GptsFollowTheClosedForm) {
  for (const GptShape& g : kGpts) {
    const std::int64_t h = g.hidden;
    EXPECT_EQ(parameter_count(shipped_model(g.name).spec), g.layers * (12 * h * h + 13 * h) + (g.vocab + g.positions + 2) * h)
        << g.name;
  }
}

TEST(ShippedModels, HaveThePublishedNumberOfActiveParameters) {
  for (const ActiveCount& a : kActive) {
    const TransformerSpec m = shipped_model(a.name).spec;
    const std::int64_t embedding = a.has_embedding ? 0 : m.vocab * m.hidden;
    EXPECT_NEAR(static_cast<double>(active_parameter_count(m) - embedding) / 1e9, a.billions, 0.06) << a.name;
  }
}

struct PublishedFlops {
  const char* name;
  std::int64_t seq_len;
  double gflops_per_token;
};
// NVIDIA-NeMo/Megatron-Bridge, docs/performance-summary.md @067f987df: TFLOP/s over tokens/s per GPU, the median of the rows of a model.
constexpr PublishedFlops kFlops[] = {
    {"deepseek-v3", 4096, 260.0},  {"kimi-k2", 4096, 204.4},    {"qwen3-30b-a3b", 4096, 23.0}, {"qwen3-235b-a22b", 4096, 148.0},
    {"llama3-405b", 8192, 2524.3}, {"llama3-70b", 8192, 449.2}, {"llama3-8b", 8192, 51.5},
};

// Forward and backward are 3 x forward. Rates are printed with three or four digits: within 0.3 %.
TEST(ShippedModels, HaveThePublishedFlopsPerToken) {
  for (const PublishedFlops& p : kFlops) {
    const double tokens = static_cast<double>(p.seq_len);
    const double flops = 3 * forward_flops(shipped_model(p.name).spec, 1, p.seq_len).total() / tokens;
    EXPECT_NEAR(flops / (p.gflops_per_token * 1e9), 1, 0.003) << p.name;
  }
  TransformerSpec v3 = shipped_model("deepseek-v3").spec;
  v3.mtp_layers = 0;  // a row of its own there: 249.7
  EXPECT_NEAR(3 * forward_flops(v3, 1, 4096).total() / 4096 / 249.7e9, 1, 0.003);
}

TEST(ShippedModels, EveryOneIsChecked) {
  std::set<std::string> checked = {"mpt-30b"};  // below
  for (const auto& [name, count] : published_counts()) checked.insert(name);
  for (const auto& [name, count] : counts_by_hand()) checked.insert(name);
  for (const GptShape& g : kGpts) checked.insert(g.name);
  for (const ConfigEntry& e : test::shipped().entries("model")) EXPECT_EQ(checked.count(e.name), 1u) << e.name;
  // No biases, not even of norms: 12 L h^2 + 2 L h, V h, h.
  const std::int64_t h = 7168;
  EXPECT_EQ(parameter_count(shipped_model("mpt-30b").spec), 48 * (12 * h * h + 2 * h) + 50432 * h + h);
}

TEST(ShippedModels, SayTheirExactNumberOfParameters) {
  const std::vector<ConfigEntry> models = test::shipped().entries("model");
  EXPECT_GE(models.size(), 20u);
  for (const ConfigEntry& e : models) {
    const ShippedModel m = shipped_model(e.name);
    EXPECT_EQ(m.spec.name, e.name);
    const std::string count = grouped(parameter_count(m.spec)) + " parameters";
    EXPECT_NE(m.what.find(count), std::string::npos) << e.name << " should say " << count << ", not " << m.what;
  }
}

}  // namespace
}  // namespace lockstep
