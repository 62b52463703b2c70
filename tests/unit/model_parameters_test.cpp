// SPDX-License-Identifier: Apache-2.0
// Parameters of every kind of layer, against sums written out by hand.
#include <gtest/gtest.h>

#include "tests/support/model_fixtures.h"

namespace lockstep {
namespace {

std::int64_t tensor(const TransformerSpec& m, ModelPart part, std::string_view name, const WeightCuts& cuts = {}) {
  for (const ParameterTensor& t : parameter_tensors(m, part)) {
    if (t.name == name) return t.rank_elements(cuts);
  }
  return -1;
}

// h 4096, f 14336, 8 experts: attention 2 h^2 + 2 h 1024, router 8 h, experts 24 h f, two norms, 32 times; 2 x 32000 h; final norm.
TEST(ExpertModels, MixtralHasThePublishedCounts) {
  const TransformerSpec m = test::mixtral_8x7b();
  EXPECT_EQ(parameter_count(m), 46'702'792'704);
  EXPECT_EQ(active_parameter_count(m), 12'879'925'248);  // 2 experts instead of 8; the router still scores 8
}

// 671 G without multi-token prediction, as DeepSeek say; the 14,848 biases that balance load are in it.
TEST(ExpertModels, DeepSeekV3HasThePublishedCounts) {
  const TransformerSpec m = test::deepseek_v3();
  EXPECT_EQ(parameter_count(m), 671'026'419'200);
  // 37.6 G with all of the embedding; less its 129280 x 7168 it is 36.6 G ("37B").
  const std::int64_t h = 7168, f = 2048;
  EXPECT_EQ(active_parameter_count(m), 671'026'419'200 - 58 * (256 - 8) * 3 * h * f);
  EXPECT_NEAR(static_cast<double>(active_parameter_count(m)), 37.5e9, 0.1e9);
}

// The layer of multi-token prediction is an expert layer, and has a projection from 2 h to h and three norms of its own.
TEST(ExpertModels, MultiTokenPredictionIsCountedApart) {
  const TransformerSpec m = test::deepseek_v3();
  const std::int64_t h = 7168;
  const std::int64_t attention = 1536 * h + 1536 + 1536 * 128 * 192 + h * 576 + 512 + 512 * 128 * 256 + 128 * 128 * h;
  const std::int64_t layer = attention + 2 * h + 256 * 3 * h * 2048 + 256 * h + 256 + 3 * h * 2048;
  EXPECT_EQ(mtp_parameter_count(m), layer + 2 * h * h + 3 * h);
  TransformerSpec without = m;
  without.mtp_layers = 0;
  EXPECT_EQ(parameter_count(without), parameter_count(m));
  EXPECT_EQ(mtp_parameter_count(without), 0);
}

// 6 layers, the first 2 dense, of the other 4 each second one: layers 3 and 5.
TEST(ExpertModels, LayersAreDealtByIntervalAfterTheDenseOnes) {
  TransformerSpec m = test::mixtral_8x7b();
  m.layers = 6;
  m.moe->dense_layers = 2;
  m.moe->interval = 2;
  std::string kinds;
  for (std::int64_t l = 0; l < 6; ++l) kinds += m.is_expert_layer(l) ? 'e' : 'd';
  EXPECT_EQ(kinds, "dddede");
  EXPECT_EQ(m.expert_layers(), 2);
  const std::int64_t dense = 3ll * 4096 * 14336, experts = 8 * dense + 8 * 4096;
  const std::int64_t attention = 2ll * 4096 * 4096 + 2ll * 4096 * 1024;
  EXPECT_EQ(parameter_count(m), 6 * (attention + 2 * 4096) + 4 * dense + 2 * experts + 2ll * 32000 * 4096 + 4096);
}

// 8 experts on 4 ranks: 2 each, and half of the width of each with expert_tp 2. Router and norm are everywhere; tp cuts attention only.
TEST(ExpertModels, ExpertParallelismDealsExperts) {
  const TransformerSpec m = test::mixtral_8x7b();
  const std::int64_t one = 3ll * 4096 * 14336;
  EXPECT_EQ(part_parameters(m, ModelPart::kExperts), 8 * one);
  EXPECT_EQ(part_rank_parameters(m, ModelPart::kExperts, WeightCuts{.tp = 1, .ep = 4, .expert_tp = 1}), 2 * one);
  EXPECT_EQ(part_rank_parameters(m, ModelPart::kExperts, WeightCuts{.tp = 8, .ep = 4, .expert_tp = 2}), one);
  EXPECT_EQ(part_rank_parameters(m, ModelPart::kExperts, 2), 8 * one / 2);
  EXPECT_EQ(part_rank_parameters(m, ModelPart::kMoe, WeightCuts{.tp = 8, .ep = 8, .expert_tp = 1}), 4096 + 8 * 4096);
  EXPECT_TRUE(parameter_tensors(m, ModelPart::kCombine).empty());
  EXPECT_TRUE(parameter_tensors(test::llama3_8b(), ModelPart::kExperts).empty());
}

// What does not divide falls on the fullest rank: 6 experts on 4 ranks are 2 on one of them.
TEST(ExpertModels, TheFullestRankHoldsTheRest) {
  TransformerSpec m = test::mixtral_8x7b();
  m.moe->experts = 6;
  EXPECT_EQ(part_rank_parameters(m, ModelPart::kExperts, WeightCuts{.tp = 1, .ep = 4, .expert_tp = 1}), 2 * 3ll * 4096 * 14336);
}

// Shared expert 3 h f_s cut by tp; its gate h and the router (h + 1) E are not.
TEST(ExpertModels, SharedExpertsAreTensorParallel) {
  TransformerSpec m = test::mixtral_8x7b();
  m.moe->shared_ffn = 2816;
  m.moe->has_shared_gate = true;
  m.moe->has_router_bias = true;
  EXPECT_EQ(part_rank_parameters(m, ModelPart::kMoe, WeightCuts{.tp = 4, .ep = 8, .expert_tp = 1}),
            4096 + 4097 * 8 + 3 * 4096 * 2816 / 4 + 4096);
}

// gpt-oss: biases of q, k, v, o, the router and every expert, and a score per head.
TEST(ExpertModels, BiasesOfExpertsAreCounted) {
  TransformerSpec m = test::mixtral_8x7b();
  const std::int64_t plain = parameter_count(m);
  m.has_mlp_biases = true;
  EXPECT_EQ(parameter_count(m) - plain, 32 * 8 * (2 * 14336 + 4096));
  m.has_mlp_biases = false;
  m.has_attention_sinks = true;
  m.has_output_biases = true;
  EXPECT_EQ(parameter_count(m) - plain, 32 * (32 + 4096));
}

// Latents stay whole, heads are dealt: on 8 ranks q_up and kv_up are an eighth.
TEST(LatentAttention, TensorParallelismCutsTheHeads) {
  const TransformerSpec m = test::deepseek_v3();
  const WeightCuts cuts{.tp = 8, .ep = 1, .expert_tp = 1};
  EXPECT_EQ(tensor(m, ModelPart::kAttention, "q_down", cuts), 7168 * 1536);
  EXPECT_EQ(tensor(m, ModelPart::kAttention, "q_up", cuts), 16 * 192 * 1536);
  EXPECT_EQ(tensor(m, ModelPart::kAttention, "kv_down", cuts), 7168 * (512 + 64));
  EXPECT_EQ(tensor(m, ModelPart::kAttention, "kv_up", cuts), 16 * 256 * 512);
  EXPECT_EQ(tensor(m, ModelPart::kAttention, "o", cuts), 16 * 128 * 7168);
}

// Without a latent of q (DeepSeek-V2-Lite) q is h x 128 x 192.
TEST(LatentAttention, QMayBeProjectedDirectly) {
  TransformerSpec m = test::deepseek_v3();
  m.mla->q_rank = 0;
  EXPECT_EQ(tensor(m, ModelPart::kAttention, "q"), 7168 * 128 * 192);
  EXPECT_EQ(tensor(m, ModelPart::kAttention, "q_down"), -1);
  EXPECT_EQ(tensor(m, ModelPart::kAttention, "q_norm"), -1);
}

// Norms of h = 4096: one per layer less where parts share it, two more behind the parts, one behind the embedding, none at all.
TEST(Norms, EachKindAddsItsWeights) {
  const std::int64_t plain = parameter_count(test::llama3_8b());
  const auto with = [&](auto change) {
    TransformerSpec m = test::llama3_8b();
    change(m);
    return parameter_count(m) - plain;
  };
  EXPECT_EQ(with([](TransformerSpec& m) { m.has_parallel_parts = true; }), 0);
  EXPECT_EQ(with([](TransformerSpec& m) { m.has_parallel_parts = m.has_one_norm = true; }), -32 * 4096);
  EXPECT_EQ(with([](TransformerSpec& m) { m.has_post_norms = true; }), 32 * 2 * 4096);
  EXPECT_EQ(with([](TransformerSpec& m) { m.has_embedding_norm = true; }), 4096);
  EXPECT_EQ(with([](TransformerSpec& m) { m.norm = NormKind::kLayer; }), 65 * 4096);
  EXPECT_EQ(with([](TransformerSpec& m) { m.norm = NormKind::kPlain; }), -65 * 4096);
  EXPECT_EQ(with([](TransformerSpec& m) { m.has_qk_norm = m.has_wide_qk_norm = true; }), 32 * (32 + 8) * 128);
  EXPECT_EQ(with([](TransformerSpec& m) { m.has_head_bias = true; }), 128256);
}

}  // namespace
}  // namespace lockstep
