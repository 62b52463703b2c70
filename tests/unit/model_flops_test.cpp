// SPDX-License-Identifier: Apache-2.0
// FLOPs of experts, latent attention and multi-token prediction against the formulas of Megatron-LM written out, and what recomputation adds.
#include <gtest/gtest.h>

#include "tests/support/model_fixtures.h"
#include "workloads/model/flops.h"

namespace lockstep {
namespace {

using test::plan_of;

// Mixtral 8x7B, one sequence of 4096 tokens: h 4096, a d 4096, g d 1024, k f_e = 2 x 14336, V 32000.
TEST(ExpertFlops, OnlyTheChosenExpertsCompute) {
  const double t = 4096, h = 4096, w = 2 * 14336;
  const ForwardFlops f = forward_flops(test::mixtral_8x7b(), 1, 4096);
  EXPECT_EQ(f.attention_projections, 32 * (2 * t * h * (4096 + 2 * 1024) + 2 * t * 4096 * h));
  EXPECT_EQ(f.attention_core, 32 * 2 * t * t * 4096);
  EXPECT_EQ(f.experts, 32 * 6 * t * h * w);
  EXPECT_EQ(f.mlp, 0);
  EXPECT_EQ(f.logits, 2 * t * h * 32000);
  EXPECT_EQ(f.mtp(), 0);
  EXPECT_EQ(f.total(), f.attention_projections + f.attention_core + f.experts + f.logits);
}

// DeepSeek-V3: 3 dense layers of 18432, 58 of 8 x 2048 + 2048; queries of rank 1536, keys and values of 512, heads of 128 + 64 and 128.
TEST(ExpertFlops, LatentAttentionAndMultiTokenPredictionFollowMegatron) {
  const double t = 4096, h = 7168, a = 128;
  const double projections = 1536 * (h + a * (128 + 64)) + 512 * (h + a * (128 + 128)) + h * 64 + a * 128 * h;
  const double core = t * t * a * (128 + 64 + 128);
  const double experts = 6 * t * h * (8 * 2048 + 2048);
  const ForwardFlops f = forward_flops(test::deepseek_v3(), 1, 4096);
  EXPECT_EQ(f.attention_projections, 61 * 2 * t * projections);
  EXPECT_EQ(f.attention_core, 61 * core);
  EXPECT_EQ(f.mlp, 3 * 6 * t * h * 18432);
  EXPECT_EQ(f.experts, 58 * experts);
  EXPECT_EQ(f.mtp(), core + 2 * t * projections + experts + 2 * t * 2 * h * h);
  EXPECT_EQ(f.logits, 2 * (2 * t * h * 129280));
}

// Without a latent of q, 2 T h a (n + r) in its place.
TEST(ExpertFlops, QOfLatentAttentionMayBeProjectedDirectly) {
  TransformerSpec m = test::deepseek_v3();
  m.layers = 4;
  const double with_latent = forward_flops(m, 1, 1).attention_projections;
  m.mla->q_rank = 0;
  const double h = 7168, wide = 128 * 192;
  EXPECT_EQ(forward_flops(m, 1, 1).attention_projections - with_latent, 4 * 2 * (h * wide - 1536 * (h + wide)));
}

// The paper counts 37 G active parameters: 6 x that per token, within the attention core, the second head and the embedding.
TEST(ExpertFlops, SixTimesTheActiveParametersIsClose) {
  TransformerSpec m = test::deepseek_v3();
  m.mtp_layers = 0;
  const double exact = 3 * forward_flops(m, 1, 1).total();
  const double embedding = 129280.0 * 7168;
  EXPECT_NEAR(exact / (6 * (static_cast<double>(active_parameter_count(m)) - embedding)), 1, 0.005);
}

// Layers sum to the model, whatever their kinds.
TEST(ExpertFlops, LayersSumToTheModel) {
  TransformerSpec m = test::deepseek_v3();
  m.moe->interval = 2;
  double sum = 0;
  for (std::int64_t l = 0; l < m.layers; ++l) sum += layer_flops(m, l, 2, 512).total();
  EXPECT_DOUBLE_EQ(sum, forward_flops(m, 2, 512).layers());
}

// MLPerf v4.0, GPT-3 175B on 10,752 H100: 2688 sequences of 2048 in 0.921 s are 591 TFLOP/s per GPU.
TEST(StepFlops, Gpt3MlperfRateAtScaleIsReproduced) {
  const double flops = 3 * forward_flops(test::gpt(96, 12288, 96), 2688, 2048).total();
  EXPECT_NEAR(flops / (0.921 * 10752) / 1e12, 591, 2);
}

JobSpec job_of(TransformerSpec model) {
  JobSpec job;
  job.model = std::move(model);
  job.seq_len = 512;
  job.global_batch = 16;
  return job;
}

double recomputed(const JobSpec& job, std::int64_t gpus) {
  const StepFlops f = step_flops(plan_of(job, gpus));
  return f.hardware - f.model;
}

// Selective: the cores of all layers. Full: everything but logits.
TEST(RecomputedFlops, FollowWhatRunsAgain) {
  JobSpec job = job_of(test::llama3_8b());
  const ForwardFlops f = forward_flops(job.model, 16, 512);
  EXPECT_EQ(recomputed(job, 2), 0);
  job.recompute = Recompute::kSelective;
  EXPECT_DOUBLE_EQ(recomputed(job, 2), f.attention_core);
  job.recompute = Recompute::kFull;
  EXPECT_DOUBLE_EQ(recomputed(job, 2), f.layers());
}

// 3 of the 8 layers of each of 4 stages of 32: 12/32. More than there are: all.
TEST(RecomputedFlops, SomeLayersOfEachStage) {
  JobSpec job = job_of(test::llama3_8b());
  job.pp = 4;
  job.recompute = Recompute::kFull;
  const double all = recomputed(job, 8);
  job.recompute_layers = 3;
  EXPECT_DOUBLE_EQ(recomputed(job, 8), all * 12 / 32);
  job.recompute_layers = 8;
  EXPECT_DOUBLE_EQ(recomputed(job, 8), all);
}

// 8 layers as 2 chunks on 2 stages: stage 0 has 0, 1 and 4, 5; stage 1 has 2, 3 and 6, 7. The wide ones are 1, 3, 5, 7 (interval 2).
// Three of each stage run again: 0, 1, 4 and 2, 3, 6: two wide ones and four narrow ones.
TEST(RecomputedFlops, CountTheKindOfEachLayer) {
  TransformerSpec m = test::tiny(8);
  const ForwardFlops dense = forward_flops(m, 16, 512);
  m.moe = MoeSpec{.experts = 4, .top_k = 2, .ffn = 512, .interval = 2};
  std::vector<double> layers;
  for (std::int64_t l = 0; l < 8; ++l) layers.push_back(layer_flops(m, l, 16, 512).total());
  EXPECT_DOUBLE_EQ(layers[1] - layers[0], dense.mlp / 8);  // two experts of 512 where the dense layer has one
  JobSpec job = job_of(m);
  job.pp = 2;
  job.virtual_stages = 2;
  job.recompute = Recompute::kFull;
  job.recompute_layers = 3;
  EXPECT_DOUBLE_EQ(recomputed(job, 2), 4 * layers[0] + 2 * layers[1]);
}

}  // namespace
}  // namespace lockstep
