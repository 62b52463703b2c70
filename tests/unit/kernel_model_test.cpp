// SPDX-License-Identifier: Apache-2.0
// Data types, shapes of products, attention by implementation, experts, host time and software releases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/workload_fixtures.h"
#include "topology/gpu_variation.h"
#include "workloads/kernels/performance.h"
#include "workloads/kernels/transformer_kernels.h"
#include "workloads/schedule/part_slices.h"

namespace lockstep {
namespace {

using test::plan_of;

const KernelWork& find(const std::vector<KernelWork>& works, const std::string& name) {
  for (const KernelWork& w : works) {
    if (name == w.name) return w;
  }
  throw std::runtime_error("no kernel " + name);
}

double operations(const TrainingPlan& plan, Direction d) {
  double sum = 0;
  for (const ModelPart part : {ModelPart::kAttention, ModelPart::kMlp}) {
    for (const KernelWork& w : part_kernels(plan, part, d)) sum += w.operations;
  }
  return sum;
}

GpuSpec hopper() {
  GpuSpec gpu;
  gpu.name = "h";
  gpu.peak.bf16 = FlopRate{1000e12};
  gpu.peak.tf32 = FlopRate{500e12};
  gpu.peak.fp8 = FlopRate{2000e12};
  gpu.hbm = Rate::bytes_per_second(1e12);
  gpu.efficiency.gemm = {0.7};
  gpu.efficiency.fp8 = Fraction{0.8};
  gpu.efficiency.hbm = {1};
  gpu.efficiency.attention = {.flash1 = Fraction{0.1}, .flash2 = Fraction{0.2}, .flash3 = Fraction{0.4}, .head_dim_64 = {0.6}};
  return gpu;
}

JobSpec llama(DataType precision) {
  JobSpec job;
  job.model = test::llama3_8b();
  job.seq_len = 2048;
  job.precision = precision;
  return job;
}

// Weights' products in FP8: 2000 T x 0.8; logits and attention stay at 1000 T. 32-bit jobs run everything in TF32 at 500 T.
TEST(KernelModel, PrecisionDecidesThePeakOfProductsWithWeightsAlone) {
  const GpuPerformance fp8 = performance_of(hopper(), {}, llama(DataType::kFp8));
  const GemmShape shape{.m = 1e5, .n = 1e5, .k = 1e5};
  EXPECT_DOUBLE_EQ(kernel_seconds(fp8, linear("l", shape)), 2e15 / 1600e12);
  EXPECT_DOUBLE_EQ(kernel_seconds(fp8, gemm("g", shape)), 2e15 / 700e12);
  const GpuPerformance tf32 = performance_of(hopper(), {}, llama(DataType::kFp32));
  EXPECT_DOUBLE_EQ(kernel_seconds(tf32, linear("l", shape)), 2e15 / 350e12);
  EXPECT_DOUBLE_EQ(kernel_seconds(tf32, gemm("g", shape)), 2e15 / 350e12);
  GpuSpec capped = hopper();
  capped.efficiency.sustained = {0.5};
  EXPECT_DOUBLE_EQ(kernel_seconds(performance_of(capped, {}, llama(DataType::kFp8)), linear("l", shape)), 2e15 / 800e12);
}

// Conversion to FP8 with one scale: 2048 x 4096 values of two bytes read twice, two copies of one byte written: 6 bytes a value. Blocks
// with scales of their own are read once and write 1/32 more. 16-bit jobs convert nothing.
TEST(KernelModel, EightBitProductsPayForConversion) {
  const double values = 2048.0 * 4096;
  const auto bytes = [&](DataType t) {
    return find(part_kernels(plan_of(llama(t), 1), ModelPart::kMlp, Direction::kForward), "quantise").bytes;
  };
  EXPECT_DOUBLE_EQ(bytes(DataType::kFp8), 6 * values);
  EXPECT_DOUBLE_EQ(bytes(DataType::kMxfp8), (4 + 2.0 / 32) * values);
  EXPECT_DOUBLE_EQ(bytes(DataType::kNvfp4), (4 + 1 + 2.0 / 16) * values);
  EXPECT_THROW((void)bytes(DataType::kBf16), std::runtime_error);
}

TEST(KernelModel, AGpuWithoutTheUnitsIsAnErrorAtThePrecision) {
  GpuSpec gpu = hopper();
  gpu.peak.fp8.reset();
  std::string key;
  EXPECT_FALSE(check_kernels(llama(DataType::kFp8), gpu, {},
                             [&](std::string_view k, const std::string&, const std::string&) { key = k; }));
  EXPECT_EQ(key, "precision");
}

// 4 x 4 results in tiles of 2 x 2 on 3 multiprocessors: 4 tiles in 4/3 waves, run in 2: 2 / (4/3) = 1.5, half of the rest counts: 1.25.
// 3 columns stick out: 3/4 of the tiles' results are wanted. K = 10 with a ramp of 10 halves everything.
TEST(KernelModel, TilesAndWavesTakeTheirShare) {
  GemmCosts c{.ramp_k = 10, .tile_m = 2, .tile_n = 2, .waves = 0.5, .multiprocessors = 3};
  EXPECT_DOUBLE_EQ(shape_efficiency(c, {.m = 4, .n = 4, .k = 10, .bytes = 16}), 0.5 / 1.25);
  EXPECT_DOUBLE_EQ(shape_efficiency(c, {.m = 4, .n = 3, .k = 10, .bytes = 16}), 0.5 * 0.75 / 1.25);
  c.waves = 0;
  EXPECT_DOUBLE_EQ(shape_efficiency(c, {.m = 4, .n = 3, .k = 10, .batch = 7, .bytes = 16}), 0.5 * 0.75);
  c.misaligned = 0.1;
  EXPECT_DOUBLE_EQ(shape_efficiency(c, {.m = 4, .n = 4, .k = 10, .bytes = 2}), 0.5 * 0.1);  // rows of 20 bytes
}

// The release and the GPU together: 2023's has flash2 at most. Heads of 64 reach 0.6 of that, of 96 half way up, of 32 half of that.
TEST(KernelModel, AttentionIsTheNewestOfReleaseAndGpu) {
  SoftwareHistory software;
  software.megatron["2021-01"] = {.attention = AttentionGeneration::kUnfused};
  software.megatron["2023-07"] = {.attention = AttentionGeneration::kFlash2};
  software.megatron["2024-03"] = {.attention = AttentionGeneration::kFlash3};
  JobSpec job = llama(DataType::kBf16);
  const auto share = [&] { return performance_of(hopper(), software, job).attention_efficiency; };
  EXPECT_DOUBLE_EQ(share(), 0.4);
  job.software.released = "2024-02";
  EXPECT_DOUBLE_EQ(share(), 0.2);
  job.attention = AttentionKernel::kFlash1;
  EXPECT_DOUBLE_EQ(share(), 0.1);
  job.model.head_dim = 64;
  EXPECT_DOUBLE_EQ(share(), 0.06);
  job.model.head_dim = 96;
  EXPECT_DOUBLE_EQ(share(), 0.08);
  job.model.head_dim = 32;
  EXPECT_DOUBLE_EQ(share(), 0.03);
  job.software.released = "2022-12";
  EXPECT_FALSE(check_kernels(job, hopper(), software, [](std::string_view key, const std::string&, const std::string& hint) {
    EXPECT_EQ(key, "attention");
    EXPECT_EQ(hint, "attention: unfused, or newer software");
  }));
}

// The fused softmax takes up to 2,048 tokens, and rows in fours: 16 heads x 1 sequence are, 14 heads are not.
TEST(KernelModel, LongOrOddSoftmaxRunsUnfused) {
  JobSpec job;
  job.model = test::gpt(24, 2048, 16);
  job.seq_len = 2048;
  job.attention = AttentionKernel::kUnfused;
  const auto passes = [&](double limit) {
    const TrainingPlan plan = plan_of(job, 1);
    const auto works = part_kernels(plan, ModelPart::kAttention, Direction::kForward, {.fused_softmax_limit = limit});
    return find(works, "softmax").bytes /
           (2.0 * static_cast<double>(job.seq_len * job.seq_len * job.micro_batch * job.model.heads));
  };
  EXPECT_DOUBLE_EQ(passes(2048), 2);
  EXPECT_DOUBLE_EQ(passes(1024), 12);
  job.model = test::gpt(24, 14 * 128, 14);
  EXPECT_DOUBLE_EQ(passes(2048), 12);
  job.micro_batch = 2;
  EXPECT_DOUBLE_EQ(passes(2048), 2);
}

// Slices of a part are the part: the product of the input, that of the output, and the rest.
TEST(KernelModel, SlicesAddUpToThePart) {
  const TrainingPlan plan = plan_of(llama(DataType::kFp8), 1);
  for (const ModelPart part : {ModelPart::kAttention, ModelPart::kMlp}) {
    for (const Direction d : {Direction::kForward, Direction::kBackward}) {
      double flops = 0;
      double bytes = 0;
      const std::vector<KernelWork> all = part_kernels(plan, part, d);
      for (const OverlapSlice slice : kOverlapSlices) {
        for (const KernelWork& w : slice_kernels(plan, part, slice, all)) flops += w.flops, bytes += w.bytes;
      }
      double all_flops = 0;
      double all_bytes = 0;
      for (const KernelWork& w : all) all_flops += w.flops, all_bytes += w.bytes;
      EXPECT_DOUBLE_EQ(flops, all_flops);
      EXPECT_DOUBLE_EQ(bytes, all_bytes);
    }
  }
}

// A GPT layer of eager Megatron: norm 1, qkv 1, scores 2, softmax, dropout, context 2, output, residual; norm, up, activation, down,
// residual: 15. Backward has two products for each with weights and adds its gradient to what is there: (1 + 2) x 4, 4 for the core,
// softmax, dropout, and 5 for norms, residuals and activation: 23, half as much again. With tp two sums more each way.
TEST(KernelModel, OperationsOfALayerAreCounted) {
  JobSpec job;
  job.model = test::gpt(24, 2048, 32);
  job.seq_len = 2048;
  job.attention = AttentionKernel::kUnfused;
  EXPECT_DOUBLE_EQ(operations(plan_of(job, 1), Direction::kForward), 15);
  EXPECT_DOUBLE_EQ(operations(plan_of(job, 1), Direction::kBackward), 23);
  job.tp = 8;
  EXPECT_DOUBLE_EQ(operations(plan_of(job, 8), Direction::kForward), 17);
  EXPECT_DOUBLE_EQ(operations(plan_of(job, 8), Direction::kBackward), 25);
}

// Recorded graphs leave the host a share of its time; 15 operations of 10 us are 150 us, a fiftieth of them 3 us.
TEST(KernelModel, HostTimeFollowsReleaseAndExecution) {
  SoftwareHistory software;
  software.megatron["2021-01"] = {.launch = Duration::micros(10), .cuda_graphs = {0.02}};
  JobSpec job;
  job.execution = Execution::kEager;
  const KernelWork work{.operations = 15};
  EXPECT_NEAR(host_seconds(performance_of(hopper(), software, job), work), 150e-6, 1e-15);
  job.execution = Execution::kCudaGraphs;
  EXPECT_NEAR(host_seconds(performance_of(hopper(), software, job), work), 3e-6, 1e-15);
}

// Without the fused kernel a product writes its gradient, 2 bytes a weight, and a kernel behind it reads that and a sum of 4 bytes and writes the
// sum: 10 bytes a weight more traffic in a kernel of its own. With one micro-batch there is nothing to add to; FSDP adds up shards.
TEST(KernelModel, GradientsAreSummedByAKernelOfTheirOwn) {
  JobSpec job = llama(DataType::kBf16);
  job.grad_dtype = DataType::kFp32;
  const double weights = 3 * 4096.0 * static_cast<double>(job.model.ffn);
  const auto bytes = [&](const TrainingPlan& plan, bool fuses) {
    const auto works = part_kernels(plan, ModelPart::kMlp, Direction::kBackward, {.fuses_accumulation = fuses});
    double sum = 0;
    for (const KernelWork& w : works) sum += std::string_view(w.name) == "accumulate" ? w.bytes : 0;
    return sum;
  };
  TrainingPlan plan = plan_of(job, 1);
  plan.micro_batches = 4;
  EXPECT_DOUBLE_EQ(bytes(plan, false), 10 * weights);
  EXPECT_DOUBLE_EQ(bytes(plan, true), 0);
  plan.job.strategy = Strategy::kFsdp;
  EXPECT_DOUBLE_EQ(bytes(plan, false), 0);
  plan.job.strategy = Strategy::kDdp;
  plan.micro_batches = 1;
  EXPECT_DOUBLE_EQ(bytes(plan, false), 0);
}

// 8 experts on 4 ranks: 1 ms and 2 x 0.1 ms forward, 1.5 times that backward.
TEST(KernelModel, TheHostPaysForEachExpertOfARank) {
  SoftwareHistory software;
  software.megatron["2024-01"] = {.expert_part = Duration::micros(1000), .expert_launch = Duration::micros(100)};
  JobSpec job = llama(DataType::kBf16);
  job.model.moe = MoeSpec{.experts = 8, .top_k = 2, .ffn = 1024};
  TrainingPlan plan = plan_of(job, 1);
  plan.job.ep = 4;
  const GpuPerformance gpu = performance_of(hopper(), software, job);
  const auto host = [&](Direction d) {
    double sum = 0;
    for (const KernelWork& w : part_kernels(plan, ModelPart::kExperts, d)) sum += host_seconds(gpu, w);
    return sum;
  };
  EXPECT_NEAR(host(Direction::kForward), 1.2e-3, 1e-12);
  EXPECT_NEAR(host(Direction::kBackward), 1.8e-3, 1e-12);
}

// A unit of FSDP is 30 operations forward and 40 backward, and no time on the GPU.
TEST(KernelModel, UnitsOfFsdpCostTheHostOperations) {
  JobSpec job = llama(DataType::kBf16);
  const auto of = [&](Strategy strategy, Direction d) {
    TrainingPlan plan = plan_of(job, 1);
    plan.job.strategy = strategy;
    return operations(plan, d);
  };
  EXPECT_DOUBLE_EQ(of(Strategy::kFsdp, Direction::kForward) - of(Strategy::kDdp, Direction::kForward), 30);
  EXPECT_DOUBLE_EQ(of(Strategy::kFsdp, Direction::kBackward) - of(Strategy::kDdp, Direction::kBackward), 40);
}

// 8 experts, 2 each token, 4 expert ranks: 2048 tokens send 4096 copies and receive as many, 2048 for each of 2 experts; a skew of 1.5
// makes 3072. Three products of 2 m h f flops.
TEST(KernelModel, ExpertsComputeWhatTheBusiestRankReceives) {
  JobSpec job = llama(DataType::kBf16);
  job.model.moe = MoeSpec{.experts = 8, .top_k = 2, .ffn = 1024};
  TrainingPlan plan = plan_of(job, 1);
  plan.job.ep = 4;
  plan.job.expert_skew = 1.5;
  double flops = 0;
  const auto works = part_kernels(plan, ModelPart::kExperts, Direction::kForward);
  for (const KernelWork& w : works) flops += w.flops;
  EXPECT_DOUBLE_EQ(flops, 3 * 2 * (4096 * 1.5) * 4096 * 1024);
  EXPECT_DOUBLE_EQ(find(works, "experts_up").shape.m, 3072);
  EXPECT_DOUBLE_EQ(find(works, "experts_up").shape.batch, 2);
}

// 8 experts, 2 on a rank with 4096 copies: the bias behind the projection down moves 24 bytes a value of 4096 forward and 36 backward, with 2
// and 5 operations an expert and 2 for all; the gradient of the other is a sum over 2 x 1024 values, an operation each.
TEST(KernelModel, BiasesOfExpertsGoExpertByExpert) {
  JobSpec job = llama(DataType::kBf16);
  job.model.moe = MoeSpec{.experts = 8, .top_k = 2, .ffn = 1024};
  TrainingPlan plan = plan_of(job, 1);
  plan.job.ep = 4;
  const auto difference = [&](Direction d) {
    double bytes = 0;
    double operations = 0;
    for (const bool has_biases : {true, false}) {
      plan.job.model.has_mlp_biases = has_biases;
      for (const KernelWork& w : part_kernels(plan, ModelPart::kExperts, d)) {
        bytes += has_biases ? w.bytes : -w.bytes;
        operations += has_biases ? w.operations : -w.operations;
      }
    }
    return std::pair(bytes, operations);
  };
  EXPECT_EQ(difference(Direction::kForward), std::pair(24 * 4096.0 * 4096, 2 * 2 + 2.0));
  EXPECT_EQ(difference(Direction::kBackward), std::pair(36 * 4096.0 * 4096 + 2 * 4096.0 * 2048, 5 * 2 + 2 + 2.0));
}

// tp 2 with sequence parallelism, 8 experts, 2 each token: a rank routes 1024 of 2048 tokens and permutes 2048 copies of 4096 values in 2
// bytes, in and out. Whole experts, 4 on each of two ranks, compute 2048 copies; experts cut by tp, 8 on each, the 4096 of both partners:
// 512 an expert either way, and equal flops, since the latter are half as wide.
TEST(KernelModel, ExpertsCutByTensorParallelismComputeGatheredTokens) {
  JobSpec job = llama(DataType::kBf16);
  job.model.moe = MoeSpec{.experts = 8, .top_k = 2, .ffn = 1024};
  job.tp = 2;
  job.sequence_parallel = true;
  for (const std::int64_t expert_tp : {1, 2}) {
    job.expert_tp = expert_tp;
    job.ep = expert_tp == 1 ? 2 : 1;
    const TrainingPlan plan = plan_of(job, 2);
    EXPECT_DOUBLE_EQ(find(part_kernels(plan, ModelPart::kMoe, Direction::kForward), "router").shape.m, 1024);
    EXPECT_DOUBLE_EQ(find(part_kernels(plan, ModelPart::kMoe, Direction::kForward), "permute").bytes, 2 * 2048.0 * 4096 * 2);
    EXPECT_DOUBLE_EQ(find(part_kernels(plan, ModelPart::kCombine, Direction::kForward), "unpermute").bytes,
                     (2048.0 + 1024) * 4096 * 2);
    const auto works = part_kernels(plan, ModelPart::kExperts, Direction::kForward);
    EXPECT_DOUBLE_EQ(find(works, "experts_up").shape.m, 512);
    double flops = 0;
    for (const KernelWork& w : works) flops += w.flops;
    EXPECT_DOUBLE_EQ(flops, 3 * 2 * 2048.0 * 4096 * 1024);
  }
}

// Quantiles of tables: 0.975 at 1.959964, 0.999 at 3.090232, symmetric. The largest of 2 draws is expected at 1/sqrt(pi) = 0.5642, of
// 100 at 2.5076; Blom's value is within 3 %.
TEST(GpuVariation, TheSlowestOfManyIsSlower) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959964, 1e-6);
  EXPECT_NEAR(normal_quantile(0.001), -3.090232, 1e-6);
  EXPECT_EQ(normal_quantile(0.5), 0);
  EXPECT_NEAR(expected_maximum(1), 0, 1e-12);
  EXPECT_NEAR(expected_maximum(2), 0.5642, 0.03);
  EXPECT_NEAR(expected_maximum(100), 2.5076, 0.02);
  const auto expected = with_variation({.spread = {0.01}}, {}, 100, 1);
  EXPECT_EQ(expected, std::vector<std::int64_t>(100, 25));
}

// A sample of 10,000: mean 0 within 4 standard errors of 0.2 per mille, spread 20 per mille within 3 %; a smaller cluster has the same.
TEST(GpuVariation, SamplesHaveTheSpread) {
  const VariationSpec spec{.spread = {0.02}, .mode = VariationMode::kSampled};
  const auto all = with_variation(spec, {}, 10'000, 7);
  double sum = 0;
  double squares = 0;
  for (const std::int64_t s : all) sum += static_cast<double>(s), squares += static_cast<double>(s * s);
  EXPECT_NEAR(sum / 10'000, 0, 0.8);
  EXPECT_NEAR(std::sqrt(squares / 10'000), 20, 0.6);
  const auto few = with_variation(spec, {}, 10, 7);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), all.begin()));
}

}  // namespace
}  // namespace lockstep
