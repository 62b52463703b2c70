// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/support/workload_fixtures.h"
#include "workloads/model/fit.h"
#include "workloads/model/flops.h"
#include "workloads/model/memory.h"
#include "workloads/parallel/stage.h"
#include "workloads/schedule/pipeline_order.h"

namespace lockstep {
namespace {

using test::plan_of;

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

// Llama 3 8B: embedding and output 2 x 128256 x 4096; per layer q and o 2 x 4096^2, k and v 2 x 4096 x 1024, MLP
// 3 x 4096 x 14336, two norms; final norm: 8,030,261,248 as published. 70B and 405B likewise.
TEST(TransformerSpec, ParameterCountsAreExact) {
  EXPECT_EQ(parameter_count(test::llama3_8b()), 8'030'261'248);
  EXPECT_EQ(parameter_count(test::llama3_70b()), 70'553'706'496);
  EXPECT_EQ(parameter_count(test::llama3_405b()), 405'853'388'800);
}

// GPT with biases: 12 L h^2 (1 + 13/(12 h)) in layers, (V + s) h embeddings, 2 h final norm. 96 layers of 12288: 174.6 B.
TEST(TransformerSpec, GptCountsBiasesAndPositions) {
  const std::int64_t l = 96, h = 12288;
  EXPECT_EQ(parameter_count(test::gpt(l, h, 96)), l * (12 * h * h + 13 * h) + (51200 + 2048) * h + 2 * h);
}

// Tied: one matrix less. QK norm: 2 d per layer. QKV biases: (a + 2 g) d per layer.
TEST(TransformerSpec, OptionsChangeTheCountByWhatTheyAdd) {
  TransformerSpec m = test::llama3_8b();
  const std::int64_t plain = parameter_count(m);
  m.has_tied_embeddings = true;
  EXPECT_EQ(parameter_count(m), plain - 128256ll * 4096);
  m = test::llama3_8b();
  m.has_qk_norm = true;
  EXPECT_EQ(parameter_count(m), plain + 32 * 2 * 128);
  m = test::llama3_8b();
  m.has_qkv_biases = true;
  EXPECT_EQ(parameter_count(m), plain + 32 * (32 + 16) * 128);
}

// 8 KV heads on 16 ranks are copied: each rank holds one head, not half of one.
TEST(TransformerSpec, FewerKvHeadsThanRanksAreCopied) {
  const TransformerSpec m = test::llama3_70b();
  for (const ParameterTensor& t : parameter_tensors(m, ModelPart::kAttention)) {
    const std::string name = t.name;
    const std::int64_t heads = name == "k" || name == "v" ? 1 : 4;
    EXPECT_EQ(t.rank_elements(16), t.is_split ? heads * 128 * 8192 : 8192) << name;
  }
}

// The exact count exceeds 6 N T by 6.8, 6.1 and 3.6 % for the three Llamas at 8192 tokens (causal attention).
TEST(StepFlops, SixTimesParametersTimesTokensIsLow) {
  const auto excess = [](const TransformerSpec& m) {
    const double exact = 3 * forward_flops(m, 1, 8192).total();
    return exact / (6.0 * static_cast<double>(parameter_count(m)) * 8192) - 1;
  };
  EXPECT_NEAR(excess(test::llama3_8b()), 0.068, 0.0005);
  EXPECT_NEAR(excess(test::llama3_70b()), 0.061, 0.0005);
  EXPECT_NEAR(excess(test::llama3_405b()), 0.036, 0.0005);
}

// MLPerf v4.0, GPT-3 175B on 512 H100: 2304 sequences of 2048 in 10.90 s are 898 TFLOP/s per GPU.
TEST(StepFlops, Gpt3MlperfRateIsReproduced) {
  const double flops = 3 * forward_flops(test::gpt(96, 12288, 96), 2304, 2048).total();
  EXPECT_NEAR(flops / (10.90 * 512) / 1e12, 898, 3);
}

// One layer, one token, h = a d = 2, g d = 1, f = 3, V = 5, s = 1: projections 2 x 2 x (2 + 2 + 2), core 2 x 2, MLP 6 x 2 x 3,
// logits 2 x 2 x 5.
TEST(StepFlops, EveryTermByHand) {
  const TransformerSpec m{
      .name = "by hand", .layers = 1, .hidden = 2, .heads = 2, .kv_heads = 1, .head_dim = 1, .ffn = 3, .vocab = 5};
  const ForwardFlops f = forward_flops(m, 1, 1);
  EXPECT_EQ(f.attention_projections, 24);
  EXPECT_EQ(f.attention_core, 4);
  EXPECT_EQ(f.mlp, 36);
  EXPECT_EQ(f.logits, 20);
}

JobSpec gpt175b() {
  JobSpec job;
  job.model = test::gpt(96, 12288, 96);
  job.seq_len = 2048;
  job.tp = 8;
  job.pp = 8;
  job.virtual_stages = 3;
  job.global_batch = 64;
  job.attention = AttentionKernel::kUnfused;
  return job;
}

// HFU over MFU is (4 layers + 3 logits) / 3 (layers + logits) with full recompute and 1 with none.
TEST(StepFlops, HardwareFlopsAddTheRecomputation) {
  JobSpec job = gpt175b();
  EXPECT_EQ(step_flops(plan_of(job, 64)).hardware, step_flops(plan_of(job, 64)).model);
  job.recompute = Recompute::kFull;
  const ForwardFlops f = forward_flops(job.model, 64, 2048);
  const StepFlops full = step_flops(plan_of(job, 64));
  EXPECT_DOUBLE_EQ(full.hardware / full.model, (4 * f.layers() + 3 * f.logits) / (3 * (f.layers() + f.logits)));
}

// Korthikanti et al., table 2, s = 2048, b = 1, h = 12288, a = 96, t = 8, in units of s b h:
// tensor parallel 10 + 24/8 + 5 a s/(h 8) = 23; with sequence parallelism (34 + 80)/8; without the scores 34/8.
TEST(Memory, LayerActivationsFollowKorthikanti) {
  const std::int64_t unit = 2048 * 12288;
  JobSpec job = gpt175b();
  EXPECT_EQ(layer_activation_bytes(plan_of(job, 64)), 23 * unit);
  job.sequence_parallel = true;
  EXPECT_EQ(layer_activation_bytes(plan_of(job, 64)), (34 + 80) * unit / 8);
  job.recompute = Recompute::kSelective;
  EXPECT_EQ(layer_activation_bytes(plan_of(job, 64)), 34 * unit / 8);
}

// GPT-3 175B on t 8, p 8, v 3: the first stage holds 96 (1 + 7/24) = 124 layers: 66.84 GiB tensor parallel, 12.35 GiB with
// sequence parallelism and selective recompute, besides the embedding's dropout mask (h/t) and token ids.
TEST(Memory, Gpt175bFirstStageMatchesThePublishedActivations) {
  JobSpec job = gpt175b();
  EXPECT_NEAR(static_cast<double>(124 * layer_activation_bytes(plan_of(job, 64))) / kGib, 66.84, 0.01);
  EXPECT_NEAR(static_cast<double>(stage_memory(plan_of(job, 64), 0).activations) / kGib, 66.84, 0.8);
  job.sequence_parallel = true;
  job.recompute = Recompute::kSelective;
  EXPECT_NEAR(static_cast<double>(stage_memory(plan_of(job, 64), 0).activations) / kGib, 12.35, 0.1);
}

// Llama 3 8B, one token: inputs of norms, qkv and MLP 4 x 2 h, q and o 2 x 2 h, k and v 2 x 2 x 1024, SwiGLU 3 x 2 f, 4 a
// statistics = 139,392 bytes; without grouped queries and a gate it would be 34 h - 2 h (no masks) and the statistics.
TEST(Memory, GatedMlpAndGroupedQueriesAreCounted) {
  JobSpec job;
  job.model = test::llama3_8b();
  job.seq_len = 8192;
  EXPECT_EQ(layer_activation_bytes(plan_of(job, 1)),
            8192ll * (4 * 2 * 4096 + 2 * 2 * 4096 + 2 * 2 * 1024 + 3 * 2 * 14336 + 4 * 32));
  job.model.is_gated = false;
  job.model.kv_heads = 32;
  job.model.ffn = 4 * 4096;
  EXPECT_EQ(layer_activation_bytes(plan_of(job, 1)), 8192ll * (32 * 4096 + 4 * 32));
}

// Stage i of plain 1F1B holds p - i micro-batches: activations of an inner stage of a 4-stage pipeline fall by a quarter each.
TEST(Memory, LaterStagesHoldFewerMicroBatches) {
  JobSpec job;
  job.model = test::tiny(8);
  job.seq_len = 128;
  job.pp = 4;
  job.gradient_accumulation = 16;
  const TrainingPlan plan = plan_of(job, 4);
  EXPECT_EQ(stage_memory(plan, 1).activations, 3 * 2 * layer_activation_bytes(plan));
  EXPECT_EQ(stage_memory(plan, 2).activations, 2 * 2 * layer_activation_bytes(plan));
  job.gradient_accumulation = 2;
  EXPECT_EQ(stage_memory(plan_of(job, 4), 1).activations, 2 * 2 * layer_activation_bytes(plan));
}

// The embedding keeps 8 bytes (the token's id) and h bytes (the dropout mask) per token of every micro-batch whose first chunk waits for
// its backward. How many that are is counted here on the schedule itself, pass by pass.
TEST(Memory, TheEmbeddingIsHeldForEveryMicroBatchUnderWayInTheFirstChunk) {
  for (const auto& [chunks, micro_batches] : {std::pair{1, 3}, {1, 4}, {1, 16}, {2, 4}, {2, 8}, {2, 16}, {3, 4}, {3, 12}}) {
    JobSpec job;
    job.model = test::gpt(24, 256, 8);
    job.seq_len = 128;
    job.pp = 4;
    job.virtual_stages = chunks;
    job.gradient_accumulation = micro_batches;
    const TrainingPlan plan = plan_of(job, 4);
    const PipelineShape shape{.stages = 4, .micro_batches = micro_batches, .chunks = chunks};
    std::int64_t held = 0;
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < action_count(shape); ++i) {
      const PipelineAction a = pipeline_action(shape, 0, i);
      if (a.chunk == 0) held += a.is_forward() ? 1 : -1;
      most = std::max(most, held);
    }
    const std::int64_t layers = peak_in_flight(shape, 0) * plan.chunk_layers(0, 0) * layer_activation_bytes(plan);
    EXPECT_EQ(stage_memory(plan, 0).activations - layers, most * 128 * (8 + 256)) << chunks << " chunks, " << micro_batches;
  }
}

// 18 bytes per weight with 32-bit gradients, 16 with 16-bit; sharded over 16 ranks a sixteenth.
TEST(Memory, WeightsGradientsAndAdamAreSixteenOrEighteenBytes) {
  JobSpec job;
  job.model = test::llama3_8b();
  job.seq_len = 8192;
  const std::int64_t n = parameter_count(job.model);
  const auto state = [](const MemoryBytes& m) { return m.parameters + m.gradients + m.optimizer; };
  EXPECT_EQ(state(peak_memory(plan_of(job, 16))), 18 * n);
  job.grad_dtype = DataType::kBf16;
  EXPECT_EQ(state(peak_memory(plan_of(job, 16))), 16 * n);
  job.strategy = Strategy::kFsdp;
  EXPECT_EQ(state(peak_memory(plan_of(job, 16))), n);
  job.shard_group = 8;  // two copies of eight shards
  EXPECT_EQ(state(peak_memory(plan_of(job, 16))), 2 * n);
}

// The input of each layer, 2 s b h, and one layer's worth while it runs again.
TEST(Memory, FullRecomputeKeepsOnlyLayerInputs) {
  JobSpec job;
  job.model = test::tiny(6);
  job.seq_len = 128;
  job.pp = 3;
  job.recompute = Recompute::kFull;
  job.gradient_accumulation = 8;
  const TrainingPlan plan = plan_of(job, 3);
  EXPECT_EQ(stage_memory(plan, 1).activations, 2 * 2 * (2 * 128 * 256) + layer_activation_bytes(plan));
}

// 8B under DDP needs 16 bytes x 8 G = 128 GB of state: sharding is what makes it fit into 80 GiB.
TEST(Memory, APlanThatDoesNotFitIsToldHow) {
  JobSpec job;
  job.model = test::llama3_8b();
  job.seq_len = 4096;
  job.grad_dtype = DataType::kBf16;
  const std::vector<std::string> ways = ways_to_fit(plan_of(job, 16), std::int64_t{80} << 30);
  EXPECT_NE(std::find(ways.begin(), ways.end(), "strategy: fsdp"), ways.end());
  EXPECT_NE(std::find(ways.begin(), ways.end(), "tp: 2"), ways.end());
  EXPECT_EQ(std::find(ways.begin(), ways.end(), "tp: 4"), ways.end()) << "the smallest change of a key is enough";
  EXPECT_EQ(std::find(ways.begin(), ways.end(), "recompute: full"), ways.end());
  job.strategy = Strategy::kFsdp;
  EXPECT_TRUE(ways_to_fit(plan_of(job, 16), std::int64_t{80} << 30).empty());
}

}  // namespace
}  // namespace lockstep
