// SPDX-License-Identifier: Apache-2.0
// kind: model with experts and latent attention: what is read, what is printed and what is refused.
#include <gtest/gtest.h>

#include "base/field_table.h"
#include "workloads/import/model_document.h"

namespace lockstep {
namespace {

struct Reading {
  TransformerSpec model;
  std::string errors;
};

Reading read(const std::string& text) {
  Diagnostics d;
  ReadContext context(d);
  Reading out;
  const std::optional<Document> document = Document::parse(text, "m.yaml", d);
  if (document) read_model(*document, out.model, context, "");
  for (const Diagnostic& item : d.items()) out.errors += to_text(item) + "\n";
  return out;
}

const std::string kDense = "kind: model\nlayers: 4\nhidden: 64\nheads: 4\nkv_heads: 4\nhead_dim: 16\nffn: 256\nvocab: 1000\n";
const std::string kExperts =
    kDense + "moe: {experts: 8, top_k: 2, ffn: 32, shared_ffn: 64, dense_layers: 1, router_bias: true}\n";
const std::string kLatent = kDense + "mla: {kv_rank: 32, nope_dim: 16, rope_dim: 8, v_dim: 16}\n";

TEST(ModelFields, ExpertsAndLatentAttentionAreRead) {
  const Reading r = read(kExperts + "mla: {q_rank: 48, kv_rank: 32, nope_dim: 16, rope_dim: 8, v_dim: 16}\nmtp_layers: 1\n");
  EXPECT_EQ(r.errors, "");
  // Attention 48 x 64 + 48 + 4 x 24 x 48 + 64 x 40 + 32 + 4 x 32 x 32 + 4 x 16 x 64 and two norms; dense 3 x 64 x 256; experts
  // 3 x 64 x (8 x 32 + 64) and the router 8 x 65; embeddings and the final norm.
  const std::int64_t attention = 48 * 64 + 48 + 4 * 24 * 48 + 64 * 40 + 32 + 4 * 32 * 32 + 4 * 16 * 64 + 2 * 64;
  EXPECT_EQ(parameter_count(r.model),
            4 * attention + 3 * 64 * 256 + 3 * (3 * 64 * (8 * 32 + 64) + 8 * 65) + 2 * 64 * 1000 + 64);
  EXPECT_EQ(r.model.mtp_layers, 1);
}

TEST(ModelFields, WhatIsPrintedReadsBack) {
  const std::string more =
      "positions: alibi\nnorm: layer\nparallel_parts: true\none_norm: true\nmlp_biases: true\nhead_bias: true\n";
  for (const std::string& text : {kExperts + "post_norms: true\nattention_sinks: true\n", kLatent, kDense + more}) {
    const Reading r = read(text);
    ASSERT_EQ(r.errors, "");
    ConfigPrinter first;
    model_fields().print(r.model, first);
    const Reading again = read("kind: model\n" + first.text());
    EXPECT_EQ(again.errors, "") << first.text();
    ConfigPrinter second;
    model_fields().print(again.model, second);
    EXPECT_EQ(first.text(), second.text());
    EXPECT_EQ(parameter_count(r.model), parameter_count(again.model));
  }
}

TEST(ModelFields, SenselessCombinationsAreRefusedAtTheirKey) {
  const auto expect = [](const std::string& text, const std::string& message) {
    EXPECT_NE(read(text).errors.find(message), std::string::npos) << message << " in\n" << read(text).errors;
  };
  const std::string three_of_two = kDense + "moe: {experts: 2, top_k: 3, ffn: 32}\n";
  expect(three_of_two, "m.yaml:9:26: error: moe.top_k: 3 experts per token of only 2");
  expect(kDense + "moe: {experts: 2, ffn: 32}\n", "moe.top_k");
  expect(kDense + "moe: {experts: 2, top_k: 1, ffn: 32, shared_gate: true}\n",
         "moe.shared_gate: there is no shared expert to gate");
  expect(kDense + "moe: {experts: 2, top_k: 1, ffn: 32, dense_layers: 4}\n", "moe.dense_layers: all 4 layers would be dense");
  expect(kDense + "moe: {experts: 2, top_k: 1, ffn: 32, dense_layers: 1, interval: 4}\n", "moe.interval: none of 3 layers");
  expect(kExperts + "parallel_parts: true\n", "parallel_parts: is not modelled with experts");
  expect(kDense + "one_norm: true\n", "one_norm: only parts that read the same input");
  expect(kDense + "wide_qk_norm: true\n", "wide_qk_norm: q and k are not normalised");
  expect(kLatent + "qk_norm: true\n", "qk_norm: is not modelled with latent attention");
  std::string grouped = kLatent;
  grouped.replace(grouped.find("kv_heads: 4"), 11, "kv_heads: 2");
  expect(grouped, "kv_heads: latent attention grows a key and a value per query head, not 2");
  expect(kDense + "moe: {experts: 8, topk: 2, ffn: 32}\n", "did you mean 'top_k'");
}

}  // namespace
}  // namespace lockstep
