// SPDX-License-Identifier: Apache-2.0
// Shipped models are the published ones, to the last parameter.
#include <gtest/gtest.h>

#include <map>

#include "tests/support/shipped.h"
#include "workloads/import/model_document.h"

namespace lockstep {
namespace {

// Weights stored in the published checkpoints (sum over the tensors of their safetensors files), as their pages on huggingface.co say.
const std::map<std::string, std::int64_t>& published_counts() {
  static const std::map<std::string, std::int64_t> counts = {
      {"codellama-34b", 33'743'970'304},
      {"deepseek-67b", 67'425'001'472},
      {"gemma-7b", 8'537'680'896},
      {"gpt-neox-20b", 20'554'567'680},
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
      {"mpt-13b", 12'853'954'560},
      {"mpt-70b", 64'862'437'376},
      {"mpt-7b", 6'658'859'008},
      {"opt-13b", 12'853'473'280},
      {"opt-6.7b", 6'658'473'984},
      {"phi-3-medium", 13'960'238'080},
      {"phi-3-mini", 3'821'079'552},
      {"qwen2-1.5b", 1'543'714'304},
      {"qwen2.5-14b", 14'770'033'664},
      {"qwen2.5-32b", 32'763'876'352},
      {"qwen2.5-72b", 72'706'203'648},
      {"qwen2.5-7b", 7'615'616'512},
      {"qwen3-14b", 14'768'307'200},
      {"qwen3-32b", 32'762'123'264},
      {"qwen3-8b", 8'190'735'360},
      {"tinyllama-1.1b", 1'100'048'384},
      {"yi-34b", 34'388'917'248},
  };
  return counts;
}

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
